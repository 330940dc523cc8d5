/* The answer of a simulation: what the critical path is made of, what would help, ranks. */

import type { Client } from "../../api/client.js";
import type { Assumption, Estimate, Numbers, Plan } from "../../api/types.js";
import { type Child, el, fill } from "../../base/dom.js";
import { count, percent, plural, signed, significant, time } from "../../base/format.js";
import { findKind } from "../../draw/kinds.js";
import { chart, rect, text, textWidth } from "../../draw/chart.js";
import { colourKey, fitWords, memoryWords } from "../../ui/parts.js";
import { table } from "../../ui/table.js";
import { estimateDocument } from "../plan/state.js";
import type { SimulateState } from "./state.js";

export interface PathKind {
  kind: string;
  steps: number;
  time_s: number;
  share: number;
}

export interface RankRow {
  rank: number;
  finish_s: number;
  compute_s: number;
  exposed_comm_s: number;
  idle_s: number;
}

export interface Spread {
  what: string;
  mean_s: number;
  least_s: number;
  most_s: number;
  most_rank: number;
}

export interface Simulated {
  model?: string;
  cluster?: string;
  stack?: string;
  plan?: Plan;
  fit?: Estimate["fit"];
  step_s?: number;
  time_s?: number;
  estimate_s?: number;
  difference?: number;
  ranks?: number;
  npus?: number;
  events?: number;
  events_represented?: number;
  parts_s?: Numbers;
  verdict?: string;
  critical_path?: { steps: number; kinds: PathKind[] };
  rank_rows?: RankRow[];
  per_rank?: Spread[];
  network?: { topology: string; use: number }[];
  links?: { link: string; kind: string; use: number; mostly_by?: string }[];
  hottest_links?: { link: string; kind: string; use: number; mostly_by?: string }[];
  warnings?: string[];
  assumed?: Assumption[];
}

/* Percentages stand out, at most two. */
export function emphasize(sentence: string): Child[] {
  let left = 2;
  return sentence.split(/(\d[\d.,]* %)/).map((part, i) => (i % 2 === 1 && left-- > 0 ? el("em", {}, part) : part));
}

export function headline(r: Simulated): Child[] {
  const total = time(r.step_s ?? r.time_s ?? 0);
  const verdict = r.verdict ?? "";
  const what = r.step_s !== undefined ? "The step takes" : "The run takes";
  return verdict === "" ? [`${what} ${total}.`] : [`${what} ${total}: `, ...emphasize(verdict), "."];
}

export function pathBar(kinds: readonly PathKind[], width: number): SVGElement {
  const total = kinds.reduce((sum, k) => sum + k.time_s, 0);
  let x = 0;
  const marks = kinds.map((k) => {
    const kind = findKind(k.kind);
    const w = (k.time_s / total) * width;
    const words = `${kind.name} ${time(k.time_s)}`;
    const mark = [rect(x, 0, w > 2 ? w - 1 : w, 30, `var(${kind.colour})`, { tip: `${words}, ${percent(k.share, 1)}` }), w > textWidth(words) + 10 && text(x + w / 2, 20, words, { anchor: "middle", kind: `${kind.tone === "dark" ? "on-dark" : "on-light"} label` })];
    x += w;
    return mark;
  });
  return chart(width, 30, `Critical path: ${kinds.map((k) => `${findKind(k.kind).name} ${time(k.time_s)}`).join(", ")}`, marks);
}

