/* A network: layers from the bottom up, a grid, or a circle. Cables are thin and grey; the chosen
 * rail and one path are in colour. A box that represents several devices says so. */

import type { Drawing, DrawnBox, DrawnLine } from "../api/topology_types.js";
import { type Child, svg } from "../base/dom.js";
import { count, plural, significant } from "../base/format.js";
import { chart, fitMiddle, path, rect, text, textWidth } from "./chart.js";

/* A rail was chosen in the figure. */
export type ChooseRail = (rail: number) => void;

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

const IRREGULAR: { [name: string]: string } = { leaf: "leaves", switch: "switches", npu: "accelerators", nvswitch: "NVSwitches" };
const SINGULAR: { [name: string]: string } = { npu: "accelerator", nvswitch: "NVSwitch" };

/* "16 leaves", "1 spine" */
export function things(n: number, name: string): string {
  return n === 1 ? `1 ${SINGULAR[name] ?? name}` : `${count(n)} ${IRREGULAR[name] ?? `${name}${/(ch|sh|s|x)$/.test(name) ? "es" : "s"}`}`;
}

/* A device as people say it: npu3 is accelerator 3. */
export function deviceName(name: string): string {
  return name.replace(/^npu(\d+)$/, "accelerator $1").replace(/^node(\d+)$/, "node $1");
}

