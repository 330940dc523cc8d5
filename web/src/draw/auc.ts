/* How well attacks tell members from others: area under the curve with its interval, 0 to 1; the line at
 * one half is a coin. */

import { type Child, svg } from "../base/dom.js";
import { short } from "../base/format.js";
import { chart, line, text } from "./chart.js";

export interface AucRow {
  name: string;
  auc: number;
  low: number;
  high: number;
}

export function drawAuc(rows: readonly AucRow[], width: number): SVGElement {
  const X = (v: number): number => 8 + v * (width - 16);
  const bottom = 8 + rows.length * 42;
  const marks: Child[] = [0, 0.25, 0.5, 0.75, 1].map((v) => [
    line(X(v), 4, X(v), bottom, v === 0.5 ? "limit" : "grid"),
    text(X(v), bottom + 15, short(v), { anchor: v === 0 ? "start" : v === 1 ? "end" : "middle", kind: "quiet" }),
  ]);
  rows.forEach((row, i) => {
    const y = 34 + i * 42;
    const words = `${row.auc.toFixed(3)} (${row.low.toFixed(3)} to ${row.high.toFixed(3)})`;
    const tip = `${row.name}: ${words}`;
    marks.push(
      svg("g", { class: "mark", role: "img", tabindex: 0, "aria-label": tip, tip },
        text(X(0), y - 12, row.name, { kind: "strong halo" }), text(X(1), y - 12, words, { anchor: "end", kind: "halo" }),
        line(X(row.low), y, X(row.high), y, "auc"), svg("circle", { cx: X(row.auc), cy: y, r: 5, class: "auc-dot" })),
    );
  });
  return chart(width, bottom + 20, rows.map((r) => `${r.name}: ${r.auc.toFixed(3)}`).join("; "), marks);
}
