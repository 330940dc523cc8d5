/* Memory per pipeline stage against the capacity of the device, with its headroom. */

import { type Child, svg } from "../base/dom.js";
import { bytes, percent, short } from "../base/format.js";
import { chart, hatchFill, line, path, rect, text, textWidth, ticks } from "./chart.js";
import { MEMORY } from "./parts.js";

export interface MemoryRow {
  name: string;
  bytes: { [key: string]: number };
  total: number;
  /* the part of the total in outer memory; every class has the same share there */
  spilled?: number;
}

export interface Capacity {
  bytes: number;
  headroom: number;
}

const MAX_ROWS = 16;

/* With many stages, the first, the last and the fullest of each run of equals are drawn. */
export function chooseStages(rows: readonly MemoryRow[]): { rows: MemoryRow[]; left_out: number } {
  if (rows.length <= MAX_ROWS) return { rows: [...rows], left_out: 0 };
  const fullest = rows.reduce((best, r, i) => (r.total > rows[best]!.total ? i : best), 0);
  const keep = new Set<number>([0, rows.length - 1, fullest]);
  const step = rows.length / (MAX_ROWS - 3);
  for (let i = 0; keep.size < MAX_ROWS && i < MAX_ROWS; i++) keep.add(Math.min(rows.length - 1, Math.floor(i * step)));
  const kept = [...keep].sort((a, b) => a - b).map((i) => rows[i]!);
  return { rows: kept, left_out: rows.length - kept.length };
}

/* The wider part of a mark that the lines of the headroom do not cross. */
function labelRoom(from: number, to: number, usable: number, capacity: number): [number, number] {
  const before: [number, number] = [from, Math.min(to, Math.max(from, usable))];
  const after: [number, number] = [Math.max(from, Math.min(to, capacity)), to];
  if (to <= usable || from >= capacity) return [from, to];
  return before[1] - before[0] >= after[1] - after[0] ? before : after;
}

function drawRow(row: MemoryRow, y: number, h: number, at: (b: number) => number, labelled: boolean, limit: Capacity): Child[] {
  const marks: Child[] = [];
  const here = row.total - (row.spilled ?? 0);
  let begin = 0;
  for (const kind of MEMORY) {
    const size = (row.bytes[kind.key] ?? 0) * (here / row.total);
    if (size < 1e6) continue;
    const room = at(begin + size) - at(begin);
    const free = labelRoom(at(begin), at(begin) + room, at(limit.bytes * (1 - limit.headroom)), at(limit.bytes));
    const label = labelled ? ([kind.name, bytes(size)].find((words) => textWidth(words) + 10 <= free[1] - free[0]) ?? "") : "";
    const tip = `${row.name}, ${kind.name}: ${bytes(size)}`;
    marks.push(
      svg(
        "g",
        { class: "mark", tabindex: room > 4 && labelled ? 0 : null, role: "img", "aria-label": tip, tip },
        rect(at(begin), y, room - (room > 4 ? 1 : 0), h, `var(${kind.colour})`),
        kind.hatch !== null && rect(at(begin), y, room, h, hatchFill(kind.hatch)),
        label !== "" && text((free[0] + free[1]) / 2, y + h / 2 + 4, label, { anchor: "middle", kind: `${kind.tone === "dark" ? "on-dark" : "on-light"} label` }),
      ),
    );
    begin += size;
  }
  if (here < row.total) {
    const tip = `${row.name}: ${bytes(row.total - here)} in outer memory`;
    marks.push(svg("g", { class: "mark", role: "img", "aria-label": tip, tip }, rect(at(here), y, at(row.total) - at(here), h, "var(--m-buffers)", { class: "outer" }), path(`M${at(here)} ${y}H${at(row.total)}v${h}H${at(here)}z`, "outer-frame"), labelled && textWidth("outer memory") + 10 < at(row.total) - at(limit.bytes) && text((Math.max(at(here), at(limit.bytes)) + at(row.total)) / 2, y + h / 2 + 4, "outer memory", { anchor: "middle", kind: "strong" })));
  }
  if (here > limit.bytes) {
    marks.push(path(`M${at(limit.bytes)} ${y - 1}H${at(row.total)}v${h + 2}H${at(limit.bytes)}z`, "beyond"));
  }
  return marks;
}

export function drawMemoryBars(all: readonly MemoryRow[], capacity: Capacity, width: number): SVGElement {
  const { rows } = chooseStages(all);
  const names = Math.max(...rows.map((r) => textWidth(r.name, 12, 400)));
  const left = names + 12;
  const top = 38;
  const h = rows.length > 8 ? 14 : rows.length > 4 ? 18 : rows.length > 2 ? 30 : rows.length > 1 ? 48 : 80;
  const gap = rows.length > 8 ? 4 : 6;
  const bottom = top + rows.length * (h + gap);
  const high = Math.max(capacity.bytes * 1.06, ...rows.map((r) => r.total)) * 1.02;
  const at = (b: number): number => left + (b / high) * (width - left - 6);
  const usable = capacity.bytes * (1 - capacity.headroom);
  const marks: Child[] = [];
  const [unit, unit_name] = high > 2e12 ? [1e12, "TB"] : [1e9, "GB"];
  for (const v of ticks(0, high / unit, width > 460 ? 6 : 4)) {
    const x = at(v * unit);
    marks.push(line(x, top - 4, x, bottom, "grid"));
    marks.push(text(x, bottom + 14, v === 0 ? `0 ${unit_name}` : short(v), { anchor: v === 0 ? "start" : "middle", kind: "quiet" }));
  }
  const hatched = `Headroom ${percent(capacity.headroom, 0)}: kept free for fragmentation and communication buffers`;
  marks.push(rect(at(usable), top - 4, at(capacity.bytes) - at(usable), bottom - top + 4, hatchFill("ink"), { tip: hatched }));
  rows.forEach((row, i) => {
    const y = top + i * (h + gap);
    marks.push(text(left - 8, y + h / 2 + 4, row.name, { anchor: "end" }));
    marks.push(drawRow(row, y, h, at, i === 0, capacity));
  });
  const words = `capacity ${bytes(capacity.bytes)}`;
  const anchor = at(capacity.bytes) - textWidth(words) < 0 ? "start" : "end";
  marks.push(
    line(at(capacity.bytes), top - 20, at(capacity.bytes), bottom + 2, "limit"),
    line(at(usable), top - 4, at(usable), bottom, "soft-limit"),
    text(Math.min(at(capacity.bytes), width - 2), top - 24, words, { anchor, kind: "strong" }),
    text(at(usable), top - 8, `headroom ${percent(capacity.headroom)}`, { anchor: "end", kind: "quiet" }),
  );
  const label = `Memory by stage, of ${bytes(capacity.bytes)}: ` + rows.map((r) => `${r.name} ${bytes(r.total)}`).join(", ");
  return chart(width, bottom + 20, label, marks);
}
