/* What all figures share: the SVG element, marks, round ticks, widths of text. A figure is a
 * function of data and width that returns an SVG element; ui/figure.ts calls it again when its
 * box changes width, so text keeps its size on narrow screens. */

import { type Attributes, type Child, svg } from "../base/dom.js";

export type Figure = (width: number) => SVGElement;

/* An SVG figure. `label` is a sentence; a figure with parts that take the focus is a group. */
export function chart(width: number, height: number, label: string, ...children: Child[]): SVGElement {
  ensureHatches();
  const figure = svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    ...children,
  );
  if (figure.querySelector("[tabindex], a") !== null) figure.setAttribute("role", "group");
  return figure;
}

export type Hatch = "up" | "down" | "ink" | "cross";

export function hatchFill(hatch: Hatch): string {
  return `url(#hatch-${hatch})`;
}

/* The patterns stand once in the document, not displayed, but rendered (display: none would
 * make every figure that uses them lose its hatches). */
export function ensureHatches(): void {
  if (document.getElementById("hatch-up") !== null) return;
  const pattern = (id: Hatch, angle: number, colour: string, thick: number): SVGElement =>
    svg(
      "pattern",
      { id: `hatch-${id}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` },
      svg("rect", { width: thick, height: 6, css: { fill: `var(${colour})` } }),
    );
  const patterns = svg(
    "svg",
    { width: 0, height: 0, "aria-hidden": "true", class: "patterns", focusable: "false" },
    svg(
      "defs",
      {},
      pattern("up", 45, "--hatch", 2.2),
      pattern("down", -45, "--hatch", 2.2),
      pattern("ink", 45, "--hatch-ink", 2.2),
      pattern("cross", 0, "--hatch", 1.4),
    ),
  );
  document.body.append(patterns);
}

export function rect(x: number, y: number, w: number, h: number, paint: string, more: Attributes = {}): SVGElement {
  const css = { fill: paint, ...(more.css ?? {}) };
  return svg("rect", { x, y, width: Math.max(0, w), height: Math.max(0, h), ...more, css });
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string, more: Attributes = {}): SVGElement {
  return svg("line", { x1, y1, x2, y2, class: kind, ...more });
}

export interface TextStyle extends Attributes {
  anchor?: "start" | "middle" | "end";
  kind?: string;
}

export function text(x: number, y: number, words: string, style: TextStyle = {}): SVGElement {
  const { anchor, kind, ...more } = style;
  return svg("text", { x, y, "text-anchor": anchor, class: kind, ...more }, words);
}

export function path(d: string, kind: string | null, more: Attributes = {}): SVGElement {
  return svg("path", { d, class: kind, ...more });
}

let ruler: CanvasRenderingContext2D | null = null;
let family = "";

/* Width of a text in px at the weight of labels, to see whether it fits. */
export function textWidth(words: string, px = 12, weight = 600): number {
  if (ruler === null) {
    ruler = document.createElement("canvas").getContext("2d");
    family = getComputedStyle(document.documentElement).getPropertyValue("--sans") || "sans-serif";
  }
  if (ruler === null) return words.length * px * 0.6;
  ruler.font = `${weight} ${px}px ${family}`;
  return ruler.measureText(words).width;
}

/* The longest beginning of `words` that fits, with an ellipsis; empty if hardly anything does. */
export function fitText(words: string, room: number, px = 12): string {
  if (textWidth(words, px) <= room) return words;
  let kept = words.length;
  while (kept > 2 && textWidth(`${words.slice(0, kept)}…`, px) > room) kept -= 1;
  return kept > 2 ? `${words.slice(0, kept).trimEnd()}…` : "";
}

/* The same, but the end is kept: names of devices differ there. */
export function fitMiddle(words: string, room: number, px = 12): string {
  if (textWidth(words, px, 400) <= room) return words;
  for (let kept = words.length - 2; kept > 3; kept--) {
    const head = Math.ceil(kept * 0.5);
    const cut = `${words.slice(0, head)}…${words.slice(words.length - (kept - head))}`;
    if (textWidth(cut, px, 400) <= room) return cut;
  }
  return "";
}

/* Round ticks, 1, 2 or 5 times a power of ten, at most about `want`. */
export function ticks(low: number, high: number, want = 6): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, want);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

/* Ticks of a logarithmic axis: powers of ten, with 2 and 5 where there is room. */
export function logTicks(low: number, high: number, dense: boolean): number[] {
  const out: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const m of dense ? [1, 2, 5] : [1]) {
      const value = Number((m * 10 ** power).toPrecision(12));
      if (value >= low * 0.999 && value <= high * 1.001) out.push(value);
    }
  }
  return out;
}

/* A whisker at height y: thick = typical error, thin = bound; dashed where nothing was measured. An end
 * beyond `range` becomes an arrow. */
export function whisker(
  at: (value: number) => number,
  y: number,
  value: number,
  bar: { typical: number; bound: number; measured?: boolean },
  more: { size?: number; tip?: string; range?: [number, number] } = {},
): SVGElement {
  const size = more.size ?? 5;
  const [low, high] = more.range ?? [0, Infinity];
  const kind = bar.measured === false ? " dashed" : "";
  const clamp = (v: number): number => at(Math.min(high, Math.max(low, v)));
  const end = (v: number, sign: number): string => {
    const x = clamp(v);
    if (v >= low && v <= high) return `M${x} ${y - size / 2}v${size}`;
    return `M${x - sign * 4} ${y - 3}l${sign * 4} 3l${-sign * 4} 3`;
  };
  const [a, b] = [value * (1 - bar.typical), value * (1 + bar.typical)];
  const [c, d] = [Math.max(0, value * (1 - bar.bound)), value * (1 + bar.bound)];
  return svg(
    "g",
    { tip: more.tip },
    path(`${end(c, -1)}M${clamp(c)} ${y}H${clamp(a)}M${clamp(b)} ${y}H${clamp(d)}${end(d, 1)}`, `whisker thin${kind}`),
    path(`M${clamp(a)} ${y}H${clamp(b)}`, `whisker thick${kind}`),
  );
}
