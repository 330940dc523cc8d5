/* The error of the number above it, on an axis of its own: dot = this plan, diamond = another one. */

import { significant, time } from "../base/format.js";
import { svg } from "../base/dom.js";
import { chart, line, path, rect, text, ticks, whisker } from "./chart.js";

export interface Whisker {
  value: number;
  error: { typical: number; bound: number; measured?: boolean } | null;
  /* the best plan, if one is known */
  other: number | null;
}

export function drawHeroWhisker(data: Whisker, width: number): SVGElement {
  const typical = data.error?.typical ?? 0;
  const bound = Math.min(data.error?.bound ?? 0, Math.max(2.5 * typical, 0.3));
  const points = [data.value * (1 - bound), data.value * (1 + bound)];
  if (data.other !== null && data.other > data.value * 0.4 && data.other < data.value * 2.5) points.push(data.other);
  const pad = Math.max((Math.max(...points) - Math.min(...points)) * 0.08, data.value * 0.02);
  const low = Math.max(0, Math.min(...points) - pad);
  const high = Math.max(...points) + pad;
  const scale = high < 1e-3 ? [1e6, "µs"] as const : high < 1 ? [1e3, "ms"] as const : [1, "s"] as const;
  const at = (v: number): number => 8 + ((v - low) / (high - low)) * (width - 16);
  const steps = ticks(low * scale[0], high * scale[0], width > 300 ? 6 : 4);
  const other = data.other !== null && data.other >= low && data.other <= high ? data.other : null;
  const label =
    `${time(data.value)}` +
    (data.error === null ? "" : `, typically from ${time(data.value * (1 - typical))} to ${time(data.value * (1 + typical))}`) +
    (other === null ? "" : `; best plan ${time(other)}`);
  return chart(
    width,
    58,
    label,
    line(8, 32, width - 8, 32, "axis"),
    steps.map((v, i) => [
      line(at(v / scale[0]), 32, at(v / scale[0]), 36, "axis"),
      text(at(v / scale[0]), 50, `${significant(v)}${i === steps.length - 1 ? ` ${scale[1]}` : ""}`, { anchor: "middle", kind: "quiet" }),
    ]),
    data.error !== null && rect(at(data.value * (1 - typical)), 12, at(data.value * (1 + typical)) - at(data.value * (1 - typical)), 10, "var(--accent-soft)"),
    data.error !== null && whisker(at, 17, data.value, data.error, { size: 12, range: [low, high] }),
    svg("circle", { cx: at(data.value), cy: 17, r: 5.5, class: "dot" }),
    other !== null && path(`M${at(other)} 26l5 6l-5 6l-5-6z`, "best", { tip: `Best plan found: ${time(other)}` }),
  );
}

/* A whisker in a row of a table, on the scale that all rows share; the band is the best row's error. */
export function drawRowWhisker(
  value: number,
  error: { typical: number; bound: number; measured?: boolean },
  scale: { low: number; high: number; best: number },
  width: number,
): SVGElement {
  const at = (v: number): number => Math.min(width - 1, Math.max(1, ((v - scale.low) / (scale.high - scale.low)) * width));
  const typical = { ...error, bound: error.typical };
  const label = `${time(value * (1 - error.typical))} to ${time(value * (1 + error.typical))}`;
  const figure = chart(
    width,
    22,
    label,
    rect(at(scale.best * (1 - error.typical)), 0, at(scale.best * (1 + error.typical)) - at(scale.best * (1 - error.typical)), 22, "var(--sunken)"),
    whisker(at, 11, value, typical, { size: 8 }),
    svg("circle", { cx: at(value), cy: 11, r: 4, class: "dot" }),
  );
  figure.style.setProperty("width", `${width}px`);
  return figure;
}
