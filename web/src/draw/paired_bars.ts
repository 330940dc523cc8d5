/* Two values per name, side by side: shares of two sets of traces, times of two runs. */

import { type Child, svg } from "../base/dom.js";
import { chart, fitMiddle, line, rect, text, textWidth, ticks } from "./chart.js";

export interface PairedRow {
  name: string;
  a: number;
  b: number;
}

export interface PairedNames {
  a: string;
  b: string;
  /* a value in words, and in ticks */
  words: (value: number) => string;
  tick: (value: number) => string;
}

const ROW = 34;

export function drawPairedBars(rows: readonly PairedRow[], names: PairedNames, width: number): SVGElement {
  const left = Math.min(width * 0.4, Math.max(...rows.map((r) => textWidth(r.name, 12, 400)), 20) + 12);
  const most = Math.max(...rows.flatMap((r) => [r.a, r.b]), 1e-12);
  const room = Math.max(...rows.flatMap((r) => [textWidth(names.words(r.a)), textWidth(names.words(r.b))])) + 10;
  const X = (v: number): number => left + (v / most) * (width - left - room);
  const bottom = rows.length * ROW + 4;
  const marks: Child[] = ticks(0, most, width > 420 ? 5 : 3).map((v) => [line(X(v), 0, X(v), bottom, "grid"), text(X(v), bottom + 14, names.tick(v), { anchor: v === 0 ? "start" : "middle", kind: "quiet" })]);
  rows.forEach((row, i) => {
    const y = i * ROW + 4;
    const tip = `${row.name}: ${names.a} ${names.words(row.a)}, ${names.b} ${names.words(row.b)}`;
    marks.push(
      svg(
        "g",
        { class: "mark", role: "img", "aria-label": tip, tip, tabindex: rows.length <= 40 ? 0 : null },
        rect(0, y - 2, width, ROW - 4, "transparent"),
        text(left - 8, y + 17, fitMiddle(row.name, left - 10), { anchor: "end" }),
        rect(left, y, Math.max(1, X(row.a) - left), 12, "var(--s1)", { rx: 2 }),
        rect(left, y + 14, Math.max(1, X(row.b) - left), 12, "var(--s2)", { rx: 2 }),
        text(X(row.a) + 5, y + 10, names.words(row.a), { kind: "quiet" }),
        text(X(row.b) + 5, y + 24, names.words(row.b), { kind: "quiet" }),
      ),
    );
  });
  return chart(width, bottom + 20, rows.map((r) => `${r.name}: ${names.a} ${names.words(r.a)}, ${names.b} ${names.words(r.b)}`).join("; "), marks);
}