export function pathList(kinds: readonly PathKind[]): HTMLElement {
  const item = (k: PathKind): HTMLElement => el("li", {}, el("span", {}, colourKey(findKind(k.kind).colour, null), capital(findKind(k.kind).name)), el("span", { class: "v" }, time(k.time_s)), el("span", { class: "p" }, percent(k.share, 1)));
  return el("ul", { class: "list-parts one" }, kinds.map(item));
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const SPREADS: readonly [string, keyof RankRow][] = [
  ["Finish", "finish_s"],
  ["Compute", "compute_s"],
  ["Exposed communication", "exposed_comm_s"],
  ["Idle", "idle_s"],
];

/* Least, mean and most of each time, and the rank that has most. */
export function spreads(r: Simulated): Spread[] {
  if (r.rank_rows !== undefined && r.rank_rows.length > 0) {
    const rows = r.rank_rows;
    return SPREADS.map(([what, key]) => {
      const values = rows.map((row) => row[key]);
      const most = values.reduce((best, v, i) => (v > values[best]! ? i : best), 0);
      return { what, mean_s: values.reduce((a, b) => a + b, 0) / values.length, least_s: values.reduce((a, b) => Math.min(a, b), Infinity), most_s: values[most]!, most_rank: rows[most]!.rank };
    });
  }
  const names: { [key: string]: string } = { finish_s: "Finish", compute_s: "Compute", exposed_comm_s: "Exposed communication", idle_s: "Idle" };
  return (r.per_rank ?? []).filter((s) => s.what in names).map((s) => ({ ...s, what: names[s.what]! }));
}

export function rankTable(rows: readonly Spread[]): HTMLElement {
  const list = table<Spread>([
    { name: "Time", heading: true, hidden_name: true, cell: (s) => s.what },
    { name: "least", right: true, cell: (s) => time(s.least_s) },
    { name: "mean", right: true, cell: (s) => time(s.mean_s) },
    { name: "most", right: true, cell: (s) => time(s.most_s) },
    { name: "on rank", right: true, cell: (s) => count(s.most_rank) },
  ], { label: "Times of ranks, scrolls sideways" });
  list.show(rows);
  return list.element;
}

interface Change {
  words: string;
  plan: Plan;
}

function number(plan: Plan, key: string, fallback: number): number {
  const value = plan[key];
  return typeof value === "number" ? value : fallback;
}

/* Changes of one key that a person would try. */
export function listChanges(plan: Plan): Change[] {
  const pp = number(plan, "pp", 1);
  const virtual = number(plan, "virtual", 1);
  const batch = number(plan, "global_batch", 128);
  const tp = number(plan, "tp", 1);
  const changes: Change[] = [];
  const add = (words: string, patch: Plan): void => void changes.push({ words, plan: { ...plan, ...patch } });
  if (pp > 1) {
    add(plural(virtual * 2, "virtual stage"), { virtual: virtual * 2 });
    add(plural(virtual * 4, "virtual stage"), { virtual: virtual * 4 });
    add(`pp ${pp / 2}`, { pp: pp / 2 });
  }
  add(`batch ${batch * 2}`, { global_batch: batch * 2 });
  if (tp > 1) add(`tp ${tp / 2}`, { tp: tp / 2 });
  if (String(plan["recompute"] ?? "none") === "full") add("selective recomputation", { recompute: "selective" });
  return changes;
}

/* The closed form answers in a millisecond, so each is asked. */
export async function showChanges(client: Client, state: SimulateState, to: HTMLElement, signal: AbortSignal): Promise<void> {
  const ask = (plan: Plan): Promise<Estimate> => client.request<Estimate>(estimateDocument({ ...state.plan, plan }), { signal });
  const base = await ask(state.plan.plan);
  const answers = await Promise.all(
    listChanges(base.plan).map(async (change) => {
      try {
        const essential = { ...state.plan.plan, ...Object.fromEntries(Object.entries(change.plan).filter(([key, value]) => base.plan[key] !== value)) };
        return { change, e: await ask(essential) };
      } catch {
        return null; /* it cannot be divided that way */
      }
    }),
  );
  if (signal.aborted) return;
  const rows = answers.filter((a): a is { change: Change; e: Estimate } => a !== null);
  const bubble = (e: Estimate): number => (e.parts_s["bubble"] ?? 0) / e.step_s;
  const list = table<{ change: Change; e: Estimate }>([
    { name: "Change", heading: true, cell: (r) => r.change.words },
    { name: "tokens/s", right: true, cell: (r) => (r.e.fit === "does-not-fit" ? el("strong", { class: "over-words" }, fitWords(r.e.fit)) : el("strong", {}, signed(r.e.tokens_per_s / base.tokens_per_s - 1, 0))) },
    { name: "bubble", right: true, cell: (r) => percent(bubble(r.e)) },
    { name: "memory", right: true, cell: (r) => el("span", { class: r.e.fit === "does-not-fit" ? "over-words" : null }, memoryWords(r.e.device_bytes, r.e.spilled_bytes)) },
  ], { label: "What would help, scrolls sideways" });
  list.show(rows);
  fill(to, rows.length > 0 && [el("h3", {}, "What would help"), list.element, el("p", { class: "note" }, "By the closed form, one change at a time.")]);
}

export function busiest(r: Simulated): string {
  const links = r.links ?? r.hottest_links ?? [];
  const seen = new Map<string, number>();
  for (const link of links) if (!seen.has(link.kind)) seen.set(link.kind, link.use);
  return [...seen].slice(0, 3).map(([kind, use]) => `busiest ${kind} ${significant(use * 100, 2)} %`).join(", ");
}

interface UsedLink {
  link: string;
  kind: string;
  use: number;
  mostly_by?: string;
}

/* The busiest links of the whole run. */
export function linkTable(r: Simulated): HTMLElement | null {
  const links = (r.links ?? r.hottest_links ?? []).slice(0, 10);
  if (links.length === 0) return null;
  const list = table<UsedLink>([
    { name: "Link", heading: true, cell: (l) => l.link },
    { name: "Kind", cell: (l) => l.kind },
    { name: "In use", right: true, cell: (l) => el("strong", {}, `${significant(l.use * 100, 2)} %`), by: (l) => -l.use },
    { name: "Mostly by", kind: "wide", cell: (l) => l.mostly_by ?? "" },
  ], { label: "Busiest links, scrolls sideways" });
  list.show(links);
  return list.element;
}
