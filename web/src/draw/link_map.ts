/* The topology with the use of its links at one time: nodes with their accelerators, links inside a node
 * below, network links above. Above 32 nodes a box represents several. */

import type { Columns, Dimension } from "../api/columns.js";
import { type Child, svg } from "../base/dom.js";
import { percent, si } from "../base/format.js";
import { chart, rect, text, textWidth } from "./chart.js";

export const USE_STEPS = [0.002, 0.005, 0.01, 0.05, 0.1, 0.2];
const MOST_NODES = 32;
const MOST_RAILS = 8;

export function useLevel(use: number): number {
  let level = 0;
  while (level < USE_STEPS.length && use >= USE_STEPS[level]!) level += 1;
  return level;
}

export interface LinkMap {
  figure: SVGElement;
  moveCursor(time_s: number): void;
}

interface Part {
  dimension: Dimension;
  name: string;
  /* first number of Columns.use */
  at: number;
}

/* Means of the use of NPUs [first, first + n) around a time. */
export function meanUse(c: Columns, part: Part, first: number, n: number, step: number, time_s: number): number {
  const { npus, bins, bin_s } = part.dimension;
  const bin = Math.min(bins - 1, Math.max(0, Math.floor(time_s / bin_s)));
  let [sum, counted] = [0, 0];
  for (let i = first; i < Math.min(npus, first + n); i += step) {
    sum += c.use[part.at + i * bins + bin]!;
    counted += 1;
  }
  return counted > 0 ? sum / counted : 0;
}

export function linkParts(c: Columns): Part[] {
  let at = 0;
  return c.dimensions.map((dimension) => {
    const part = { dimension, name: c.names[dimension.name] ?? "", at };
    at += dimension.npus * dimension.bins;
    return part;
  });
}

/* Links that stay inside a node. */
export function isInside(part: Part, index: number, per_node: number): boolean {
  if (/rail|leaf|spine|node|net|rack/i.test(part.name) && !/^npu-(nv|switch|xgmi|ici)/i.test(part.name)) return false;
  return per_node > 1 && (/^npu-/.test(part.name) || index === 0);
}

/* A stroke by level; what changes with the cursor is its class. */
interface Mark {
  element: SVGElement;
  use: (time_s: number) => number;
  words: string;
}

function nodeBox(x: number, y: number, w: number, h: number, words: string): Child[] {
  return [rect(x, y, w, h, "var(--surface)", { rx: 5, class: "node-box" }), text(x + w / 2, y + h - 7, words, { anchor: "middle", kind: "quiet" })];
}