/* A sentence of the engine in the words of the pages. */
export function plainWords(sentence: string): string {
  const words = sentence.replace(/\bnpu(\d+)\b/g, "accelerator $1").replace(/\bNPUs\b/g, "accelerators").replace(/\bNPU\b/g, "accelerator");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/* What boxes represent, for the line above the figure. */
export function boxSentence(d: Drawing): string {
  const merged = d.layers.filter((l) => l.per_box > 1);
  if (merged.length === 0) return "";
  if (d.layout !== "layers") return `each box represents ${things(merged[0]!.per_box, merged[0]!.name)}`;
  return `each box represents ${merged.map((l) => `${things(l.per_box, l.name)}`).join(", or ")}`;
}

function boxTip(b: DrawnBox, layer: string, ports: string): string {
  const what = b.n > 1 ? `${things(b.n, layer)} from ${deviceName(b.name)}` : deviceName(b.name);
  const inside = b.kind === "node" ? `, ${things(b.npus, "npu")}` : "";
  return `${what}${inside}${b.rail === undefined ? "" : `, rail ${b.rail}`}${ports}`;
}

function lineTip(l: DrawnLine): string {
  return `${plural(l.cables, "cable")}${l.gbps === undefined ? ", rate unknown" : `, ${significant(l.gbps)} Gb/s one way`}`;
}

/* Cables of a layer to lower and to higher layers, per device. */
function countPorts(d: Drawing, layer: number): { down: number; up: number; across: number } {
  const sum = { down: 0, up: 0, across: 0 };
  for (const l of d.lines) {
    const [a, b] = [d.boxes[l.a]!.layer, d.boxes[l.b]!.layer];
    if (a === layer && b === layer) sum.across += 2 * l.cables;
    else if (a === layer) sum.up += l.cables;
    else if (b === layer) sum.down += l.cables;
  }
  const n = d.layers[layer]!.n;
  return { down: sum.down / n, up: sum.up / n, across: sum.across / n };
}

function portWords(d: Drawing, layer: number): string {
  const p = countPorts(d, layer);
  const said = (v: number, way: string): string => (v > 0 ? `${Number.isInteger(v) ? count(v) : significant(v)} ${way}` : "");
  return [said(p.down, "down"), said(p.up, "up"), d.layers[layer]!.per_box === 1 ? said(p.across, "across") : ""].filter((w) => w !== "").join(", ");
}

/* Where an end of a line is: on nodes at the place of the rail, else in the middle. */
function endOffset(d: Drawing, box: DrawnBox, other: DrawnBox, place: Place): number {
  const per_node = box.kind === "node" ? box.npus / box.n : 0;
  if (other.rail === undefined || per_node < 2 || per_node > 16 || d.rail_kind === "plane") return 0;
  return (other.rail % per_node - (per_node - 1) / 2) * Math.min(3.8, (place.w - 6) / per_node);
}

interface Layered {
  places: Place[];
  height: number;
  labels: Child[];
}

function placeLayers(d: Drawing, width: number): Layered {
  const wide = width > 640;
  const places: Place[] = [];
  const labels: Child[] = [];
  let y = 8;
  for (let i = d.layers.length - 1; i >= 0; i--) {
    const layer = d.layers[i]!;
    const nodes = d.boxes[layer.first_box]?.kind === "node";
    const across = d.lines.some((l) => d.boxes[l.a]!.layer === i && d.boxes[l.b]!.layer === i);
    const h = nodes ? (wide ? 74 : 56) : 24;
    labels.push(text(0, y + 10, `${things(layer.n, layer.name)}${i > 0 ? `: ${portWords(d, i)}` : ""}`, { kind: "strong halo" }));
    y += across ? 62 : 18;
    const step = width / layer.n_boxes;
    const w = Math.max(3, Math.min(nodes ? 46 : 76, step - (step > 12 ? 4 : 1)));
    for (let k = 0; k < layer.n_boxes; k++) places[layer.first_box + k] = { x: (k + 0.5) * step, y, w, h };
    y += h + (i > 0 ? (wide ? 74 : 56) : 0);
  }
  return { places, height: y + 22, labels };
}

function drawArc(a: Place, b: Place, kind: string, tip: string | null): SVGElement {
  const lift = Math.min(44, 10 + Math.abs(a.x - b.x) * 0.18);
  return path(`M${a.x.toFixed(1)} ${a.y}Q${((a.x + b.x) / 2).toFixed(1)} ${(a.y - 2 * lift).toFixed(1)} ${b.x.toFixed(1)} ${b.y}`, kind, { tip });
}

function drawLayerLine(d: Drawing, l: DrawnLine, at: readonly Place[], kind: string): SVGElement {
  const [a, b] = [d.boxes[l.a]!, d.boxes[l.b]!];
  const [p, q] = [at[l.a]!, at[l.b]!];
  if (a.layer === b.layer) return drawArc(p, q, kind, lineTip(l));
  const [low, high, below, above] = a.layer < b.layer ? [p, q, a, b] : [q, p, b, a];
  const x1 = low.x + endOffset(d, below, above, low);
  return path(`M${x1.toFixed(1)} ${low.y}L${high.x.toFixed(1)} ${high.y + high.h}`, kind, { tip: lineTip(l) });
}

/* The rails of a node as dots, and its switch as a bar. */
function drawInside(d: Drawing, b: DrawnBox, p: Place, rail: number): Child {
  const per_node = b.npus / b.n;
  if (b.kind !== "node" || p.w < 20) return null;
  const dots = Number.isInteger(per_node) && per_node <= 16
    ? Array.from({ length: per_node }, (_, r) => svg("circle", { cx: p.x + (r - (per_node - 1) / 2) * Math.min(3.8, (p.w - 6) / per_node), cy: p.y + 9, r: 1.7, class: r === rail && d.rails > 0 ? "rail-dot" : "dot" }))
    : null;
  return [dots, d.node_cables > 0 && rect(p.x - p.w / 2 + 3, p.y + p.h - 20, p.w - 6, 10, "var(--m-optimizer)", { rx: 2 })];
}

function boxLabel(b: DrawnBox, p: Place, rails: boolean): string {
  if (b.kind === "node") return "";
  const words = b.n > 1 ? `× ${count(b.n)}` : rails && b.rail !== undefined ? `rail ${b.rail}` : b.name.replace(/^npu(?=\d)/, "");
  return textWidth(words, 11, 400) <= p.w - 4 ? words : p.w > 40 ? fitMiddle(words, p.w - 6, 11) : "";
}

function drawBox(d: Drawing, i: number, p: Place, rail: number, choose: ChooseRail, ports: string): SVGElement {
  const b = d.boxes[i]!;
  const on = d.rails > 0 && b.rail === rail && b.n === 1;
  const label = boxLabel(b, p, d.rails > 0 && d.rail_kind === "rail" && d.boxes.filter((o) => o.rail !== undefined && o.layer === b.layer).length > 1);
  const tip = boxTip(b, d.layers[b.layer]!.name, ports);
  const pick = b.rail !== undefined && d.rails > 1 && d.boxes.length <= 96;
  const rail_now = b.rail ?? 0;
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(rail_now);
  };
  const marks: Child[] = [
    rect(p.x - p.w / 2, p.y, p.w, p.h, on ? "var(--t-matmul)" : b.kind === "switch" || b.kind === "node" ? "var(--surface)" : "var(--sunken)", { rx: Math.min(4, p.w / 3), class: "device" }),
    drawInside(d, b, p, rail),
    label !== "" && text(p.x, p.y + p.h / 2 + 4, label, { anchor: "middle", kind: on ? "on-dark small-label" : "small-label" }),
  ];
  if (!pick) return svg("g", { class: "mark", tip }, ...marks);
  return svg("g", { class: "mark", tabindex: 0, role: "button", "aria-label": `Show ${d.rail_kind ?? "rail"} ${rail_now}: ${tip}`, "aria-pressed": on, tip, on: { click: () => choose(rail_now), keydown: press } }, ...marks);
}

