/* Systems or designs in two quantities, both better when smaller: every point named; filled =
 * Pareto-optimal, open = beaten, cross = refused. Where the second is time × price, an error moves a
 * point along its ray. */

import { type Child, svg } from "../base/dom.js";
import { short } from "../base/format.js";
import { chart, fitMiddle, hatchFill, line, path, rect, text, textWidth, ticks } from "./chart.js";
import { LabelPlacer } from "./labels.js";

export interface ScatterPoint {
  name: string;
  x: number;
  y: number;
  kind: "front" | "open" | "refused";
  error: { typical: number; measured?: boolean } | null;
  tip: string;
  /* where a click leads; null = nowhere */
  href: string | null;
}

export interface ScatterAxis {
  name: string;
  /* what one unit of the axis is in units of the data: 86400 for days */
  scale: number;
  prefix?: string;
  limit?: { value: number; label: string };
}

export interface Scatter {
  points: readonly ScatterPoint[];
  /* all designs, unnamed */
  cloud: readonly (readonly [number, number])[];
  x: ScatterAxis;
  y: ScatterAxis;
  /* the error moves both coordinates (cost = time × price) */
  ray: boolean;
}

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  high: [number, number];
  low: [number, number];
  X: (v: number) => number;
  Y: (v: number) => number;
}

/* Axes start at 0 unless the points would crowd into a third of them. */
function axisRange(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = (high - low) * 0.12 || high * 0.2 || 1;
  return low > high * 0.66 ? [Math.max(0, low - pad), high + pad] : [0, high * 1.1 || 1];
}

function makeFrame(data: Scatter, width: number): Frame & { height: number } {
  const height = width > 700 || data.points.length > 8 ? 430 : 340;
  const xs = data.points.map((p) => p.x / data.x.scale);
  const ys = data.points.map((p) => p.y / data.y.scale);
  const [x0, x1] = axisRange(xs);
  const [y0, y1] = axisRange(ys);
  const labels = ticks(y0, y1, 5).map((v) => textWidth(short(v), 12, 400));
  const left = Math.max(30, ...labels) + 12;
  const [right, top, bottom] = [width - 14, 22, height - 44];
  return {
    height, left, right, top, bottom,
    low: [x0, y0],
    high: [x1, y1],
    X: (v) => left + ((v / data.x.scale - x0) / (x1 - x0)) * (right - left),
    Y: (v) => bottom - ((v / data.y.scale - y0) / (y1 - y0)) * (bottom - top),
  };
}

function drawAxes(data: Scatter, f: Frame, width: number, height: number): Child[] {
  const xt = ticks(f.low[0], f.high[0], width > 700 ? 10 : 5);
  const yt = ticks(f.low[1], f.high[1], 5);
  const breaks: Child[] = [];
  if (f.low[0] > 0) breaks.push(path(`M${f.left + 8} ${f.bottom - 4}l4 8m3-8l4 8`, "axis-break"));
  if (f.low[1] > 0) breaks.push(path(`M${f.left - 4} ${f.bottom - 12}l8-4m-8-3l8-4`, "axis-break"));
  return [
    xt.map((v) => [line(f.X(v * data.x.scale), f.top, f.X(v * data.x.scale), f.bottom, "grid"), text(f.X(v * data.x.scale), f.bottom + 16, short(v), { anchor: "middle", kind: "quiet" })]),
    yt.map((v) => [line(f.left, f.Y(v * data.y.scale), f.right, f.Y(v * data.y.scale), "grid"), text(f.left - 6, f.Y(v * data.y.scale) + 4, (data.y.prefix ?? "") + short(v), { anchor: "end", kind: "quiet" })]),
    line(f.left, f.bottom, f.right, f.bottom, "axis"),
    line(f.left, f.top, f.left, f.bottom, "axis"),
    text((f.left + width) / 2, height - 8, data.x.name + (f.low[0] > 0 ? " (axis cut)" : ""), { anchor: "middle" }),
    text(6, 12, data.y.name + (f.low[1] > 0 ? " (axis cut)" : "")),
    breaks,
  ];
}

function drawLimits(data: Scatter, f: Frame): Child[] {
  const marks: Child[] = [];
  const { x, y } = data;
  if (x.limit !== undefined && f.X(x.limit.value) < f.right) {
    const at = Math.max(f.left, f.X(x.limit.value));
    const near = at > f.right - 90;
    marks.push(rect(at, f.top, f.right - at, f.bottom - f.top, hatchFill("ink"), { class: "beyond-limit" }), line(at, f.top, at, f.bottom, "soft-limit"));
    marks.push(text(at + (near ? -4 : 4), f.top + 11, x.limit.label, { kind: "quiet halo", anchor: near ? "end" : "start" }));
  }
  if (y.limit !== undefined && f.Y(y.limit.value) > f.top) {
    const at = Math.min(f.bottom, f.Y(y.limit.value));
    marks.push(rect(f.left, f.top, f.right - f.left, at - f.top, hatchFill("ink"), { class: "beyond-limit" }), line(f.left, at, f.right, at, "soft-limit"));
    marks.push(text(f.right - 4, at - 4, y.limit.label, { kind: "quiet halo", anchor: "end" }));
  }
  return marks;
}

const COLOUR = { front: "var(--t-matmul)", open: "var(--ink-2)", refused: "var(--over)" };

