/* The painter of timelines: boxes of rows on a canvas. Boxes under 2 px are joined into columns of
 * 2 px, coloured by their longest kind and shaded by how much of the time they fill; finding the end of
 * a column takes a few look-ups, so a frame costs the same for a thousand boxes and for a million. */

import { NO_BOX } from "../api/columns.js";
import { time } from "../base/format.js";
import { ticks } from "./chart.js";
import { findKind } from "./kinds.js";
import type { Hop, TimelineData, ViewRow } from "./timeline_rows.js";

export interface Look {
  width: number;
  height: number;
  left: number;
  t0: number;
  t1: number;
  scroll: number;
  row_height: number;
  cursor_s: number | null;
  show_path: boolean;
  show_arrows: boolean;
  /* by name: does it match the search; null = no search */
  matches: Uint8Array | null;
  /* boxes that match, before each box */
  match_count: Uint32Array | null;
  selected: number;
}

export const AXIS = 24;
const BUCKET = 2;
const LEVELS = 4;
const MOST_LABELS = 500;
const MOST_ARROWS = 1200;
const MOST_HOPS = 1500;

interface Palette {
  colours: string[];
  text: string[];
  ink: string;
  quiet: string;
  grid: string;
  surface: string;
  sunken: string;
  critical: string;
  arrow: string;
  accent: string;
  font: string;
  hatch: CanvasPattern | null;
}

export class TimelinePainter {
  private palette: Palette | null = null;
  private hops: { rows: readonly ViewRow[]; list: Hop[] } | null = null;
  private place_rows: readonly ViewRow[] | null = null;
  private places = new Int32Array(0);

  constructor(
    private readonly context: CanvasRenderingContext2D,
    readonly data: TimelineData,
  ) {}

  /* Colours are read again after a change of the theme. */
  forgetColours(): void {
    this.palette = null;
  }

  private readPalette(): Palette {
    if (this.palette !== null) return this.palette;
    const style = getComputedStyle(document.documentElement);
    const get = (name: string): string => style.getPropertyValue(name).trim();
    const kinds = this.data.columns.kinds.map(findKind);
    this.palette = {
      colours: kinds.map((k) => get(k.colour)),
      text: kinds.map((k) => get(k.tone === "dark" ? "--on-dark" : "--on-light")),
      ink: get("--ink"),
      quiet: get("--ink-3"),
      grid: get("--grid"),
      surface: get("--surface"),
      sunken: get("--sunken"),
      critical: get("--critical"),
      arrow: get("--t-pp"),
      accent: get("--accent"),
      font: get("--sans") || "sans-serif",
      hatch: this.makeHatch(get("--line")),
    };
    return this.palette;
  }

  private makeHatch(colour: string): CanvasPattern | null {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const to = tile.getContext("2d");
    if (to === null) return null;
    to.strokeStyle = colour;
    to.lineWidth = 1;
    to.beginPath();
    for (const at of [-4, 4, 12]) {
      to.moveTo(at - 4, 12);
      to.lineTo(at + 12, -4);
    }
    to.stroke();
    return this.context.createPattern(tile, "repeat");
  }

  x(look: Look, time_s: number): number {
    return look.left + ((time_s - look.t0) / (look.t1 - look.t0)) * (look.width - look.left);
  }

  y(look: Look, index: number): number {
    return AXIS + index * look.row_height - look.scroll;
  }

  paint(rows: readonly ViewRow[], look: Look): void {
    const to = this.context;
    const p = this.readPalette();
    to.globalAlpha = 1;
    to.fillStyle = p.surface;
    to.fillRect(0, 0, look.width, look.height);
    this.paintAxis(look, p);
    to.save();
    to.beginPath();
    to.rect(0, AXIS, look.width, look.height - AXIS);
    to.clip();
    const first = Math.max(0, Math.floor(look.scroll / look.row_height));
    const last = Math.min(rows.length, Math.ceil((look.scroll + look.height - AXIS) / look.row_height));
    this.paintRows(rows, first, last, look, p);
    if (look.show_arrows) this.paintArrows(rows, look, p);
    if (look.show_path) this.paintHops(rows, look, p);
    this.paintNames(rows, first, last, look, p);
    to.restore();
    this.paintCursor(look, p);
  }

