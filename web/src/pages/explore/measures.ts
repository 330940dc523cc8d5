/* Quantities that designs are compared by: how they are named, scaled and written. */

import type { Design, Objective } from "../../api/explore_types.js";
import { big, bytes, dollars, percent, significant, si, time } from "../../base/format.js";

export interface Measure {
  name: string;
  /* data units per unit of an axis */
  scale: number;
  prefix?: string;
  get: (d: Design) => number;
  words: (value: number) => string;
  /* grows with the time of a step, so that an error of the time moves it, too */
  with_time: boolean;
  /* the word for the best: "fastest" */
  best?: string;
  /* it depends on prices */
  money?: boolean;
}

function result(key: string): (d: Design) => number {
  return (d) => {
    const value = d.results[key];
    return typeof value === "number" ? value : NaN;
  };
}

export function days(tokens: number): Measure {
  return { name: `days to train ${big(tokens).replace(/\.0+(?= )/, "")} tokens`, scale: 86400, get: result("train_s"), words: (v) => time(v), with_time: true, best: "fastest" };
}

const MEASURES: { [expression: string]: Measure } = {
  "step-time": { name: "step time, s", scale: 1, get: result("step_s"), words: (v) => time(v), with_time: true, best: "fastest" },
  "effective-step-time": { name: "step time with failures, s", scale: 1, get: result("effective_step_s"), words: (v) => time(v), with_time: true, best: "fastest" },
  "train-time": { name: "days to train", scale: 86400, get: result("train_s"), words: (v) => time(v), with_time: true, best: "fastest" },
  "cost-per-token": { name: "$ per million tokens", scale: 1e-6, prefix: "$", get: result("cost_per_token_usd"), words: (v) => `$${significant(v * 1e6)} per M tokens`, with_time: true, best: "cheapest", money: true },
  "effective-cost-per-token": { name: "$ per million tokens, with failures", scale: 1e-6, prefix: "$", get: result("effective_cost_per_token_usd"), words: (v) => `$${significant(v * 1e6)} per M tokens`, with_time: true, best: "cheapest", money: true },
  "train-cost": { name: "cost of the run, M$", scale: 1e6, prefix: "$", get: result("train_cost_usd"), words: (v) => dollars(v), with_time: true, best: "cheapest", money: true },
  cost: { name: "cost of a step, $", scale: 1, prefix: "$", get: result("cost_usd"), words: (v) => dollars(v), with_time: true, best: "cheapest", money: true },
  energy: { name: "energy of a step, MJ", scale: 1e6, get: result("energy_J"), words: (v) => si(v, "J"), with_time: true },
  "energy-per-token": { name: "energy per token, J", scale: 1, get: result("energy_per_token_J"), words: (v) => si(v, "J"), with_time: true },
  memory: { name: "memory, GB", scale: 1e9, get: result("device_bytes"), words: (v) => bytes(v), with_time: false },
  capital: { name: "capital, M$", scale: 1e6, prefix: "$", get: result("capital_usd"), words: (v) => dollars(v), with_time: false, money: true },
  nameplate: { name: "nameplate power, MW", scale: 1e6, get: result("nameplate_W"), words: (v) => si(v, "W"), with_time: false },
  "average-power": { name: "average power, MW", scale: 1e6, get: result("power_W"), words: (v) => si(v, "W"), with_time: false },
  mfu: { name: "MFU, %", scale: 0.01, get: result("mfu"), words: (v) => percent(v, 1), with_time: false },
  "tokens/s": { name: "tokens/s, k", scale: 1e3, get: result("tokens_per_s"), words: (v) => `${big(v)} tokens/s`, with_time: false },
};

export const OBJECTIVES = Object.keys(MEASURES);

/* The quantity of an objective; expressions that have no name here use their values. */
export function measureOf(objective: Objective, index: number, tokens: number | null): Measure {
  const expression = objective.minimize ?? objective.maximize ?? "";
  if (expression === "step-time" && tokens !== null) return days(tokens);
  return MEASURES[expression] ?? { name: expression, scale: 1, get: (d) => d.objective_values[index] ?? NaN, words: (v) => significant(v), with_time: false };
}

export const COST_PER_TOKEN = MEASURES["cost-per-token"]!;
export const STEP_TIME = MEASURES["step-time"]!;