function drawError(p: ScatterPoint, data: Scatter, f: Frame): Child {
  if (p.error === null) return null;
  const far = Math.min(p.error.typical, (f.high[0] * data.x.scale) / p.x - 1, data.ray ? (f.high[1] * data.y.scale) / p.y - 1 : Infinity);
  const near = Math.min(p.error.typical, 1 - (f.low[0] * data.x.scale) / p.x, data.ray ? 1 - (f.low[1] * data.y.scale) / p.y : Infinity);
  const y = (share: number): number => f.Y(data.ray ? p.y * (1 + share) : p.y);
  const dashed = p.error.measured === false ? { "stroke-dasharray": "2 3" } : {};
  return svg("line", { x1: f.X(p.x * (1 - near)), y1: y(-near), x2: f.X(p.x * (1 + far)), y2: y(far), css: { stroke: COLOUR[p.kind], "stroke-width": 1.3, ...dashed } });
}

function drawPoint(p: ScatterPoint, f: Frame): SVGElement {
  const [x, y] = [f.X(p.x), f.Y(p.y)];
  const colour = COLOUR[p.kind];
  const shape = p.kind === "refused"
    ? path(`M${x - 5} ${y - 5}l10 10m0-10l-10 10`, null, { css: { stroke: colour, "stroke-width": 2.5, fill: "none" } })
    : svg("circle", { cx: x, cy: y, r: 6.5, css: { fill: p.kind === "front" ? colour : "var(--surface)", stroke: colour, "stroke-width": 2 } });
  const hit = svg("circle", { cx: x, cy: y, r: 14, css: { fill: "transparent" } });
  const label = p.tip.replaceAll("\n", ", ");
  if (p.href !== null) return svg("svg:a", { href: p.href, class: "mark", "aria-label": label, tip: p.tip }, hit, shape);
  return svg("g", { class: "mark", tabindex: 0, role: "img", "aria-label": label, tip: p.tip }, hit, shape);
}

/* Steps, not slopes: between two points of the front nothing was found. */
function drawFront(points: readonly ScatterPoint[], f: Frame): Child {
  const front = points.filter((p) => p.kind === "front").sort((a, b) => a.x - b.x || b.y - a.y);
  if (front.length < 2) return null;
  return path(`M${front.map((p, i) => (i === 0 ? `${f.X(p.x)} ${f.Y(p.y)}` : `H${f.X(p.x)}V${f.Y(p.y)}`)).join("")}`, "front");
}

export function drawScatter(data: Scatter, width: number): SVGElement {
  const f = makeFrame(data, width);
  const inside = ([x, y]: readonly [number, number]): boolean => f.X(x) <= f.right && f.Y(y) >= f.top && f.X(x) >= f.left && f.Y(y) <= f.bottom;
  const cloud = data.cloud.filter(inside).map(([x, y]) => svg("circle", { cx: f.X(x).toFixed(1), cy: f.Y(y).toFixed(1), r: 2 }));
  const order = { front: 0, open: 1, refused: 2 };
  const points = [...data.points].sort((a, b) => order[a.kind] - order[b.kind]);
  const placer = new LabelPlacer({ x: f.left, y: f.top - 8, w: width - f.left, h: f.bottom - f.top + 8 }, points.map((p) => ({ x: f.X(p.x) - 8, y: f.Y(p.y) - 8, w: 16, h: 16 })));
  /* a name for which there is no room gets a letter, and stands below the figure */
  const below: string[] = [];
  const names = points.map((p) => {
    const kind = `halo ${p.kind === "front" ? "strong" : p.kind === "refused" ? "quiet" : ""}`;
    const at = placer.place(p.name, f.X(p.x), f.Y(p.y));
    if (at !== null) return text(at.x, at.y, p.name, { anchor: at.anchor, kind });
    const letter = String.fromCharCode(97 + (below.length % 26));
    below.push(`${letter}  ${p.name}`);
    const near = placer.place(letter, f.X(p.x), f.Y(p.y)) ?? { x: f.X(p.x) + 7, y: f.Y(p.y) - 7, anchor: "start" as const };
    return text(near.x, near.y, letter, { anchor: near.anchor, kind });
  });
  const columns = width > 560 ? 3 : 2;
  const legend = below.map((words, i) => text((i % columns) * (width / columns), f.height + 14 + 16 * Math.floor(i / columns), fitMiddle(words, width / columns - 8)));
  const better: Child = f.low[0] === 0 && f.low[1] === 0 && [
    path(`M${f.left + 52} ${f.bottom - 46}l-30 30m0-11v11h11`, "better"),
    text(f.left + 56, f.bottom - 48, "better", { kind: "strong halo" }),
  ];
  const label = `Scatter of ${data.points.length} points, ${data.x.name} against ${data.y.name}: ` + data.points.map((p) => `${p.name}, ${p.kind === "front" ? "Pareto-optimal" : p.kind === "refused" ? "refused" : "beaten"}`).join("; ");
  return chart(width, f.height + (below.length === 0 ? 0 : 6 + 16 * Math.ceil(below.length / columns)), label, drawAxes(data, f, width, f.height), drawLimits(data, f),
    svg("g", { class: "cloud", "aria-hidden": "true" }, cloud), drawFront(points, f), better,
    points.map((p) => drawError(p, data, f)), points.map((p) => drawPoint(p, f)), names, legend);
}
