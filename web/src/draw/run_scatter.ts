/* Published runs: predicted against measured time on logarithmic axes, or the error against it. */

import { type Child, svg } from "../base/dom.js";
import { percent, short, signed, time } from "../base/format.js";
import { chart, line, path, logTicks, text, ticks } from "./chart.js";
import { LabelPlacer } from "./labels.js";

export interface Run {
  name: string;
  measured: number;
  predicted: number;
  kind: "dense" | "experts" | "other";
}

const COLOUR = { dense: "var(--s1)", experts: "var(--s2)", other: "var(--s3)" };

function drawMark(x: number, y: number, kind: Run["kind"]): SVGElement {
  const css = { fill: COLOUR[kind] };
  if (kind === "experts") return path(`M${x} ${y - 4.5}l4.5 4.5l-4.5 4.5l-4.5-4.5z`, null, { css });
  if (kind === "other") return path(`M${x} ${y - 4.5}l4.2 7.4h-8.4z`, null, { css });
  return svg("circle", { cx: x, cy: y, r: 3.2, css });
}

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  X: (v: number) => number;
  Y: (v: number) => number;
}

function timeWords(v: number): string {
  return v < 0.0995 ? `${short(v * 1000)} ms` : short(v);
}

function drawAgreement(runs: readonly Run[], width: number, height: number): { frame: Frame; marks: Child[] } {
  const all = runs.flatMap((r) => [r.measured, r.predicted]);
  const [low, high] = [Math.min(...all) / 1.3, Math.max(...all) * 1.3];
  const f = { left: 46, right: width - 10, top: 16, bottom: height - 40 };
  const span = Math.log(high / low);
  const X = (v: number): number => f.left + (Math.log(v / low) / span) * (f.right - f.left);
  const Y = (v: number): number => f.bottom - (Math.log(v / low) / span) * (f.bottom - f.top);
  const grid = logTicks(low, high, high / low < 1e5 && width > 420);
  const band = (share: number): string => `M${X(low)} ${Y(low * (1 + share))}L${X(high / (1 + share))} ${Y(high)}L${X(high)} ${Y(high)}L${X(high)} ${Y(high * (1 - share))}L${X(low / (1 - share))} ${Y(low)}L${X(low)} ${Y(low)}z`;
  const dashed = (share: number): string => (share > 0 ? `M${X(low)} ${Y(low * (1 + share))}L${X(high / (1 + share))} ${Y(high)}` : `M${X(low / (1 + share))} ${Y(low)}L${X(high)} ${Y(high * (1 + share))}`);
  const marks: Child[] = [
    grid.map((v) => [
      line(X(v), f.top, X(v), f.bottom, "grid"),
      line(f.left, Y(v), f.right, Y(v), "grid"),
      text(X(v), f.bottom + 16, timeWords(v) + (v === grid[0] && v >= 0.0995 ? " s" : ""), { anchor: "middle", kind: "quiet" }),
      text(f.left - 6, Y(v) + 4, timeWords(v) + (v === grid[0] && v >= 0.0995 ? " s" : ""), { anchor: "end", kind: "quiet" }),
    ]),
    path(band(0.1), "band"),
    path(`${dashed(0.25)}${dashed(-0.25)}`, "soft-limit"),
    text((f.left + f.right) / 2, height - 6, "measured step time, s", { anchor: "middle" }),
    text(f.left + 6, f.top + 12, "predicted step time, s", { kind: "halo" }),
  ];
  return { frame: { ...f, X, Y }, marks };
}

function drawErrors(runs: readonly Run[], width: number, height: number): { frame: Frame; marks: Child[] } {
  const times = runs.map((r) => r.measured);
  const [low, high] = [Math.min(...times) / 1.3, Math.max(...times) * 1.3];
  const far = Math.min(1.5, Math.max(0.3, ...runs.map((r) => Math.abs(r.predicted / r.measured - 1))) * 1.1);
  const f = { left: 54, right: width - 10, top: 16, bottom: height - 40 };
  const X = (v: number): number => f.left + (Math.log(v / low) / Math.log(high / low)) * (f.right - f.left);
  const Y = (share: number): number => (f.top + f.bottom) / 2 - (Math.max(-far, Math.min(far, share)) / far) * ((f.bottom - f.top) / 2);
  const marks: Child[] = [
    logTicks(low, high, high / low < 1e5 && width > 420).map((v) => [line(X(v), f.top, X(v), f.bottom, "grid"), text(X(v), f.bottom + 16, timeWords(v), { anchor: "middle", kind: "quiet" })]),
    ticks(-far * 100, far * 100, 6).map((v) => [line(f.left, Y(v / 100), f.right, Y(v / 100), v === 0 ? "axis" : "grid"), text(f.left - 6, Y(v / 100) + 4, v === 0 ? "0 %" : signed(v / 100, 0).replace(" %", ""), { anchor: "end", kind: "quiet" })]),
    path(`M${f.left} ${Y(0.1)}H${f.right}V${Y(-0.1)}H${f.left}z`, "band"),
    text((f.left + f.right) / 2, height - 6, "measured step time, s", { anchor: "middle" }),
    text(f.left + 6, f.top + 12, "error of the prediction", { kind: "halo" }),
  ];
  return { frame: { ...f, X, Y }, marks };
}

export function drawRuns(runs: readonly Run[], view: "agreement" | "error", width: number): SVGElement {
  const height = width > 700 ? 600 : width > 560 ? 480 : 360;
  if (runs.length === 0) return chart(width, 40, "No runs", text(0, 20, "No runs are left by the filter."));
  const { frame, marks } = view === "agreement" ? drawAgreement(runs, width, height) : drawErrors(runs, width, height);
  const at = (r: Run): [number, number] => [frame.X(r.measured), frame.Y(view === "agreement" ? r.predicted : r.predicted / r.measured - 1)];
  const far = (r: Run): number => Math.abs(Math.log(r.predicted / r.measured));
  const worst = [...runs].sort((a, b) => far(b) - far(a)).slice(0, 3);
  const placer = new LabelPlacer({ x: frame.left, y: frame.top, w: frame.right - frame.left, h: frame.bottom - frame.top }, []);
  const names = worst.map((r) => {
    const [x, y] = at(r);
    const words = r.name.length > 28 ? `${r.name.slice(0, 27)}…` : r.name;
    const place = placer.place(words, x, y);
    return place && text(place.x, place.y, words, { anchor: place.anchor, kind: "halo" });
  });
  const points = runs.map((r) => {
    const [x, y] = at(r);
    const tip = `${r.name}\nmeasured ${time(r.measured)}, predicted ${time(r.predicted)}, ${signed(r.predicted / r.measured - 1)}`;
    return svg("g", { tip }, drawMark(Number(x.toFixed(1)), Number(y.toFixed(1)), r.kind));
  });
  const within = runs.filter((r) => Math.abs(r.predicted / r.measured - 1) <= 0.1).length / runs.length;
  return chart(width, height, `${runs.length} runs, predicted against measured; ${percent(within)} within 10 %`, marks, svg("g", { class: "runs" }, points), names);
}
