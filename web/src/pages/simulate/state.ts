/* What the Simulate page shows, as the address holds it: a plan with the keys of the Plan page, or traces,
 * and what of the timeline is in view. */

import type { RequestDocument } from "../../api/client.js";
import type { TimelineState } from "../../ui/timeline.js";
import { type PlanState, designDocument, readState, START, writeState } from "../plan/state.js";

export interface SimulateState {
  plan: PlanState;
  /* files of the server's folder; empty = simulate the plan */
  traces: string[];
  names: string[];
  /* file of communicator groups; "" = what the traces say */
  groups: string;
  /* "" = as it was recorded */
  cluster: string;
  all_ranks: boolean;
  network: string;
  view: Partial<TimelineState>;
}

const OWN = ["trace", "name", "groups", "on", "every", "net", "from", "to", "at", "rows", "find", "path", "arrows"];

/* A step that shows a pipeline: stages, a bubble, messages between nodes. */
const SIMULATE_START: PlanState = { ...START, plan: { tp: 8, pp: 8, global_batch: 32, micro_batch: 1 } };

function readTime(text: string | null): number | undefined {
  const value = text === null ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

function readView(query: URLSearchParams): Partial<TimelineState> {
  const view: Partial<TimelineState> = { all: query.get("rows") === "all", path: query.get("path") !== "0", arrows: query.get("arrows") === "1", search: query.get("find") ?? "" };
  const [from, to, at] = ["from", "to", "at"].map((key) => readTime(query.get(key)));
  if (from !== undefined && to !== undefined && to > from) [view.t0, view.t1] = [from, to];
  if (at !== undefined) view.cursor_s = at;
  return view;
}

export function readSimulate(query: URLSearchParams): SimulateState {
  const rest = new URLSearchParams([...query].filter(([key]) => !OWN.includes(key)));
  const plan = [...rest.keys()].length === 0 ? { ...SIMULATE_START, plan: { ...SIMULATE_START.plan } } : readState(rest);
  return {
    plan,
    traces: query.getAll("trace"),
    names: query.getAll("name"),
    groups: query.get("groups") ?? "",
    cluster: query.get("on") ?? "",
    all_ranks: query.get("every") === "1",
    network: query.get("net") ?? "",
    view: readView(query),
  };
}

export function writeSimulate(state: SimulateState, view: TimelineState | null, end_s: number): URLSearchParams {
  const query = state.traces.length > 0 ? new URLSearchParams() : writeState(state.plan);
  for (const trace of state.traces) query.append("trace", trace);
  for (const name of state.names) query.append("name", name);
  if (state.groups !== "" && state.traces.length > 0) query.set("groups", state.groups);
  if (state.cluster !== "") query.set("on", state.cluster);
  if (state.all_ranks) query.set("every", "1");
  if (state.network !== "") query.set("net", state.network);
  if (view === null) return query;
  const short = (s: number): string => String(Number(s.toPrecision(6)));
  if (view.t0 > 0 || view.t1 < end_s) {
    query.set("from", short(view.t0));
    query.set("to", short(view.t1));
  }
  query.set("at", short(view.cursor_s));
  if (view.all) query.set("rows", "all");
  if (!view.path) query.set("path", "0");
  if (view.arrows) query.set("arrows", "1");
  if (view.search !== "") query.set("find", view.search);
  return query;
}

/* The parts of the state that decide what is simulated. */
export function runKey(state: SimulateState): string {
  return JSON.stringify([state.traces, state.cluster, state.all_ranks, state.network, state.traces.length > 0 ? null : [state.plan.model, state.plan.cluster, state.plan.npus, state.plan.stack, state.plan.plan]]);
}

export function simulateDocument(state: SimulateState): RequestDocument {
  const more = { ...(state.all_ranks ? { all_ranks: true } : {}), ...(state.network === "" ? {} : { network_model: state.network }) };
  if (state.traces.length > 0) {
    const where = state.cluster === "" ? { replay: true, ...(state.all_ranks ? { all_ranks: true } : {}) } : { cluster: state.cluster, ...(state.groups === "" ? {} : { comm_group_configuration: state.groups }), ...more };
    return { do: "sim", trace: state.traces, explain: true, ...where };
  }
  const { tokens: _tokens, ...design } = designDocument(state.plan);
  return { do: "sim", ...design, plan: state.plan.plan, ...(state.plan.npus <= 4096 ? { per_rank: true } : {}), ...more };
}