  private paintAxis(look: Look, p: Palette): void {
    const to = this.context;
    const span = look.t1 - look.t0;
    to.font = `12px ${p.font}`;
    to.textBaseline = "middle";
    to.textAlign = "center";
    const marks = ticks(look.t0, look.t1, Math.max(4, Math.floor((look.width - look.left) / 110)));
    for (const at of marks) {
      const x = this.x(look, at);
      to.fillStyle = p.grid;
      to.fillRect(Math.round(x), AXIS - 2, 1, look.height);
      to.fillStyle = p.quiet;
      const words = axisTime(at, span);
      const half = to.measureText(words).width / 2;
      to.fillText(words, Math.min(Math.max(x, look.left + half), look.width - half - 1), AXIS / 2 - 1);
    }
  }

  private paintRows(rows: readonly ViewRow[], first: number, last: number, look: Look, p: Palette): void {
    const to = this.context;
    const n_kinds = this.data.columns.kinds.length;
    const rects: number[][] = Array.from({ length: n_kinds * LEVELS }, () => []);
    const reds: number[] = [];
    const frames: number[] = [];
    const labels: number[] = [];
    const h = look.row_height - 3;
    for (let r = first; r < last; r++) {
      const y = this.y(look, r);
      if (p.hatch !== null) {
        to.fillStyle = p.hatch;
        to.fillRect(look.left, y + 1, look.width - look.left, h);
      }
      this.collectRow(rows[r]!, y + 1, look, rects, reds, frames, labels);
    }
    for (let k = 0; k < n_kinds; k++) {
      to.fillStyle = p.colours[k]!;
      for (let level = 0; level < LEVELS; level++) {
        const list = rects[k * LEVELS + level]!;
        to.globalAlpha = look.matches !== null ? (level === LEVELS - 1 ? 1 : 0.14) : [0.3, 0.55, 0.8, 1][level]!;
        for (let i = 0; i < list.length; i += 3) to.fillRect(list[i]!, list[i + 1]!, list[i + 2]!, h);
      }
    }
    to.globalAlpha = 1;
    this.paintLabels(labels, look, p, h);
    if (look.show_path) {
      to.fillStyle = p.critical;
      for (let i = 0; i < reds.length; i += 3) to.fillRect(reds[i]!, reds[i + 1]! + h - 2, reds[i + 2]!, 2);
      to.strokeStyle = p.critical;
      to.lineWidth = 2;
      for (let i = 0; i < frames.length; i += 3) to.strokeRect(frames[i]! + 1, frames[i + 1]! + 1, Math.max(1, frames[i + 2]! - 2), h - 2);
    }
  }

  /* The boxes of a row in view: wide ones by themselves, others joined. */
  private collectRow(row: ViewRow, y: number, look: Look, rects: number[][], reds: number[], frames: number[], labels: number[]): void {
    const { columns: c, busy, on_path, path } = this.data;
    const scale = (look.width - look.left) / (look.t1 - look.t0);
    const end = row.first + row.n;
    const wide_s = BUCKET / scale;
    let i = this.data.lowerBound(row.first, end, look.t0);
    if (i > row.first) i -= 1;
    let [run_x, run_w, run_key] = [0, 0, -1];
    const flush = (): void => {
      if (run_key >= 0 && run_w > 0) rects[run_key]!.push(run_x, y, run_w);
      run_key = -1;
    };
    while (i < end && c.start_s[i]! < look.t1) {
      const start = c.start_s[i]!;
      const length = c.length_s[i]!;
      const x = look.left + (start - look.t0) * scale;
      if (length >= wide_s) {
        flush();
        const from = Math.max(look.left, x);
        const w = Math.min(look.width, x + length * scale) - from;
        if (w > 0) {
          const hit = look.matches === null || look.matches[c.name[i]!] === 1;
          rects[c.kind[i]! * LEVELS + (hit ? LEVELS - 1 : 0)]!.push(from, y, w > 4 ? w - 1 : w);
          if (w >= 15 && labels.length < 4 * MOST_LABELS) labels.push(i, from, y, w);
          if (path[i]! & 1) frames.push(from, y, w);
          if (i === look.selected) frames.push(from - 1, y - 1, w + 2);
        }
        i += 1;
        continue;
      }
      const column = Math.floor((x - look.left) / BUCKET);
      const until = look.t0 + ((column + 1) * BUCKET) / scale;
      let j = this.data.lowerBound(i + 1, end, until);
      if (j > i + 1 && c.length_s[j - 1]! >= wide_s) j -= 1;
      const px = look.left + column * BUCKET;
      if (px >= look.left - BUCKET) {
        const share = ((busy[j]! - busy[i]!) * scale) / BUCKET;
        const kind = this.longestKind(i, j);
        const level = look.match_count === null ? Math.min(LEVELS - 1, Math.floor(share * LEVELS)) : look.match_count[j]! > look.match_count[i]! ? LEVELS - 1 : 0;
        const key = kind * LEVELS + level;
        if (key === run_key && px <= run_x + run_w + 0.5) run_w = px + BUCKET - run_x;
        else {
          flush();
          [run_x, run_w, run_key] = [px, BUCKET, key];
        }
        if (on_path[j]! > on_path[i]!) {
          const n = reds.length;
          if (n > 0 && reds[n - 2] === y && px <= reds[n - 3]! + reds[n - 1]! + 0.5) reds[n - 1] = px + BUCKET - reds[n - 3]!;
          else reds.push(px, y, BUCKET);
        }
      }
      i = j;
    }
    flush();
  }

