/* Where the time of a step goes: a stacked bar, zero-based, parts in a fixed order, and under the
 * end of each bar its error. */

import { type Child, svg } from "../base/dom.js";
import { percent, short, time } from "../base/format.js";
import { chart, fitMiddle, hatchFill, line, rect, text, textWidth, ticks, whisker } from "./chart.js";
import { findPart, PARTS, type Part } from "./parts.js";

export interface StepRow {
  name: string;
  step_s: number;
  parts_s: { [key: string]: number };
  strong: boolean;
  error: { typical: number; bound: number; measured?: boolean } | null;
}

/* Name and time where they fit, else the time, else the share, else nothing. */
function chooseLabel(part: Part, seconds: number, step: number, room: number): string {
  const name = part.name.split(",")[0]!;
  const choices = [`${name} ${time(seconds)}`, time(seconds), percent(seconds / step)];
  return choices.find((words) => textWidth(words) + 10 <= room) ?? "";
}

/* One coloured box with hatch and label. */
export function segment(x: number, y: number, w: number, h: number, part: Pick<Part, "colour" | "hatch" | "tone">, label: string, tip: string): SVGElement {
  const wide = label === "" ? 0 : textWidth(label);
  const tone = part.tone === "dark" ? "on-dark" : "on-light";
  const plate = part.hatch !== null && wide > 0;
  return svg(
    "g",
    { class: "mark", tabindex: w > 3 ? 0 : null, role: "img", "aria-label": tip.replaceAll("\n", ", "), tip },
    rect(x, y, w, h, `var(${part.colour})`),
    part.hatch !== null && rect(x, y, w, h, hatchFill(part.hatch)),
    plate && rect(x + w / 2 - wide / 2 - 4, y + h / 2 - 8, wide + 8, 16, `var(${part.colour})`, { rx: 3 }),
    wide > 0 && text(x + w / 2, y + h / 2 + 4, label, { anchor: "middle", kind: `${tone} label` }),
  );
}

function drawRow(row: StepRow, y: number, h: number, at: (s: number) => number, several: boolean): Child[] {
  const marks: Child[] = [];
  let begin = 0;
  for (const { key } of PARTS) {
    const seconds = row.parts_s[key] ?? 0;
    if (!(seconds > row.step_s * 1e-9)) continue;
    const part = findPart(key);
    const room = at(begin + seconds) - at(begin);
    const label = row.strong ? chooseLabel(part, seconds, row.step_s, room) : "";
    const tip = `${several ? `${row.name}, ` : ""}${part.name}: ${time(seconds)}, ${percent(seconds / row.step_s, 1)} of the step\n${part.meaning}`;
    marks.push(segment(at(begin), y, room - (room > 4 ? 1 : 0), h, part, label, tip));
    begin += seconds;
  }
  return marks;
}

function describeError(row: StepRow): string {
  const { error, step_s } = row;
  if (error === null) return "";
  const range = (share: number): string => `${time(step_s * (1 - share))} to ${time(step_s * (1 + share))}`;
  return `Expected error ${percent(error.typical, 1)}: ${range(error.typical)}\nbound ${percent(error.bound, 1)}: ${range(error.bound)}`;
}

export function drawStepBars(rows: readonly StepRow[], width: number): SVGElement {
  const wide = width > 560;
  const left = wide ? Math.min(width / 4, Math.max(...rows.map((r) => textWidth(r.name))) + 14) : 0;
  const reach = (r: StepRow): number => r.step_s * (1 + Math.max(r.error?.typical ?? 0, Math.min(r.error?.bound ?? 0, 0.2)));
  const high = Math.max(...rows.map(reach)) * 1.005;
  /* the time after each bar must fit */
  const room = Math.min(width - left - 8, ...rows.map((r) => ((width - left - 10 - textWidth(time(r.step_s))) * high) / Math.max(r.step_s, 1e-12)));
  const at = (s: number): number => left + (s / high) * room;
  const marks: Child[] = [];
  let y = 4;
  for (const row of rows) {
    const h = row.strong ? 46 : 18;
    if (!wide) y += 14;
    const name = row.strong ? "strong" : "";
    marks.push(wide ? text(left - 10, y + h / 2 + 4, fitMiddle(row.name, left - 12), { anchor: "end", kind: name, tip: row.name }) : text(0, y - 4, fitMiddle(row.name, width), { kind: name }));
    marks.push(drawRow(row, y, h, at, rows.length > 2));
    if (row.error !== null) {
      marks.push(whisker(at, y + h + 7, row.step_s, row.error, { size: 7, tip: describeError(row), range: [0, high] }));
    }
    marks.push(text(at(row.step_s) + 6, y + h / 2 + 4, time(row.step_s), { kind: name }));
    y += h + 22;
  }
  const grid = ticks(0, high, Math.max(3, Math.min(9, width / 90))).map((v) => [
    line(at(v), 0, at(v), y - 2, "grid"),
    text(at(v), y + 13, v === 0 ? "0 s" : short(v), { anchor: v === 0 ? "start" : "middle", kind: "quiet" }),
  ]);
  const label = rows.map((r) => `${r.name}: ${time(r.step_s)}; ${describeParts(r)}`).join(". ");
  return chart(width, y + 20, label, grid, marks);
}

function describeParts(row: StepRow): string {
  const parts = PARTS.filter((p) => (row.parts_s[p.key] ?? 0) > row.step_s * 0.0005);
  return parts.map((p) => `${p.name} ${time(row.parts_s[p.key]!)}`).join(", ");
}
