/* What the Plan page shows, as the address holds it: model, cluster, software, plan, run. Keys of
 * the plan that are absent have the engine's defaults. */

import type { RequestDocument } from "../../api/client.js";
import type { Plan, PlanValue } from "../../api/types.js";

export interface PlanState {
  model: string;
  cluster: string;
  npus: number;
  /* "" = no software chosen */
  stack: string;
  plan: Plan;
  tokens: number;
  /* USD per accelerator and hour */
  rent: number;
  headroom: number | null;
  /* which number is explained: step, tokens, flops, mfu, memory, days */
  why: string;
}

export const START: PlanState = {
  model: "llama3-70b",
  cluster: "dgx-h100",
  npus: 64,
  stack: "nemo-25",
  plan: { tp: 8, pp: 2, global_batch: 128 },
  tokens: 1.5e13,
  rent: 2.5,
  headroom: null,
  why: "step",
};

const OWN = new Set(["model", "cluster", "npus", "stack", "tokens", "rent", "headroom", "why"]);

function readNumber(text: string | null, fallback: number): number {
  const value = text === null ? NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : fallback;
}

/* "8" is a number, "true" is true, "4,4,2" a list where the key takes one. */
export function readPlanValue(text: string): PlanValue {
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) ? number : text;
}

export function readState(query: URLSearchParams): PlanState {
  if (![...query.keys()].some((key) => key !== "why")) return { ...START, plan: { ...START.plan }, why: query.get("why") ?? START.why };
  const plan: Plan = {};
  for (const [key, value] of query) if (!OWN.has(key) && /^[a-z][a-z0-9_]*$/.test(key)) plan[key] = readPlanValue(value);
  const headroom = Number(query.get("headroom") ?? NaN);
  return {
    model: query.get("model") ?? START.model,
    cluster: query.get("cluster") ?? START.cluster,
    npus: readNumber(query.get("npus"), START.npus),
    stack: query.get("stack") ?? "",
    plan,
    tokens: readNumber(query.get("tokens"), START.tokens),
    rent: readNumber(query.get("rent"), START.rent),
    headroom: Number.isFinite(headroom) ? headroom : null,
    why: query.get("why") ?? START.why,
  };
}

export function writeState(state: PlanState): URLSearchParams {
  const query = new URLSearchParams();
  query.set("model", state.model);
  query.set("cluster", state.cluster);
  query.set("npus", String(state.npus));
  if (state.stack !== "") query.set("stack", state.stack);
  for (const [key, value] of Object.entries(state.plan)) query.set(key, String(value));
  query.set("tokens", String(state.tokens));
  if (state.rent !== START.rent) query.set("rent", String(state.rent));
  if (state.headroom !== null) query.set("headroom", String(state.headroom));
  if (state.why !== START.why) query.set("why", state.why);
  return query;
}

/* Model, cluster and software as a request takes them. */
export function designDocument(state: PlanState): { [key: string]: unknown } {
  return {
    model: state.model,
    cluster: `${state.cluster}:${state.npus}`,
    ...(state.stack === "" ? {} : { stack: state.stack }),
    ...(state.headroom === null ? {} : { headroom: state.headroom }),
    tokens: state.tokens,
  };
}

export function estimateDocument(state: PlanState): RequestDocument {
  return { do: "estimate", ...designDocument(state), plan: state.plan };
}

/* Keys that the search for the best plan must not be held to. */
const KEPT_IN_SEARCH = ["global_batch", "seq", "dtype", "fp8_recipe", "attention", "lora", "kernels", "dispatcher", "graphs", "capacity", "expert_skew"];

export function searchDocument(state: PlanState): RequestDocument {
  const plan = Object.fromEntries(Object.entries(state.plan).filter(([key]) => KEPT_IN_SEARCH.includes(key)));
  return { do: "plan", ...designDocument(state), plan, top: 5 };
}

/* Plans as the search gives them name every key; keep those that differ from the defaults. */
const DEFAULTS: Plan = {
  cp: 1, ep: 1, virtual: 1, fsdp: 0, recompute_layers: 0, recompute_every: 1, rank_order: "tp-cp-dp-pp", fp8_recipe: "tensor", gradient_bytes: 2,
  lora: 0, schedule: "1f1b", attention: "flash", etp: 1, zero_group: 0, dispatcher: "all-to-all", capacity: 0, expert_skew: 0, graphs: "none",
  kernels: "fused", bf16_layers: 0, gather: "default", gradient_memory: 0, optimizer_memory: 0, offload_layers: 0, keep_gathered: false,
  embeddings_as_layers: false, spread: false, no_overlap: false, fp8_attention: false, zero_owner: false, fp8_dispatch: false, overlap_ep: false,
};

export function essentialPlan(plan: Plan, keep: Plan): Plan {
  const out: Plan = {};
  for (const [key, value] of Object.entries(plan)) {
    if (key === "dp" || key === "seq" || key === "dtype" || key === "sequence_parallel") {
      if (key in keep && key !== "dp") out[key] = value;
    } else if (DEFAULTS[key] !== value || key in keep) out[key] = value;
  }
  return out;
}
