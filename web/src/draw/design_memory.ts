/* Memory of several designs, each against the capacity of its own device. What a design keeps in
 * outer memory is drawn after what its device holds, with an open frame. */

import { type Child, svg } from "../base/dom.js";
import { bytes, percent, short } from "../base/format.js";
import { chart, fitMiddle, hatchFill, line, path, rect, text, textWidth, ticks } from "./chart.js";
import { MEMORY } from "./parts.js";

export interface DesignMemory {
  name: string;
  bytes: { [key: string]: number };
  total: number;
  /* the part of the total in outer memory; every class has the same share there */
  spilled: number;
  capacity: number;
}

/* One box per class; the part in outer memory is paler and framed. */
function drawClasses(row: DesignMemory, share: number, from: number, y: number, h: number, at: (b: number) => number, outer: boolean): Child[] {
  const marks: Child[] = [];
  let begin = from;
  for (const kind of MEMORY) {
    const size = (row.bytes[kind.key] ?? 0) * share;
    if (size < 1e6) continue;
    const room = at(begin + size) - at(begin);
    const tip = `${row.name}, ${kind.name}: ${bytes(size)}${outer ? " in outer memory" : ""}`;
    marks.push(
      svg("g", { class: "mark", role: "img", "aria-label": tip, tip }, rect(at(begin), y, room - (room > 4 && !outer ? 1 : 0), h, `var(${kind.colour})`, { class: outer ? "outer" : "" }), kind.hatch !== null && rect(at(begin), y, room, h, hatchFill(kind.hatch))),
    );
    begin += size;
  }
  return marks;
}

export function drawDesignMemory(rows: readonly DesignMemory[], width: number): SVGElement {
  const wide = width > 560;
  const left = wide ? Math.min(width / 4, Math.max(...rows.map((r) => textWidth(r.name, 12, 400))) + 14) : 0;
  const high = Math.max(...rows.map((r) => Math.max(r.total, r.capacity))) * 1.01;
  const words = rows.map((r) => (r.spilled > 0 ? `${bytes(r.total - r.spilled)} + ${bytes(r.spilled)} outer` : `${bytes(r.total)}, ${percent(r.total / r.capacity)}`));
  /* the words after a bar must fit */
  const room = Math.min(width - left - 8, ...rows.map((r, i) => ((width - left - 10 - textWidth(words[i]!, 12, 400)) * high) / Math.max(r.total, r.capacity)));
  const at = (b: number): number => left + (b / high) * room;
  const [unit, unit_name] = high > 2e12 ? [1e12, "TB"] : [1e9, "GB"];
  const h = 18;
  const marks: Child[] = [];
  let y = 6;
  rows.forEach((row, i) => {
    if (!wide) y += 16;
    marks.push(wide ? text(left - 10, y + h / 2 + 4, fitMiddle(row.name, left - 12), { anchor: "end", tip: row.name }) : text(0, y - 5, fitMiddle(row.name, width)));
    const here = row.total - row.spilled;
    marks.push(drawClasses(row, here / row.total, 0, y, h, at, false));
    if (row.spilled > 0) {
      marks.push(drawClasses(row, row.spilled / row.total, here, y, h, at, true));
      marks.push(path(`M${at(here)} ${y}H${at(row.total)}v${h}H${at(here)}z`, "outer-frame"));
    }
    if (here > row.capacity) marks.push(path(`M${at(row.capacity)} ${y - 1}H${at(row.total)}v${h + 2}H${at(row.capacity)}z`, "beyond"));
    marks.push(line(at(row.capacity), y - 4, at(row.capacity), y + h + 4, "limit", { tip: `Capacity of the device: ${bytes(row.capacity)}` }));
    marks.push(text(at(Math.max(row.total, row.capacity)) + 6, y + h / 2 + 4, words[i]!));
    y += h + 10;
  });
  const grid = ticks(0, high / unit, Math.max(3, Math.min(9, width / 110))).map((v) => [
    line(at(v * unit), 0, at(v * unit), y - 4, "grid"),
    text(at(v * unit), y + 11, v === 0 ? `0 ${unit_name}` : short(v), { anchor: v === 0 ? "start" : "middle", kind: "quiet" }),
  ]);
  const label = `Memory of ${rows.length === 1 ? "a design" : "designs"}: ` + rows.map((r, i) => `${r.name} ${words[i]!} of ${bytes(r.capacity)}`).join("; ");
  return chart(width, y + 18, label, grid, marks);
}
