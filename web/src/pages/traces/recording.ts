/* What a recording or a trace says: results of `trace.info` and `trace.check`, and what of its
 * communication other kernels hide. */

import type { Client } from "../../api/client.js";
import { HalleyError } from "../../api/client.js";
import type { Columns } from "../../api/columns.js";
import { requestColumns } from "../../api/columns.js";
import type { Progress } from "../../api/client.js";

export interface KernelClass {
  n: number;
  s: number;
  share: number;
  flops_per_s: number | null;
  bytes_per_s: number | null;
}

export interface TopKernel {
  name: string;
  class: string;
  n: number;
  s: number;
  operator?: string | null;
}

export interface Step {
  name: string;
  number: number | null;
  s: number;
}

export interface Kernels {
  kind: string;
  device: string | null;
  rank: number | null;
  world: number | null;
  device_events: number;
  devices: number;
  streams: number;
  device_span_s: number;
  device_busy_s: number;
  launch_in_window: number;
  classes: { [name: string]: KernelClass };
  collectives_device: { [name: string]: { n: number; s: number } };
  steps: Step[];
  top: TopKernel[];
  idle: { [cause: string]: number };
  overlap: number | null;
  recorded_s: number;
  verdict: string;
  warnings?: string[];
}

export interface Info {
  trace: string;
  n_ranks: number;
  n_distinct: number;
  form: string;
  nodes: number;
  depth: number;
  critical_path_s: number;
  types: { type: string; nodes: number; time_s: number }[];
  collectives: { type: string; group: string; size_bytes: number; total_bytes: number; nodes: number }[];
  warnings?: string[];
}

export interface Finding {
  severity: string;
  code: string;
  rank: number;
  node: number;
  name: string;
  sentence: string;
  remedy?: string;
}

export interface Check {
  n_errors: number;
  n_warnings: number;
  n_notes: number;
  findings: Finding[];
}

export interface Recording {
  name: string;
  paths: string[];
  kernels: Kernels | null;
  info: Info;
  check: Check;
  columns: Columns | null;
  /* why there is no timeline */
  why: string;
}

interface Waiting {
  signal: AbortSignal;
  progress: (progress: Progress) => void;
}

async function attempt<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof HalleyError && error.code !== "cancelled") return error.message;
    throw error;
  }
}

/* Everything the page shows of one recording or set; fails with the engine's sentence when it is none. */
export async function loadRecording(client: Client, paths: string[], name: string, place: string, waiting: Waiting): Promise<Recording> {
  const trace = paths.length === 1 ? paths[0]! : paths;
  const info = await client.request<Info>({ do: "trace.info", trace }, waiting);
  const check = await client.request<Check>({ do: "trace.check", trace, notes: true }, waiting);
  const kernels = await attempt(client.request<Kernels>({ do: "trace.info", trace, kernels: true, all: true }, waiting));
  const drawn = await attempt(requestColumns<unknown>(client, { do: "trace.timeline", trace, form: "columns" }, "out", place, waiting));
  return {
    name,
    paths,
    kernels: typeof kernels === "string" ? null : kernels,
    info,
    check,
    columns: typeof drawn === "string" ? null : drawn.columns,
    why: typeof drawn === "string" ? drawn : drawn.why,
  };
}

export interface Talk {
  kind: string;
  row: string;
  n: number;
  s: number;
  exposed_s: number;
}

interface Span {
  from: number;
  to: number;
}

function joinSpans(spans: Span[]): Span[] {
  spans.sort((a, b) => a.from - b.from);
  const out: Span[] = [];
  for (const s of spans) {
    const last = out[out.length - 1];
    if (last !== undefined && s.from <= last.to) last.to = Math.max(last.to, s.to);
    else out.push({ ...s });
  }
  return out;
}

/* Time of `span` in which none of the joined spans runs. */
function bareTime(span: Span, others: readonly Span[]): number {
  let [low, high] = [0, others.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (others[middle]!.to <= span.from) low = middle + 1;
    else high = middle;
  }
  let bare = span.to - span.from;
  for (let i = low; i < others.length && others[i]!.from < span.to; i++) bare -= Math.min(span.to, others[i]!.to) - Math.max(span.from, others[i]!.from);
  return Math.max(0, bare);
}

/* Communication by stream and kind, with what no other kernel of its rank hides. */
export function listTalk(c: Columns): Talk[] {
  const found = new Map<string, Talk>();
  for (let rank = 0; rank < c.ranks.length; rank++) {
    const rows = c.rows.filter((r) => r.of === rank && (c.names[r.name] ?? "").startsWith("stream"));
    const work: Span[] = [];
    const each = (act: (box: number, row: string) => void): void => rows.forEach((r) => {
      for (let i = r.first; i < r.first + r.n; i++) act(i, c.names[r.name] ?? "");
    });
    const isTalk = (box: number): boolean => (c.kinds[c.kind[box]!] ?? "").startsWith("comm.");
    each((i) => {
      if (!isTalk(i)) work.push({ from: c.start_s[i]!, to: c.start_s[i]! + c.length_s[i]! });
    });
    const busy = joinSpans(work);
    each((i, row) => {
      if (!isTalk(i)) return;
      const kind = c.kinds[c.kind[i]!] ?? "";
      const key = `${row}\n${kind}`;
      const talk = found.get(key) ?? { kind, row, n: 0, s: 0, exposed_s: 0 };
      talk.n += 1;
      talk.s += c.length_s[i]!;
      talk.exposed_s += bareTime({ from: c.start_s[i]!, to: c.start_s[i]! + c.length_s[i]! }, busy);
      found.set(key, talk);
    });
  }
  return [...found.values()].sort((a, b) => b.s - a.s);
}

/* Mean length of a step; without marked steps the whole window is one. */
export function stepTime(k: Kernels): { step_s: number; n: number } {
  if (k.steps.length === 0) return { step_s: k.device_span_s, n: 1 };
  return { step_s: k.steps.reduce((sum, s) => sum + s.s, 0) / k.steps.length, n: k.steps.length };
}

export const IDLE_WORDS: readonly [string, string, string][] = [
  ["host", "Host launches too slowly", "many short kernels: use CUDA graphs, fused operators or torch.compile"],
  ["communication", "Waits for communication", "kernels that wait for a collective of another stream"],
  ["synchronisation", "Waits for another stream, or the host had synchronised", "find .item(), synchronize() and events between streams"],
  ["launch_latency", "Between kernels", "normal launch gaps"],
  ["nothing", "Nothing was launched", "the host had nothing for the device: data loading, checkpoints, the end of the window"],
];
