/* A waterfall: A, the changes by size, the rest, B. */

import { type Child, svg } from "../base/dom.js";
import { short, significant } from "../base/format.js";
import { chart, fitMiddle, line, rect, text, textWidth, ticks } from "./chart.js";

export interface Fall {
  name: string;
  by_s: number;
}

export function drawWaterfall(names: [string, string], a_s: number, b_s: number, falls: readonly Fall[], width: number): SVGElement {
  const [unit, word] = Math.max(a_s, b_s) >= 2 ? [1, "s"] : Math.max(a_s, b_s) >= 2e-3 ? [1e-3, "ms"] : [1e-6, "µs"];
  const rows = [...falls];
  const wanted = Math.max(...rows.map((f) => textWidth(f.name, 12, 400)), textWidth(names[0]), textWidth(names[1]));
  const left = Math.min(wanted + 10, width * 0.42);
  let high = Math.max(a_s, b_s);
  let at = a_s;
  for (const f of rows) {
    at += f.by_s;
    high = Math.max(high, at);
  }
  const right = 56;
  const x = (s: number): number => left + (Math.max(0, s) / high) * (width - left - right);
  const h = 20;
  const pitch = 28;
  const marks: Child[] = [];
  const bottom = (rows.length + 2) * pitch;
  for (const v of ticks(0, high / unit, width > 500 ? 5 : 3)) marks.push(line(x(v * unit), 0, x(v * unit), bottom, "grid"), text(x(v * unit), bottom + 16, v === 0 ? `0 ${word}` : short(v), { anchor: "middle", kind: "quiet" }));
  const whole = (row: number, name: string, value: number): void => {
    const y = row * pitch + 4;
    marks.push(text(left - 8, y + 14, fitMiddle(name, left - 10), { anchor: "end", kind: "strong" }), rect(left, y, x(value) - left, h, "var(--t-host)"), text(x(value) + 6, y + 14, `${significant(value / unit)} ${word}`, { kind: "strong" }));
  };
  whole(0, names[0], a_s);
  at = a_s;
  rows.forEach((f, i) => {
    const y = (i + 1) * pitch + 4;
    const [from, to] = [at, at + f.by_s];
    const worse = f.by_s > 0;
    const x0 = x(Math.min(from, to));
    const w = Math.max(1.5, Math.abs(x(to) - x(from)));
    const words = `${worse ? "+" : "−"}${significant(Math.abs(f.by_s) / unit)}`;
    marks.push(
      svg("line", { x1: x(from), x2: x(from), y1: y - (pitch - h), y2: y + h, class: "connector" }),
      text(left - 8, y + 14, fitMiddle(f.name, left - 10), { anchor: "end" }),
      svg("g", { class: "mark", tabindex: 0, role: "img", "aria-label": `${f.name}: ${words} ${word}`, tip: `${f.name}: ${words} ${word}` }, rect(x0, y, w, h, worse ? "var(--t-tp)" : "var(--t-optimizer)")),
      text(x0 + w + 6, y + 14, words),
    );
    at = to;
  });
  whole(rows.length + 1, names[1], b_s);
  const label = `From ${names[0]}, ${significant(a_s / unit)} ${word}, to ${names[1]}, ${significant(b_s / unit)} ${word}: ${rows.map((f) => `${f.name} ${f.by_s > 0 ? "+" : "−"}${significant(Math.abs(f.by_s) / unit)}`).join(", ")}`;
  return chart(width, bottom + 22, label, marks);
}
