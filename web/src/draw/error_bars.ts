/* Errors of named groups of runs: bar = mean, line to the 90th percentile, number of runs; a group
 * without a run is hatched. */

import { type Child, svg } from "../base/dom.js";
import { count, percent, plural } from "../base/format.js";
import { chart, fitMiddle, hatchFill, line, path, rect, text, textWidth, ticks } from "./chart.js";

export interface ErrorRow {
  key: string;
  name: string;
  /* null = no run */
  mean: number | null;
  p90: number | null;
  runs: number;
  colour: string;
  selected: boolean;
}

const ROW = 23;

export function drawErrorBars(rows: readonly ErrorRow[], width: number, choose: (key: string) => void): SVGElement {
  const left = Math.min(width * 0.42, Math.max(...rows.map((r) => textWidth(r.name, 12, 400))) + 12);
  const right = width - 92;
  const means = rows.map((r) => r.mean ?? 0);
  const ends = rows.map((r) => r.p90 ?? 0).sort((a, b) => a - b);
  const high = Math.max(0.02, Math.max(...means) * 1.1, ends[Math.floor(ends.length * 0.8)] ?? 0);
  const X = (v: number): number => left + (Math.min(v, high) / high) * (right - left);
  const bottom = rows.length * ROW + 4;
  const marks: Child[] = ticks(0, high * 100, width > 420 ? 5 : 3).map((v) => [
    line(X(v / 100), 0, X(v / 100), bottom, "grid"),
    text(X(v / 100), bottom + 14, v === 0 ? "0 %" : String(v), { anchor: v === 0 ? "start" : "middle", kind: "quiet" }),
  ]);
  marks.push(text(width - 2, bottom + 14, "runs", { anchor: "end", kind: "quiet" }));
  rows.forEach((row, i) => marks.push(drawRow(row, i * ROW + 2, { X, left, right, width, high, choose })));
  return chart(width, bottom + 20, `Errors: ${rows.map((r) => `${r.name} ${r.mean === null ? "no run" : percent(r.mean, 1)}`).join(", ")}`, marks);
}

interface Frame {
  X: (v: number) => number;
  left: number;
  right: number;
  width: number;
  high: number;
  choose: (key: string) => void;
}

function drawRow(row: ErrorRow, y: number, f: Frame): SVGElement {
  const mid = y + ROW / 2 - 1;
  const name = text(f.left - 8, mid + 4, fitMiddle(row.name, f.left - 10), { anchor: "end", kind: row.mean === null ? "quiet" : row.selected ? "strong" : "" });
  if (row.mean === null) {
    return svg("g", { role: "img", "aria-label": `${row.name}: no run` }, name, rect(f.left, mid - 6, f.right - f.left, 12, hatchFill("ink"), { class: "beyond-limit" }), text(f.right + 6, mid + 4, "no run", { kind: "quiet" }));
  }
  const cut = row.p90 !== null && row.p90 > f.high;
  const end = row.p90 === null ? "" : cut ? `M${f.right - 5} ${mid - 4}l5 4l-5 4` : `M${f.X(row.p90)} ${mid - 4}v8`;
  const tip = `${row.name}: mean error ${percent(row.mean, 1)}${row.p90 === null ? "" : `, nine in ten within ${percent(row.p90, 1)}`}, ${plural(row.runs, "run")}${row.selected ? "; shown alone" : "; click to show alone"}`;
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      f.choose(row.key);
    }
  };
  return svg(
    "g",
    { class: `mark${row.selected ? " chosen" : ""}`, tabindex: 0, role: "button", "aria-pressed": String(row.selected), "aria-label": tip, tip, on: { click: () => f.choose(row.key), keydown: press } },
    rect(0, y, f.width, ROW, row.selected ? "var(--accent-soft)" : "transparent"),
    name,
    rect(f.left, mid - 7, Math.max(1, f.X(row.mean) - f.left), 14, `var(${row.colour})`, { rx: 2 }),
    row.p90 !== null && path(`M${f.X(row.mean)} ${mid}H${f.X(row.p90)}${end}`, "whisker thin"),
    text(f.right + 6, mid + 4, percent(row.mean, 1), { kind: "strong" }),
    text(f.width - 2, mid + 4, count(row.runs), { anchor: "end", kind: "quiet" }),
  );
}