/* Steps at the same height above the bottom row are arcs, as their cables are. */
function drawPath(points: readonly [number, number][], floor = -1): Child {
  if (points.length < 2) return null;
  const ends = [points[0]!, points[points.length - 1]!];
  const step = ([x, y]: readonly [number, number], i: number): string => {
    const from = points[i - 1];
    if (from === undefined) return `M${x.toFixed(1)} ${y.toFixed(1)}`;
    const lift = 12 + Math.min(44, 10 + Math.abs(from[0] - x) * 0.18);
    return from[1] === y && from[0] !== x && y < floor ? `Q${((from[0] + x) / 2).toFixed(1)} ${(y - 2 * lift).toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}` : `L${x.toFixed(1)} ${y.toFixed(1)}`;
  };
  return [
    path(points.map(step).join(""), "critical route"),
    ends.map(([x, y]) => svg("circle", { cx: x, cy: y, r: 4, class: "route-end" })),
  ];
}

/* Points of the path: inside a node at the place of the accelerator, or down at its switch. */
function layerPath(d: Drawing, at: readonly Place[], per_node: number): [number, number][] {
  return (d.path?.stops ?? []).map((s) => {
    const [b, p] = [d.boxes[s.box]!, at[s.box]!];
    if (b.kind !== "node") return [p.x, p.y + p.h / 2];
    const npu = /^npu(\d+)$/.exec(s.name)?.[1];
    if (npu === undefined) return [p.x, p.y + p.h - 15];
    const shift = per_node >= 2 && per_node <= 16 && p.w >= 20 ? (Number(npu) % per_node - (per_node - 1) / 2) * Math.min(3.8, (p.w - 6) / per_node) : 0;
    return [p.x + shift, p.y + 9];
  });
}

function drawNumbers(d: Drawing, at: readonly Place[], width: number): Child {
  const layer = d.layers[0]!;
  const every = Math.max(1, Math.ceil(layer.n_boxes / (width > 640 ? 8 : 4)));
  return Array.from({ length: layer.n_boxes }, (_, i) => {
    if (i % every !== 0) return null;
    const p = at[layer.first_box + i]!;
    return text(p.x, p.y + p.h + 14, count(i * layer.per_box), { anchor: "middle", kind: "quiet" });
  });
}

function drawLayers(d: Drawing, rail: number, width: number, choose: ChooseRail, label: string): SVGElement {
  const { places, height, labels } = placeLayers(d, width);
  const ordered = [...d.lines].sort((a, b) => (a.on_rail ?? 0) - (b.on_rail ?? 0));
  const lines = ordered.map((l) => drawLayerLine(d, l, places, (l.on_rail ?? 0) > 0 ? "cable on-rail" : "cable"));
  const node = d.boxes.find((b) => b.kind === "node");
  const ports = d.layers.map((_, i) => (i > 0 ? `: ${portWords(d, i)}` : ""));
  const boxes = (some: (b: DrawnBox) => boolean): Child => d.boxes.map((b, i) => some(b) && drawBox(d, i, places[i]!, rail, choose, ports[b.layer] ?? ""));
  return chart(width, height, label,
    svg("g", { class: d.lines.length > 400 ? "cables many" : "cables" }, lines),
    boxes((b) => b.kind === "node" || b.kind === "npu"),
    drawPath(layerPath(d, places, node === undefined ? 0 : node.npus / node.n), d.boxes[0]?.kind === "node" ? places[0]!.y : Infinity),
    boxes((b) => b.kind !== "node" && b.kind !== "npu"),
    drawNumbers(d, places, width), labels);
}

