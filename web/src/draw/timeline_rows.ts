/* Which rows of a file of columns are drawn, and what the painter must find fast: sums of time and
 * counts before each box, so that any stretch of a row is summed up in two look-ups. */

import { type Columns, NO_BOX } from "../api/columns.js";

export interface ViewRow {
  /* index of Columns.rows */
  row: number;
  first: number;
  n: number;
  label: string;
  /* first row of its rank: a line and the name of the rank stand above it */
  leads: boolean;
  of: number;
}

export interface Hop {
  from: number;
  to: number;
  at_s: number;
  until_s: number;
}

export class TimelineData {
  readonly busy: Float64Array;
  readonly on_path: Uint32Array;
  /* boxes on the critical path: those of the file, and passes that hold one */
  readonly path: Uint8Array;
  readonly has_passes: boolean;
  /* by rank entry: the row of its passes, or -1 */
  readonly passes: Int32Array;
  private readonly row_first: Uint32Array;
  /* arrows by start */
  private arrow_order: Uint32Array | null = null;

  constructor(readonly columns: Columns) {
    const n = columns.start_s.length;
    this.row_first = Uint32Array.from(columns.rows, (r) => r.first);
    this.passes = new Int32Array(columns.ranks.length).fill(-1);
    columns.rows.forEach((r, i) => {
      if (columns.names[r.name] === "passes" && this.passes[r.of]! < 0) this.passes[r.of] = i;
    });
    this.has_passes = this.passes.some((p) => p >= 0);
    this.path = Uint8Array.from(columns.flags);
    if (this.has_passes) this.markPasses();
    this.busy = new Float64Array(n + 1);
    this.on_path = new Uint32Array(n + 1);
    for (let i = 0; i < n; i++) {
      this.busy[i + 1] = this.busy[i]! + columns.length_s[i]!;
      this.on_path[i + 1] = this.on_path[i]! + (this.path[i]! & 1);
    }
  }

  /* Passes in which a step of the path runs. */
  private markPasses(): void {
    const c = this.columns;
    for (let i = 0; i < c.path_box.length; i++) {
      const box = c.path_box[i]!;
      if (box === NO_BOX) continue;
      const pass = this.passes[c.rows[this.rowOf(box)]!.of]!;
      if (pass < 0) continue;
      const middle = (c.path_s[2 * i]! + c.path_s[2 * i + 1]!) / 2;
      const at = this.boxAt(c.rows[pass]!.first, c.rows[pass]!.n, middle);
      if (at >= 0) this.path[at] = 1;
    }
  }

  rowOf(box: number): number {
    let [low, high] = [0, this.row_first.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.row_first[middle]! <= box) low = middle;
      else high = middle - 1;
    }
    /* rows without boxes share a beginning with the next one */
    while (low + 1 < this.row_first.length && this.row_first[low + 1] === this.row_first[low] && this.columns.rows[low]!.n === 0) low += 1;
    return low;
  }

  /* First box in [from, end) that starts at `time` or later. */
  lowerBound(from: number, end: number, time: number): number {
    const start = this.columns.start_s;
    let step = 1;
    let low = from;
    while (low + step < end && start[low + step]! < time) {
      low += step;
      step *= 2;
    }
    let high = Math.min(end, low + step);
    if (low < end && start[low]! < time) low += 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /* The box of a row that runs at a time, or -1. */
  boxAt(first: number, n: number, time: number): number {
    const i = this.lowerBound(first, first + n, time + 1e-15) - 1;
    if (i < first) return -1;
    return this.columns.start_s[i]! + this.columns.length_s[i]! >= time ? i : -1;
  }

  rankLabel(of: number): string {
    const r = this.columns.ranks[of]!;
    const name = this.columns.names[r.name] ?? "";
    const rank = `rank ${r.rank}`;
    return name === "" ? rank : this.columns.ranks.length > this.stageCount() ? `${name}, ${rank}` : name;
  }

  private stages = -1;
  private stageCount(): number {
    if (this.stages < 0) this.stages = new Set(this.columns.ranks.map((r) => r.name)).size;
    return this.stages;
  }

  /* A row per rank and stream, or every row. */
  chooseRows(all: boolean): ViewRow[] {
    const c = this.columns;
    const rows: ViewRow[] = [];
    const recording = c.what === "recording";
    let last = -1;
    c.rows.forEach((r, i) => {
      if (r.n === 0) return;
      const name = c.names[r.name] ?? "";
      const stream = name.startsWith("stream");
      if (!all && this.has_passes && i !== this.passes[r.of]) return;
      if (!all && !this.has_passes && recording && !stream && r.lane > 1) return;
      if (!all && !this.has_passes && !recording && (r.lane > 0 || name === "receive")) return;
      const leads = r.of !== last;
      last = r.of;
      const own = r.lane > 0 ? `${name} · ${r.lane + 1}` : name;
      const single = c.ranks.length === 1 && recording;
      const label = !all && this.has_passes ? this.rankLabel(r.of) : single ? own : leads || !all ? `${this.rankLabel(r.of)} · ${own}` : own;
      rows.push({ row: i, first: r.first, n: r.n, label, leads, of: r.of });
    });
    return rows.length > 0 || all ? rows : this.chooseRows(true);
  }

  /* Where the critical path goes to another row. */
  hops(place: (box: number) => number): Hop[] {
    const c = this.columns;
    const hops: Hop[] = [];
    let before = -1;
    let before_row = -1;
    for (let i = 0; i < c.path_box.length; i++) {
      const box = c.path_box[i]!;
      const row = box === NO_BOX ? -1 : place(box);
      if (row >= 0 && before_row >= 0 && row !== before_row) hops.push({ from: before_row, to: row, at_s: c.path_s[2 * before + 1]!, until_s: c.path_s[2 * i]! });
      if (row >= 0) [before, before_row] = [i, row];
    }
    return hops;
  }

  /* Arrows (even places of Columns.arrows) by the start of their first box. */
  arrowsByTime(): Uint32Array {
    if (this.arrow_order === null) {
      const { arrows, start_s } = this.columns;
      const order = new Uint32Array(arrows.length / 2);
      for (let i = 0; i < order.length; i++) order[i] = i;
      const at = (i: number): number => (arrows[2 * i] === NO_BOX ? 0 : start_s[arrows[2 * i]!]!);
      order.sort((a, b) => at(a) - at(b));
      this.arrow_order = order;
    }
    return this.arrow_order;
  }
}
