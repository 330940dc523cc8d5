/* The report of a simulation: how long, why, which links are busy. */

import { parseColumns } from "../api/columns.js";
import type { Numbers } from "../api/types.js";
import { type Child, el } from "../base/dom.js";
import { bytes, count, percent, plural, si, signed, time } from "../base/format.js";
import { familySentence, PARTS } from "../draw/parts.js";
import { drawStepBars } from "../draw/step_bar.js";
import { drawMemoryTime, type MemoryFigure, memoryLines } from "../draw/memory_time.js";
import { figureBox } from "../ui/figure.js";
import { card, fact, partList } from "../ui/parts.js";
import { table } from "../ui/table.js";
import { timelineView } from "../ui/timeline.js";

interface Link {
  link: string;
  kind: string;
  bandwidth_Bps: number;
  bytes: number;
  use: number;
  mostly_by?: string;
}

interface PathKind {
  kind: string;
  steps: number;
  time_s: number;
  share: number;
}

interface Spread {
  what: string;
  mean_s: number;
  least_s: number;
  most_s: number;
  most_rank?: number;
}

export interface Simulation {
  model?: string;
  cluster?: string;
  step_s?: number;
  time_s?: number;
  estimate_s?: number;
  difference?: number;
  ranks?: number | { rank: number; finish_s: number; compute_s: number; exposed_comm_s: number; idle_s: number }[];
  npus?: number;
  events?: number;
  parts_s?: Numbers;
  verdict?: string;
  links?: Link[];
  hottest_links?: Link[];
  critical_path?: { steps?: number; kinds?: PathKind[] };
  per_rank?: Spread[];
  communication?: { kind: string; group: string; members: number; nodes: number; bytes_per_node: number; time_per_node_s: number }[];
  warnings?: string[];
}

function linkTable(links: readonly Link[]): HTMLElement {
  const list = table<Link>([
    { name: "Link", heading: true, cell: (l) => l.link },
    { name: "Kind", cell: (l) => l.kind },
    { name: "Used", right: true, cell: (l) => el("strong", {}, percent(l.use, 1)), by: (l) => -l.use },
    { name: "Bandwidth", right: true, cell: (l) => si(l.bandwidth_Bps, "B/s"), by: (l) => -l.bandwidth_Bps },
    { name: "Bytes", right: true, cell: (l) => bytes(l.bytes), by: (l) => -l.bytes },
    { name: "Mostly by", cell: (l) => l.mostly_by ?? "" },
  ], { label: "Busiest links, scrolls sideways" });
  list.show(links);
  return list.element;
}

function pathTable(kinds: readonly PathKind[]): HTMLElement {
  const list = table<PathKind>([
    { name: "Kind", heading: true, cell: (k) => k.kind },
    { name: "Share", right: true, cell: (k) => el("strong", {}, percent(k.share, 1)), by: (k) => -k.share },
    { name: "Time", right: true, cell: (k) => time(k.time_s), by: (k) => -k.time_s },
    { name: "Steps", right: true, cell: (k) => count(k.steps), by: (k) => -k.steps },
  ], { label: "Critical path by kind" });
  list.show(kinds);
  return list.element;
}

function spreadTable(rows: readonly Spread[]): HTMLElement {
  const list = table<Spread>([
    { name: "Time of a rank", heading: true, cell: (r) => r.what.replace(/_s$/, "").replaceAll("_", " ") },
    { name: "Mean", right: true, cell: (r) => el("strong", {}, time(r.mean_s)) },
    { name: "Least", right: true, cell: (r) => time(r.least_s) },
    { name: "Most", right: true, cell: (r) => time(r.most_s) },
    { name: "On rank", right: true, cell: (r) => (r.most_rank === undefined ? "" : count(r.most_rank)) },
  ], { label: "Times of ranks" });
  list.show(rows);
  return list.element;
}

type Collective = NonNullable<Simulation["communication"]>[number];

