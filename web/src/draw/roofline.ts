/* The operators of a layer under the roof of their device, one roof per value of a parameter. Both axes
 * are logarithmic; operators on the slope wait for memory. */

import { type Child, svg } from "../base/dom.js";
import { short, si, significant } from "../base/format.js";
import { chart, line, logTicks, path, text, textWidth } from "./chart.js";

export interface RoofOperator {
  name: string;
  flops: number;
  bytes: number;
  forward_s: number;
}

export interface Roof {
  name: string;
  peak: number;
  bandwidth: number;
  operators: readonly RoofOperator[];
}

const intensity = (o: RoofOperator): number => o.flops / o.bytes;
const speed = (o: RoofOperator): number => o.flops / o.forward_s;

function placeNumbers(operators: readonly RoofOperator[], x: (v: number) => number): { x: number; level: number }[] {
  const ends: number[] = [];
  const order = operators.map((o, i) => ({ i, x: x(intensity(o)) })).sort((a, b) => a.x - b.x);
  const out: { x: number; level: number }[] = [];
  for (const o of order) {
    const free = ends.findIndex((end) => end <= o.x - 9);
    const level = free < 0 ? ends.length : free;
    ends[level] = o.x + 9;
    out[o.i] = { x: o.x, level };
  }
  return out;
}

export function drawRoofline(roofs: readonly Roof[], width: number): SVGElement {
  const operators = roofs.flatMap((r) => r.operators);
  const xs = [...operators.map(intensity), ...roofs.map((r) => (r.peak / r.bandwidth) * 1.5)];
  const ys = [...operators.map(speed), ...roofs.map((r) => r.peak)];
  const [x0, x1] = [Math.min(...xs) / 1.6, Math.max(...xs) * 1.6];
  const [y0, y1] = [Math.min(...ys) / 1.6, Math.max(...ys) * 1.15];
  const left = Math.max(...logTicks(y0, y1, true).map((v) => textWidth(si(v, "FLOP/s", 2), 12, 400)), 40) + 12;
  const numbers = (x: (v: number) => number): { x: number; level: number }[] => placeNumbers(roofs[roofs.length - 1]!.operators, x);
  const x = (v: number): number => left + (Math.log(v / x0) / Math.log(x1 / x0)) * (width - left - 10);
  const placed = numbers(x);
  const top = 26 + 13 * (1 + Math.max(0, ...placed.map((p) => p.level)));
  const bottom = top + (width > 560 ? 260 : 220);
  const y = (v: number): number => bottom - (Math.log(v / y0) / Math.log(y1 / y0)) * (bottom - top);
  const marks: Child[] = [];
  for (const v of logTicks(y0, y1, true)) marks.push(line(left, y(v), width, y(v), "grid"), text(left - 6, y(v) + 4, si(v, "FLOP/s", 2).replace(/\.0 /, " "), { anchor: "end", kind: "quiet" }));
  for (const v of logTicks(x0, x1, x1 / x0 < 300 && width > 460)) marks.push(line(x(v), top, x(v), bottom, "grid"), text(x(v), bottom + 15, short(v), { anchor: "middle", kind: "quiet" }));
  marks.push(text(0, 12, "attained, forward"), text(width, bottom + 32, "FLOP per byte of memory traffic →", { anchor: "end" }));
  const used: { x: number; y: number; end: number }[] = [];
  for (const r of roofs) {
    const from = Math.max(x0, y0 / r.bandwidth);
    const ridge = r.peak / r.bandwidth;
    const tip = `Roof of ${r.name}: flat from ${significant(ridge)} FLOP per byte on, at ${si(r.peak, "FLOP/s")}`;
    marks.push(path(`M${x(from)} ${y(from * r.bandwidth)}L${x(Math.max(from, ridge))} ${y(r.peak)}H${x(x1)}`, "roof", { tip }));
    /* the name is drawn under the slope, lower if another is there */
    const middle = from * (Math.max(from, ridge) / from) ** 0.3;
    const wide = textWidth(r.name, 12, 400);
    const foot = { x: Math.min(x(middle) + 6, width - wide - 2), y: y(middle * r.bandwidth) + 13, end: 0 };
    foot.end = foot.x + wide;
    while (used.some((u) => Math.abs(u.y - foot.y) < 13 && u.x < foot.end + 4 && foot.x < u.end + 4)) foot.y += 13;
    used.push(foot);
    if (foot.y < bottom - 2) marks.push(text(foot.x, foot.y, r.name, { kind: "quiet halo" }));
  }
  roofs.forEach((r) =>
    r.operators.forEach((o, k) => {
      const tip = `${k + 1} ${o.name}, ${r.name}: ${si(speed(o), "FLOP/s")}, ${significant(intensity(o))} FLOP per byte`;
      marks.push(svg("circle", { cx: x(intensity(o)), cy: y(speed(o)), r: 4, class: "roof-dot", tip }));
    }),
  );
  placed.forEach((p, k) => marks.push(text(p.x, top - 8 - 13 * p.level, String(k + 1), { anchor: "middle", kind: "strong" })));
  const label = `Operators under the roofline for ${roofs.map((r) => r.name).join(", ")}`;
  return chart(width, bottom + 38, label, marks);
}

/* "1 query, key, value: 410 FLOP per byte, 210 to 480 TFLOP/s" */
export function describeOperators(roofs: readonly Roof[]): string[] {
  return (roofs[0]?.operators ?? []).map((o, k) => {
    const all = roofs.map((r) => r.operators[k]).filter((r): r is RoofOperator => r !== undefined).map(speed);
    const range = [Math.min(...all), Math.max(...all)].map((v) => si(v, "FLOP/s"));
    return `${o.name}: ${significant(intensity(o))} FLOP per byte, ${range[0] === range[1] ? range[0]! : range.join(" to ")}`;
  });
}