  /* The kind of the longest of a few boxes of a stretch. */
  private longestKind(from: number, to: number): number {
    const { kind, length_s } = this.data.columns;
    const step = Math.max(1, Math.floor((to - from) / 6));
    let [best, longest] = [from, -1];
    for (let i = from; i < to; i += step) {
      if (length_s[i]! > longest) [best, longest] = [i, length_s[i]!];
    }
    return kind[best]!;
  }

  private paintLabels(labels: number[], look: Look, p: Palette, h: number): void {
    const to = this.context;
    const c = this.data.columns;
    if (h < 11) return;
    to.font = `11px ${p.font}`;
    to.textAlign = "center";
    to.textBaseline = "middle";
    for (let i = 0; i < labels.length; i += 4) {
      const box = labels[i]!;
      const w = labels[i + 3]!;
      const name = c.names[c.name[box]!] ?? "";
      const room = Math.floor((w - 4) / 6.2);
      const words = name.length <= room ? name : room >= 4 ? `${name.slice(0, room - 1)}…` : "";
      if (words === "") continue;
      to.fillStyle = look.matches !== null && look.matches[c.name[box]!] !== 1 ? p.quiet : p.text[c.kind[box]!]!;
      to.fillText(words, labels[i + 1]! + w / 2, labels[i + 2]! + h / 2 + 0.5);
    }
  }

  /* By row of the file: its place in view, or that of the passes of its rank; -1 = none. */
  private findPlaces(rows: readonly ViewRow[]): Int32Array {
    if (this.place_rows === rows) return this.places;
    const c = this.data.columns;
    const places = new Int32Array(c.rows.length).fill(-1);
    rows.forEach((r, i) => (places[r.row] = i));
    c.rows.forEach((r, i) => {
      if (places[i]! < 0 && this.data.passes[r.of]! >= 0) places[i] = places[this.data.passes[r.of]!]!;
    });
    this.place_rows = rows;
    this.places = places;
    return places;
  }