export function drawLinkMap(c: Columns, width: number): LinkMap {
  const parts = linkParts(c);
  const npus = parts[0]?.dimension.npus ?? 0;
  const per_node = c.npus_per_node > 0 ? c.npus_per_node : 1;
  const nodes = Math.max(1, Math.ceil(npus / per_node));
  const room = Math.max(4, Math.min(MOST_NODES, Math.floor(width / 34)));
  const boxes = Math.min(nodes, room);
  const per_box = Math.ceil(nodes / boxes);
  const drawn = Math.ceil(nodes / per_box);
  const inside = parts.filter((p, i) => isInside(p, i, per_node));
  const outside = parts.filter((p, i) => !isInside(p, i, per_node));
  const rails = outside.length > 0 ? Math.min(per_node, width > 500 ? MOST_RAILS : 4) : 0;
  const gap = 6;
  const w = (width - gap * (drawn - 1)) / drawn;
  const [hub_y, hub_h, box_y, box_h] = [4, 22, outside.length > 0 ? 160 : 8, 130];
  const marks: Child[] = [];
  const live: Mark[] = [];
  const add = (element: SVGElement, words: string, use: (time_s: number) => number): void => {
    live.push({ element, use, words });
    marks.push(element);
  };
  const network = outside[outside.length - 1];
  const rail_name = /rail/.test(network?.name ?? "") ? "rail" : "network";
  const n_hubs = rail_name === "rail" ? rails : outside.length > 0 ? 1 : 0;
  const hub_x = (i: number): number => ((i + 0.5) * width) / Math.max(1, n_hubs);
  for (let b = 0; b < drawn && network !== undefined; b++) {
    const x = b * (w + gap) + w / 2;
    for (let r = 0; r < n_hubs; r++) {
      const first = b * per_box * per_node + (rail_name === "rail" ? r : 0);
      const step = rail_name === "rail" ? per_node : 1;
      const cable = svg("line", { x1: hub_x(r), y1: hub_y + hub_h, x2: x, y2: box_y, class: "cable" });
      add(cable, `${rail_name === "rail" ? `rail ${r}` : network.name}, ${boxName(b, per_box)}`, (t) => meanUse(c, network, first, per_box * per_node, step, t));
    }
  }
  for (let r = 0; r < n_hubs; r++) {
    const words = rail_name === "rail" ? `rail ${r}` : (network?.name.split("-").pop() ?? "network");
    const half = Math.min(width / n_hubs / 2 - 3, textWidth(words, 12, 400) / 2 + 10);
    marks.push(rect(hub_x(r) - half, hub_y, 2 * half, hub_h, "var(--sunken)", { rx: 5, class: "node-box" }), half * 2 > textWidth(words, 12, 400) + 4 && text(hub_x(r), hub_y + 15, words, { anchor: "middle" }));
  }
  const inner = inside[0];
  for (let b = 0; b < drawn; b++) {
    const x = b * (w + gap);
    marks.push(nodeBox(x, box_y, w, box_h, per_box > 1 && w < 40 ? "" : boxLabel(b, per_box, nodes)));
    const shown = Math.min(per_node, Math.max(1, Math.floor((w - 6) / 4)));
    for (let i = 0; i < shown; i++) {
      const at = x + 4 + ((i + 0.5) * (w - 8)) / shown;
      const npu = b * per_box * per_node + Math.floor((i * per_node) / shown);
      marks.push(svg("circle", { cx: at, cy: box_y + 12, r: Math.min(3, (w - 8) / shown / 2.4), class: "npu-dot" }));
      if (inner === undefined) continue;
      const bar = svg("line", { x1: at, y1: box_y + 18, x2: at, y2: box_y + box_h - 38, class: "cable inner" });
      add(bar, `${inner.name}, accelerator ${npu}`, (t) => meanUse(c, inner, npu, 1, 1, t));
    }
    if (inner !== undefined) {
      const hub = rect(x + 4, box_y + box_h - 36, w - 8, 12, "var(--q0)", { rx: 2, class: "hub" });
      add(hub, `${inner.name}, ${boxName(b, per_box)}, mean`, (t) => meanUse(c, inner, b * per_box * per_node, per_box * per_node, 1, t));
    }
  }
  const label = `Links of ${nodes} nodes with ${per_node} accelerators each: ${parts.map((p) => `${p.name} at ${si(p.dimension.bandwidth_Bps, "B/s")}`).join(", ")}; colour says how much of a link is in use`;
  return {
    figure: chart(width, box_y + box_h + 4, label, marks),
    moveCursor(time_s) {
      for (const mark of live) {
        const use = mark.use(time_s);
        const level = useLevel(use);
        mark.element.setAttribute("data-level", String(level));
        mark.element.dataset["tip"] = `${mark.words}: ${percent(use, use < 0.1 ? 1 : 0)} in use`;
      }
    },
  };
}

function boxName(b: number, per_box: number): string {
  return per_box === 1 ? `node ${b}` : `nodes ${b * per_box} to ${(b + 1) * per_box - 1}`;
}

function boxLabel(b: number, per_box: number, nodes: number): string {
  if (per_box === 1) return String(b);
  return `${b * per_box}–${Math.min(nodes, (b + 1) * per_box) - 1}`;
}
