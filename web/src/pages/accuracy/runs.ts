/* Published runs and what halley predicted for them: groups, errors, sentences. */

import { percent, plural, signed } from "../../base/format.js";

export interface Prediction {
  id: string;
  set: string;
  npu: string;
  stack: string;
  layout: string;
  dtype: string;
  measured_s?: number;
  predicted_s?: number;
  /* predicted by a fit that has not seen its layout */
  held_out_s?: number;
  measured_bytes?: number;
  predicted_bytes?: number;
}

export interface ScoredSet {
  set: string;
  metric: string;
  rows: number;
  scored: number;
  mape: number;
  median_error: number;
  bias: number;
  held_out_error?: number | null;
  skipped?: { reason: string; rows: number }[];
}

export type Kind = "dense" | "experts" | "other";

/* The kind of model a set has, by the name of the set. */
export function kindOf(set: string): Kind {
  if (/moe|mixtral|deepseek/i.test(set)) return "experts";
  return /bert|dlrm|lora|-sd\b|resnet|vit/i.test(set) ? "other" : "dense";
}

export const KIND_WORDS: { [kind in Kind]: string } = { dense: "dense models", experts: "mixture of experts", other: "BERT, DLRM, LoRA, diffusion" };

export interface TimedRun {
  prediction: Prediction;
  measured: number;
  predicted: number;
  /* signed, as a share */
  error: number;
  kind: Kind;
}

export function timedRuns(all: readonly Prediction[], held_out: boolean): TimedRun[] {
  return all.flatMap((p) => {
    const predicted = held_out ? (p.held_out_s ?? p.predicted_s) : p.predicted_s;
    if (p.measured_s === undefined || predicted === undefined || !(p.measured_s > 0) || !(predicted > 0)) return [];
    return [{ prediction: p, measured: p.measured_s, predicted, error: predicted / p.measured_s - 1, kind: kindOf(p.set) }];
  });
}

export function meanError(runs: readonly TimedRun[]): number {
  return runs.reduce((sum, r) => sum + Math.abs(r.error), 0) / Math.max(1, runs.length);
}

/* The error that a share of the runs does not exceed. */
export function errorQuantile(runs: readonly TimedRun[], share: number): number {
  const sorted = runs.map((r) => Math.abs(r.error)).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

export interface Group {
  key: string;
  runs: TimedRun[];
  mean: number;
  p90: number;
}

export function groupRuns(runs: readonly TimedRun[], key: (r: TimedRun) => string): Group[] {
  const groups = new Map<string, TimedRun[]>();
  for (const run of runs) groups.set(key(run), [...(groups.get(key(run)) ?? []), run]);
  return [...groups].map(([k, list]) => ({ key: k, runs: list, mean: meanError(list), p90: errorQuantile(list, 0.9) }));
}

/* What a reader should not rely on, from the runs themselves. */
export function distrust(runs: readonly TimedRun[], unmeasured: readonly string[]): { title: string; words: string }[] {
  const out: { title: string; words: string }[] = [];
  const experts = runs.filter((r) => r.kind === "experts");
  if (experts.length > 0) {
    const worst = [...experts].sort((a, b) => a.error - b.error);
    out.push({
      title: "Mixture of experts.",
      words: `Mean error ${percent(meanError(experts), 1)} on ${plural(experts.length, "run")}; single runs are off from ${signed(worst[0]!.error, 0)} to ${signed(worst[worst.length - 1]!.error, 0)}.`,
    });
  }
  if (unmeasured.length > 0) out.push({ title: "Chips without a run.", words: `No measurement of ${unmeasured.join(", ")}: their error is unknown, and pages say so.` });
  const short = runs.filter((r) => r.measured < 0.1);
  const long = runs.filter((r) => r.measured >= 0.1);
  if (short.length >= 5) out.push({ title: "Very short steps.", words: `Below 0.1 s per step the mean error is ${percent(meanError(short), 1)} (${plural(short.length, "run")}), above it ${percent(meanError(long), 1)}.` });
  const bias = runs.reduce((s, r) => s + r.error, 0) / Math.max(1, runs.length);
  out.push({ title: "Direction.", words: `On average predictions are ${percent(Math.abs(bias), 1)} too ${bias < 0 ? "fast" : "slow"}.` });
  out.push({ title: "No software chosen.", words: "Without a stack the default constants are used; the error bar of each answer says what that costs." });
  return out;
}
