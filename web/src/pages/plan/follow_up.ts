/* What the page asks after the first answer: neighbours of the plan, and, after a refusal, the
 * nearest value of the field that would do. All of it is dropped by the next change. */

import { asFailure, type Client, HalleyError } from "../../api/client.js";
import type { Estimate, Plan } from "../../api/types.js";
import type { Neighbour } from "./answer.js";
import { estimateDocument, type PlanState } from "./state.js";

export interface Step {
  label: string;
  state: PlanState;
}

function numberOf(plan: Plan, key: string): number {
  const value = plan[key];
  return typeof value === "number" ? value : 1;
}

/* Single steps from the plan that people try next. */
export function neighbourSteps(state: PlanState, resolved: Plan, device: string): Step[] {
  const at = (key: string): number => numberOf(resolved, key);
  const plan = (label: string, patch: Plan): Step => ({ label, state: { ...state, plan: { ...state.plan, ...patch } } });
  const steps: Step[] = [plan(`micro-batch ${at("micro_batch") * 2}`, { micro_batch: at("micro_batch") * 2 })];
  if (at("tp") % 2 === 0) steps.push(plan(`tp ${at("tp") / 2}`, { tp: at("tp") / 2 }));
  if (at("pp") % 2 === 0) steps.push(plan(`pp ${at("pp") / 2}`, { pp: at("pp") / 2 }));
  if (state.npus % 2 === 0) steps.push({ label: `${device}s ${state.npus / 2}`, state: { ...state, npus: state.npus / 2 } });
  return steps;
}

export async function askNeighbours(client: Client, steps: readonly Step[], take: (step: Step) => void, signal: AbortSignal): Promise<Neighbour[]> {
  const ask = async (step: Step): Promise<Neighbour> => {
    const base = { label: step.label, apply: () => take(step) };
    try {
      return { ...base, result: await client.request<Estimate>(estimateDocument(step.state), { signal }), refused: null };
    } catch (error) {
      if (signal.aborted) throw error;
      return { ...base, result: null, refused: asFailure(error).message };
    }
  };
  const all = await Promise.all(steps.map(ask));
  return all.filter((n) => n.result !== null);
}

export interface Found {
  key: string;
  value: number;
  state: PlanState;
  estimate: Estimate;
}

const DEGREES = ["tp", "pp", "cp", "ep", "virtual", "micro_batch", "global_batch"];

/* Values to try instead of the refused one, nearest first. */
function candidates(value: number): number[] {
  const near = new Set<number>();
  for (let d = 1; d <= 4; d++) for (const n of [value - d, value + d]) if (n >= 1) near.add(n);
  for (let power = 1; power <= 4096; power *= 2) near.add(power);
  near.delete(value);
  const far = (n: number): number => Math.abs(Math.log(n / value));
  return [...near].sort((a, b) => far(a) - far(b)).slice(0, 14);
}

/* The nearest value of the changed field, or of a field that the message names, with which the
 * plan can be estimated. */
export async function findRepair(client: Client, state: PlanState, changed: string, resolved: Plan, signal: AbortSignal): Promise<Found | null> {
  const keys = [changed, ...DEGREES.filter((key) => key !== changed)].filter((key) => key === "npus" || DEGREES.includes(key));
  for (const key of keys) {
    const current = key === "npus" ? state.npus : numberOf({ ...resolved, ...state.plan }, key);
    for (const value of candidates(current)) {
      const next = key === "npus" ? { ...state, npus: value } : { ...state, plan: { ...state.plan, [key]: value } };
      try {
        const estimate = await client.request<Estimate>(estimateDocument(next), { signal });
        return { key, value, state: next, estimate };
      } catch (error) {
        if (signal.aborted || !(error instanceof HalleyError)) return null;
      }
    }
  }
  return null;
}