function collectiveTable(rows: readonly Collective[]): HTMLElement {
  const list = table<Collective>([
    { name: "Collective", heading: true, cell: (c) => c.kind },
    { name: "Group", cell: (c) => c.group },
    { name: "Members", right: true, cell: (c) => count(c.members), by: (c) => -c.members },
    { name: "Nodes", right: true, cell: (c) => count(c.nodes), by: (c) => -c.nodes },
    { name: "Bytes each", right: true, cell: (c) => bytes(c.bytes_per_node), by: (c) => -c.bytes_per_node },
    { name: "Time each", right: true, cell: (c) => time(c.time_per_node_s), by: (c) => -c.time_per_node_s },
  ], { label: "Collectives, scrolls sideways" });
  list.show(rows.slice(0, 40));
  return list.element;
}

/* The timeline of the web page, to move about in, from the bytes in the report. */
function timelineCards(base64: string): HTMLElement[] {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const columns = parseColumns(bytes.buffer);
  let memory: MemoryFigure | null = null;
  const view = timelineView({ cursor: (time_s) => memory?.moveCursor(time_s), moved: () => undefined }, new AbortController().signal);
  view.show(columns, {});
  const cards = [card("Timeline", plural(columns.n_ranks, "rank"), view.element)];
  const lines = memoryLines(columns);
  if (lines.length === 0) return cards;
  const box = figureBox();
  box.draw((width) => {
    memory = drawMemoryTime(columns, lines, width);
    memory.moveCursor(view.state().cursor_s);
    return memory.figure;
  });
  return [...cards, card("Memory over time", null, box.element)];
}

export function simReport(s: Simulation, columns?: string): HTMLElement[] {
  const total = s.step_s ?? s.time_s ?? 0;
  const ranks = Array.isArray(s.ranks) ? s.ranks.length : (s.ranks ?? s.npus ?? 0);
  const cards: Child[] = [];
  const facts = el("dl", { class: "facts" }, fact("Simulated", time(total)), s.estimate_s !== undefined && fact("Estimated", time(s.estimate_s), s.difference === undefined ? null : Math.abs(s.difference) < 5e-5 ? "the same as simulated" : `simulated ${signed(s.difference, 2)}`), fact("Ranks", count(ranks)), s.events !== undefined && fact("Events", count(s.events)));
  cards.push(card("One step", null, facts));
  if (s.parts_s !== undefined && s.step_s !== undefined) {
    const box = figureBox();
    const parts = s.parts_s;
    box.draw((width) => drawStepBars([{ name: "Simulated", step_s: total, parts_s: parts, strong: true, error: null }], width));
    const shown = PARTS.filter((p) => (parts[p.key] ?? 0) > total * 1e-6);
    cards.push(card("Where the time goes", familySentence(parts, total), box.element, partList(shown.map((p) => ({ ...p, value: time(parts[p.key]!), share: parts[p.key]! / total })), 1)));
  }
  if (columns !== undefined) cards.push(timelineCards(columns));
  if ((s.per_rank ?? []).length > 0) cards.push(card("Ranks", plural(ranks, "rank"), spreadTable(s.per_rank!)));
  const kinds = s.critical_path?.kinds ?? [];
  if (kinds.length > 0) cards.push(card("Critical path", plural(s.critical_path?.steps ?? 0, "step"), pathTable(kinds)));
  const links = s.links ?? s.hottest_links ?? [];
  if (links.length > 0) cards.push(card("Busiest links", null, linkTable(links)));
  if ((s.communication ?? []).length > 0) cards.push(card("Communication by group", s.communication!.length > 40 ? `40 of ${count(s.communication!.length)}` : null, collectiveTable(s.communication!)));
  if ((s.warnings ?? []).length > 0) cards.push(card("Warnings", null, s.warnings!.map((w) => el("p", { class: "note" }, w))));
  const title = s.model === undefined ? `A simulation on ${s.cluster ?? plural(ranks, "rank")}` : `${s.model} on ${count(ranks)} ranks (${s.cluster ?? ""})`;
  return [el("div", { class: "title" }, el("h1", {}, title), s.verdict !== undefined && el("p", { class: "lede" }, `${s.verdict.charAt(0).toUpperCase()}${s.verdict.slice(1)}.`)), el("div", { class: "grid" }, cards)];
}