  private paintHops(rows: readonly ViewRow[], look: Look, p: Palette): void {
    const places = this.findPlaces(rows);
    if (this.hops?.rows !== rows) this.hops = { rows, list: this.data.hops((box) => places[this.data.rowOf(box)]!) };
    const list = this.hops.list;
    const to = this.context;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle]!.until_s < look.t0) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < list.length && list[end]!.at_s <= look.t1) end += 1;
    const step = Math.max(1, Math.ceil((end - low) / MOST_HOPS));
    const middle = look.row_height / 2;
    to.strokeStyle = p.critical;
    to.lineWidth = 1.5;
    to.beginPath();
    for (let i = low; i < end; i += step) {
      const hop = list[i]!;
      to.moveTo(Math.max(look.left, this.x(look, hop.at_s)), this.y(look, hop.from) + middle);
      to.lineTo(Math.max(look.left, this.x(look, hop.until_s)), this.y(look, hop.to) + middle);
    }
    to.stroke();
  }

  private paintArrows(rows: readonly ViewRow[], look: Look, p: Palette): void {
    const { arrows, start_s, length_s } = this.data.columns;
    const order = this.data.arrowsByTime();
    const places = this.findPlaces(rows);
    const at = (i: number): number => (arrows[2 * order[i]!] === NO_BOX ? 0 : start_s[arrows[2 * order[i]!]!]!);
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(middle) < look.t0) low = middle + 1;
      else high = middle;
    }
    let end = low;
    for (high = order.length; end < high; ) {
      const middle = (end + high) >> 1;
      if (at(middle) <= look.t1) end = middle + 1;
      else high = middle;
    }
    const to = this.context;
    const step = Math.max(1, Math.ceil((end - low) / MOST_ARROWS));
    const middle = look.row_height / 2;
    to.strokeStyle = p.arrow;
    to.globalAlpha = 0.65;
    to.lineWidth = 1;
    to.beginPath();
    for (let i = low; i < end; i += step) {
      const [a, b] = [arrows[2 * order[i]!]!, arrows[2 * order[i]! + 1]!];
      if (a === NO_BOX || b === NO_BOX) continue;
      const [from, until] = [places[this.data.rowOf(a)]!, places[this.data.rowOf(b)]!];
      if (from < 0 || until < 0 || from === until) continue;
      const simulated = this.data.columns.what === "simulation";
      const [x0, x1] = [this.x(look, start_s[a]!), this.x(look, simulated ? start_s[b]! + length_s[b]! : start_s[b]!)];
      const [y0, y1] = [this.y(look, from) + middle, this.y(look, until) + middle];
      if (Math.max(y0, y1) < AXIS || Math.min(y0, y1) > look.height) continue;
      to.moveTo(x0, y0);
      to.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
    }
    to.stroke();
    to.globalAlpha = 1;
  }

  private paintNames(rows: readonly ViewRow[], first: number, last: number, look: Look, p: Palette): void {
    const to = this.context;
    to.fillStyle = p.surface;
    to.fillRect(0, AXIS, look.left, look.height);
    to.font = `12px ${p.font}`;
    to.textAlign = "right";
    to.textBaseline = "middle";
    const room = Math.floor((look.left - 10) / 6.4);
    for (let r = first; r < last; r++) {
      const row = rows[r]!;
      const y = this.y(look, r);
      if (row.leads && r > 0) {
        to.fillStyle = p.grid;
        to.fillRect(0, Math.round(y) - 1, look.width, 1);
      }
      to.fillStyle = row.leads ? p.ink : p.quiet;
      const words = row.label.length <= room ? row.label : `${row.label.slice(0, Math.max(1, Math.ceil(room / 2)))}…${row.label.slice(row.label.length - Math.max(1, Math.floor(room / 2) - 1))}`;
      if (look.row_height >= 10) to.fillText(words, look.left - 8, y + look.row_height / 2 - 0.5);
    }
  }

  private paintCursor(look: Look, p: Palette): void {
    if (look.cursor_s === null || look.cursor_s < look.t0 || look.cursor_s > look.t1) return;
    const to = this.context;
    const x = this.x(look, look.cursor_s);
    to.fillStyle = p.ink;
    to.fillRect(x - 0.5, AXIS - 4, 1.5, look.height);
    to.beginPath();
    to.moveTo(x - 5, AXIS - 8);
    to.lineTo(x + 5, AXIS - 8);
    to.lineTo(x, AXIS - 1);
    to.fill();
  }
}

/* Ticks of a span: as many digits as tell them apart. */
export function axisTime(at_s: number, span_s: number): string {
  if (at_s === 0) return "0 s";
  const [unit, word] = span_s >= 2 ? [1, "s"] : span_s >= 2e-3 ? [1e-3, "ms"] : span_s >= 2e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(span_s / unit / 20)));
  const value = at_s / unit;
  return `${value.toLocaleString("en-US", { maximumFractionDigits: Math.min(9, digits), minimumFractionDigits: 0 })} ${word}`;
}

export function boxSentence(data: TimelineData, box: number): string {
  const c = data.columns;
  const row = c.rows[data.rowOf(box)]!;
  const kind = findKind(c.kinds[c.kind[box]!] ?? "").name;
  const bytes = c.bytes[box]! > 0 ? `, ${(c.bytes[box]! / 1e6).toLocaleString("en-US", { maximumSignificantDigits: 3 })} MB` : "";
  const name = c.names[c.name[box]!] ?? "";
  const pass = c.names[row.name] === "passes";
  const what = pass ? `${kind} of micro-batch ${name}` : `${name} (${kind})`;
  return `${what}, ${data.rankLabel(row.of)}: ${time(c.length_s[box]!)} from ${time(c.start_s[box]!, 5)} on${bytes}${data.path[box]! & 1 ? ", on the critical path" : ""}`;
}
