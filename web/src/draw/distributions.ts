/* Two distributions as curves: the share of values up to a size, from their quantiles. The axis is
 * logarithmic where the values span more than a decade and a half. */

import { type Child } from "../base/dom.js";
import { percent } from "../base/format.js";
import { chart, line, logTicks, path, text, textWidth, ticks } from "./chart.js";

export interface Curves {
  name: string;
  /* quantiles from 0 to 100 %; empty: no values */
  a: readonly number[];
  b: readonly number[];
  words: (value: number) => string;
}

interface Axis {
  low: number;
  high: number;
  log: boolean;
}

function axisOf(c: Curves): Axis {
  const all = [...c.a, ...c.b];
  const positive = all.filter((v) => v > 0);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const least = Math.min(...positive);
  if (positive.length > 0 && high > 50 * least) return { low: least / 1.2, high: high * 1.2, log: true };
  if (high > low) return { low: low >= 0 && low < 0.3 * high ? 0 : low, high, log: false };
  const around = high === 0 ? 1 : Math.abs(high) * 0.1;
  return { low: low - around, high: high + around, log: false };
}

export function drawCurves(c: Curves, width: number): SVGElement {
  const axis = axisOf(c);
  const [left, top, bottom] = [38, 8, 176];
  const room = width - left - 14;
  const X = (v: number): number => left + room * (axis.log ? Math.log(Math.max(v, axis.low) / axis.low) / Math.log(axis.high / axis.low) : (v - axis.low) / (axis.high - axis.low));
  const Y = (share: number): number => bottom - share * (bottom - top);
  const marks: Child[] = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) marks.push(line(left, Y(share), width - 14, Y(share), "grid"), text(left - 6, Y(share) + 4, percent(share), { anchor: "end", kind: "quiet" }));
  const wanted = axis.log ? logTicks(axis.low, axis.high, axis.high / axis.low < 1000) : ticks(axis.low, axis.high, 4);
  let end = -Infinity;
  for (const v of wanted) {
    const half = textWidth(c.words(v), 12, 400) / 2;
    const x = Math.min(X(v), width - half);
    marks.push(line(X(v), bottom, X(v), bottom + 4, "axis"));
    if (x - half < end + 8) continue;
    marks.push(text(Math.max(x, half), bottom + 17, c.words(v), { anchor: "middle", kind: "quiet" }));
    end = x + half;
  }
  const curve = (values: readonly number[], kind: string): Child => values.length > 0 && path(values.map((v, i) => (i === 0 ? `M${X(v)} ${Y(0)}` : "") + `H${X(v)}V${Y(i / (values.length - 1))}`).join(""), kind);
  marks.push(curve(c.a, "curve a"), curve(c.b, "curve b"));
  const middle = (values: readonly number[]): string => (values.length === 0 ? "no values" : `half of the values up to ${c.words(values[Math.floor(values.length / 2)]!)}`);
  return chart(width, bottom + 24, `${c.name}, share of values up to a size. Real: ${middle(c.a)}. Synth: ${middle(c.b)}.`, marks);
}
