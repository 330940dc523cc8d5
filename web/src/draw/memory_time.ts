/* Memory of ranks over time, as steps, against the capacity of the device. */

import type { Columns } from "../api/columns.js";
import { type Child, svg } from "../base/dom.js";
import { bytes, percent, short } from "../base/format.js";
import { chart, hatchFill, line, path, rect, text, textWidth, ticks } from "./chart.js";
import { axisTime } from "./timeline.js";

export interface MemoryLine {
  name: string;
  colour: string;
  /* times and bytes, in turn */
  levels: Float64Array;
  peak: number;
}

const COLOURS = ["--s2", "--s3", "--s4", "--s1", "--s5"];

/* The fullest rank, the first, the last, and two between them. */
export function memoryLines(c: Columns): MemoryLine[] {
  const lines = c.ranks
    .filter((r) => r.levels > 0)
    .map((r) => {
      const levels = c.memory.subarray(2 * r.first_level, 2 * (r.first_level + r.levels));
      let peak = 0;
      for (let i = 1; i < levels.length; i += 2) peak = Math.max(peak, levels[i]!);
      return { name: (c.names[r.name] ?? "") || `rank ${r.rank}`, colour: "--s6", levels, peak };
    });
  const fullest = lines.reduce((best, l, i) => (l.peak > lines[best]!.peak ? i : best), 0);
  const keep = new Set([fullest, 0, lines.length - 1, Math.floor(lines.length / 3), Math.floor((2 * lines.length) / 3)]);
  const kept = [...keep].filter((i) => i >= 0 && i < lines.length).map((i) => lines[i]!);
  kept.forEach((l, i) => (l.colour = COLOURS[i % COLOURS.length]!));
  return kept;
}

export function levelAt(levels: Float64Array, time_s: number): number {
  let [low, high] = [0, levels.length / 2];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (levels[2 * middle]! <= time_s) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : levels[2 * low - 1]!;
}

/* Steps; those within a pixel are joined from their least to their most. */
function drawSteps(l: MemoryLine, x: (s: number) => number, y: (b: number) => number, end_s: number): string {
  let d = `M${x(0)} ${y(l.levels[1]!).toFixed(1)}`;
  let column = -1;
  for (let i = 2; i < l.levels.length; i += 2) {
    const at = x(l.levels[i]!);
    const h = y(l.levels[i + 1]!).toFixed(1);
    if (Math.floor(at * 2) !== column) d += `H${at.toFixed(1)}`;
    column = Math.floor(at * 2);
    d += `V${h}`;
  }
  return `${d}H${x(end_s).toFixed(1)}`;
}

/* Labels at the right end, pushed apart. */
function placeLabels(ends: { y: number; line: MemoryLine }[], low: number, high: number): void {
  ends.sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i++) ends[i]!.y = Math.max(ends[i]!.y, ends[i - 1]!.y + 14);
  const over = (ends[ends.length - 1]?.y ?? low) - high;
  if (over > 0) for (let i = ends.length - 1; i >= 0; i--) ends[i]!.y = Math.min(ends[i]!.y - (i === ends.length - 1 ? over : 0), i + 1 < ends.length ? ends[i + 1]!.y - 14 : Infinity);
}

export interface MemoryFigure {
  figure: SVGElement;
  moveCursor(time_s: number): void;
}

export function drawMemoryTime(c: Columns, lines: readonly MemoryLine[], width: number): MemoryFigure {
  const capacity = c.capacity_bytes ?? 0;
  const most = Math.max(capacity, ...lines.map((l) => l.peak)) * 1.04;
  const least = Math.min(...lines.map((l) => l.levels.reduce((low, v, i) => (i % 2 === 1 ? Math.min(low, v) : low), Infinity)));
  const cut = least > most / 2 ? Math.floor((least - (most - least) * 0.5) / 1e9 / 10) * 1e10 : 0;
  const low = Math.max(0, cut);
  const names = Math.max(textWidth("capacity"), ...lines.map((l) => textWidth(l.name)));
  const [left, right, top, bottom] = [44, names + 14, 22, 230];
  const x = (s: number): number => left + (s / c.end_s) * (width - left - right);
  const y = (b: number): number => bottom - ((b - low) / (most - low)) * (bottom - top);
  const marks: Child[] = [text(2, 12, `GB${low > 0 ? `, axis cut at ${short(low / 1e9)}` : ""}`, { kind: "quiet" })];
  for (const v of ticks(low / 1e9, most / 1e9, 4)) {
    marks.push(line(left, y(v * 1e9), width - right, y(v * 1e9), "grid"), text(left - 6, y(v * 1e9) + 4, short(v), { anchor: "end", kind: "quiet" }));
  }
  for (const at of ticks(0, c.end_s, width > 500 ? 6 : 3)) marks.push(text(x(at), bottom + 16, axisTime(at, c.end_s), { anchor: at === 0 ? "start" : "middle", kind: "quiet" }));
  if (low > 0) marks.push(path(`M${left - 5} ${bottom - 6}l10 -5M${left - 5} ${bottom - 1}l10 -5`, "axis"));
  marks.push(line(left, top - 4, left, bottom, "axis"), line(left, bottom, width - right, bottom, "axis"));
  if (capacity > 0) {
    const usable = capacity * (1 - (c.headroom ?? 0));
    marks.push(rect(left, y(capacity), width - left - right, y(usable) - y(capacity), hatchFill("ink"), { tip: `Headroom ${percent(c.headroom ?? 0)}` }), line(left, y(capacity), width - right, y(capacity), "limit"), text(width - right + 8, Math.max(top, y(capacity) + 4), "capacity", { kind: "strong" }));
  }
  const ends = lines.map((l) => ({ y: y(l.levels[l.levels.length - 1]!), line: l }));
  placeLabels(ends, top, bottom);
  for (const l of lines) marks.push(path(drawSteps(l, x, y, c.end_s), null, { css: { fill: "none", stroke: `var(${l.colour})`, "stroke-width": 1.6 }, tip: `${l.name}: at most ${bytes(l.peak)}` }));
  for (const e of ends) marks.push(text(width - right + 8, e.y + 4, e.line.name, { kind: "strong", css: { fill: `var(${e.line.colour})` } }));
  const cursor = svg("line", { x1: 0, x2: 0, y1: top - 6, y2: bottom, class: "cursor" });
  const label = `Memory over time${capacity > 0 ? `, of ${bytes(capacity)}` : ""}: ${lines.map((l) => `${l.name} at most ${bytes(l.peak)}`).join(", ")}`;
  return {
    figure: chart(width, bottom + 24, label, marks, cursor),
    moveCursor(time_s) {
      cursor.setAttribute("x1", String(x(time_s)));
      cursor.setAttribute("x2", String(x(time_s)));
    },
  };
}
