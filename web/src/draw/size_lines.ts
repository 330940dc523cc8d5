/* Times by size of a message, one or two series, both axes logarithmic. */

import { type Child, svg } from "../base/dom.js";
import { bytes, short, time } from "../base/format.js";
import { chart, line, logTicks, path, text, textWidth } from "./chart.js";

export interface SizeSeries {
  name: string;
  /* seconds by size; null = unknown */
  times: readonly (number | null)[];
}

const LOOK = [
  { colour: "var(--t-matmul)", dash: "" },
  { colour: "var(--t-tp)", dash: "6 4" },
];

function sizeWords(size: number): string {
  const mib = size / 1048576;
  return mib >= 1024 ? `${short(mib / 1024)} GiB` : short(mib);
}

export function drawSizeLines(title: string, sizes: readonly number[], series: readonly SizeSeries[], width: number): SVGElement {
  const known = series.flatMap((s) => s.times.filter((t): t is number => t !== null && t > 0));
  if (known.length === 0) return chart(width, 44, `${title}: unknown`, text(0, 14, title, { kind: "strong" }), text(0, 36, "unknown", { kind: "quiet" }));
  const [low, high] = [10 ** Math.floor(Math.log10(Math.min(...known))), 10 ** Math.ceil(Math.log10(Math.max(...known) * 1.0001))];
  const ends = series.map((s) => `${s.name} ${time(s.times[s.times.length - 1] ?? 0)}`);
  const left = Math.max(...logTicks(low, high, false).map((v) => textWidth(time(v, 1), 12, 400))) + 10;
  const f = { left, right: width - Math.max(...ends.map((e) => textWidth(e))) - 12, top: 30, bottom: 206 };
  const X = (i: number): number => f.left + 6 + (i / Math.max(1, sizes.length - 1)) * (f.right - f.left - 6);
  const Y = (v: number): number => f.bottom - (Math.log(v / low) / Math.log(high / low)) * (f.bottom - f.top);
  const marks: Child[] = [
    text(0, 13, title, { kind: "strong" }),
    logTicks(low, high, false).map((v) => [line(f.left, Y(v), f.right, Y(v), "grid"), text(f.left - 6, Y(v) + 4, time(v, 1), { anchor: "end", kind: "quiet" })]),
    sizes.map((s, i) => text(X(i), f.bottom + 17, sizeWords(s), { anchor: "middle", kind: "quiet" })),
    line(f.left, f.bottom, f.right, f.bottom, "axis"),
    text(f.right, f.bottom + 34, "MiB per accelerator", { anchor: "end", kind: "quiet" }),
  ];
  const labels: { y: number; words: string; colour: string }[] = [];
  series.forEach((s, k) => {
    const look = LOOK[k % LOOK.length]!;
    const points = s.times.flatMap((t, i) => (t === null || !(t > 0) ? [] : [{ x: X(i), y: Y(t), t, size: sizes[i]! }]));
    marks.push(path(`M${points.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L")}`, null, { css: { fill: "none", stroke: look.colour, "stroke-width": 2.2, "stroke-dasharray": look.dash } }));
    marks.push(points.map((p) => {
      const tip = `${s.name}: ${bytes(p.size)} per accelerator, ${time(p.t)}`;
      return svg("circle", { cx: p.x, cy: p.y, r: 4, class: "mark", tabindex: 0, role: "img", "aria-label": tip, tip, css: { fill: look.colour } });
    }));
    const last = points[points.length - 1];
    if (last !== undefined) labels.push({ y: last.y, words: `${s.name} ${time(last.t)}`, colour: look.colour });
  });
  labels.sort((a, b) => a.y - b.y).forEach((l, i) => {
    if (i > 0) l.y = Math.max(l.y, labels[i - 1]!.y + 15);
    marks.push(text(f.right + 10, l.y + 4, l.words, { css: { fill: l.colour, "font-weight": 600 } }));
  });
  return chart(width, 246, `${title} by size: ${series.map((s) => `${s.name} ${s.times.map((t, i) => `${bytes(sizes[i]!)} ${t === null ? "unknown" : time(t)}`).join(", ")}`).join("; ")}`, marks);
}