function drawGrid(d: Drawing, width: number, label: string): SVGElement {
  const nx = Math.max(...d.boxes.map((b) => b.x)) + 1;
  const ny = Math.max(...d.boxes.map((b) => b.y)) + 1;
  const step = Math.min(66, (width - 48) / nx, Math.max(28, 440 / ny));
  const left = (width - step * nx) / 2;
  const [w, h] = [step * 0.6, Math.min(24, step * 0.5)];
  const at = d.boxes.map((b) => ({ x: left + (b.x + 0.5) * step, y: 26 + (b.y + 0.5) * step, w, h }));
  const stub = (p: Place, dx: number, dy: number): string => `M${p.x.toFixed(1)} ${p.y.toFixed(1)}l${(dx * step * 0.48).toFixed(1)} ${(dy * step * 0.48).toFixed(1)}`;
  const connect = (a: number, b: number, kind: string, tip: string | null): SVGElement => {
    const [p, q] = [d.boxes[a]!, d.boxes[b]!];
    const [dx, dy] = [q.x - p.x, q.y - p.y];
    const wraps = (nx > 2 && Math.abs(dx) === nx - 1) || (ny > 2 && Math.abs(dy) === ny - 1) || (dx !== 0 && dy !== 0);
    if (wraps) {
      const [sx, sy] = Math.abs(dy) > Math.abs(dx) ? [0, -Math.sign(dy)] : [-Math.sign(dx), 0];
      return path(stub(at[a]!, sx, sy) + stub(at[b]!, -sx, -sy), `${kind} wrap`, { tip });
    }
    if (Math.abs(dx) + Math.abs(dy) === 1) return path(`M${at[a]!.x} ${at[a]!.y}L${at[b]!.x} ${at[b]!.y}`, kind, { tip });
    const bend = dy === 0 ? [0, -0.35 * step] : [0.35 * step, 0];
    return path(`M${at[a]!.x} ${at[a]!.y}Q${(at[a]!.x + at[b]!.x) / 2 + bend[0]!} ${(at[a]!.y + at[b]!.y) / 2 + bend[1]!} ${at[b]!.x} ${at[b]!.y}`, kind, { tip });
  };
  const stops = d.path?.stops ?? [];
  const route = stops.slice(1).map((s, i) => (s.box === stops[i]!.box ? null : connect(stops[i]!.box, s.box, "critical route", null)));
  const ends = stops.length > 0 ? [stops[0]!, stops[stops.length - 1]!].map((s) => svg("circle", { cx: at[s.box]!.x, cy: at[s.box]!.y - h / 2, r: 4, class: "route-end" })) : null;
  return chart(width, step * ny + 56, label, text(0, 12, things(d.layers[0]!.n, "npu"), { kind: "strong halo" }),
    svg("g", { class: "cables" }, d.lines.map((l) => connect(l.a, l.b, "cable dense", lineTip(l)))), svg("g", {}, route),
    d.boxes.map((_, i) => drawBox(d, i, { ...at[i]!, y: at[i]!.y - h / 2 }, -1, () => undefined, "")), ends);
}

function drawCircle(d: Drawing, width: number, label: string): SVGElement {
  const radius = Math.min(width / 2 - 40, 220);
  const n = d.boxes.length;
  const w = Math.min(62, Math.max(10, (2 * Math.PI * radius) / n - 6));
  const at = d.boxes.map((_, i) => {
    const angle = (2 * Math.PI * i) / n - Math.PI / 2;
    return { x: width / 2 + radius * Math.cos(angle), y: radius + 40 + radius * Math.sin(angle) - 11, w, h: 22 };
  });
  const middle = (i: number): [number, number] => [at[i]!.x, at[i]!.y + 11];
  const lines = d.lines.map((l) => path(`M${middle(l.a).join(" ")}L${middle(l.b).join(" ")}`, "cable dense", { tip: lineTip(l) }));
  return chart(width, 2 * radius + 76, label, text(0, 12, things(d.layers[0]!.n, d.layers[0]!.name), { kind: "strong halo" }),
    svg("g", { class: "cables" }, lines), drawPath((d.path?.stops ?? []).map((s) => middle(s.box))),
    d.boxes.map((_, i) => drawBox(d, i, at[i]!, -1, () => undefined, "")));
}

export function drawNetwork(d: Drawing, name: string, rail: number, width: number, choose: ChooseRail = () => undefined): SVGElement {
  const label = `${name}: ${[...d.layers].reverse().map((l) => things(l.n, l.name)).join(", ")}${d.path === undefined ? "" : `; path over ${d.path.stops.map((s) => deviceName(s.name)).join(", ")}`}`;
  if (d.layout === "grid") return drawGrid(d, width, label);
  return d.layout === "circle" ? drawCircle(d, width, label) : drawLayers(d, rail, width, choose, label);
}
