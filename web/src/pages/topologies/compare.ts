/* A against B: what can be said of a network in numbers, the ratio, and one sentence. */

import type { Network } from "../../api/topology_types.js";
import { type Child, svg } from "../../base/dom.js";
import { count, dollars, percent, short, significant, time } from "../../base/format.js";
import { chart, rect } from "../../draw/chart.js";

export interface Compared {
  name: string;
  a: number | null;
  b: number | null;
  words: (v: number) => string;
  /* more is better, or less is; neither for sizes */
  better: "more" | "less" | "";
}

export const SIZES = [1, 4, 16, 64, 256, 1024].map((m) => m * 1048576);
const SIZE_AT = 4;

/* The bisection, and whether it is a bound or the cut of two halves. */
export function bisection(n: Network): { gbps: number; kind: string } | null {
  if (n.min_bisection_gbps !== undefined) return { gbps: n.min_bisection_gbps, kind: "" };
  if (n.bisection_gbps !== undefined) return { gbps: n.bisection_gbps, kind: "" };
  if (n.bisection_gbps_at_most !== undefined) return { gbps: n.bisection_gbps_at_most, kind: "at most" };
  if (n.half_cut_gbps !== undefined) return { gbps: n.half_cut_gbps, kind: "first half to the rest" };
  return null;
}

export function rateWords(gbps: number): string {
  return gbps >= 1e6 ? `${significant(gbps / 1e6)} Pb/s` : gbps >= 1000 ? `${significant(gbps / 1000)} Tb/s` : `${short(gbps)} Gb/s`;
}

/* Switches of the network, without those inside nodes. */
export function networkSwitches(n: Network): number {
  const inside = n.drawing?.boxes.some((b) => b.kind === "node") ? n.drawing.layers.filter((_, i) => i > 0).reduce((sum, l) => sum + (n.drawing!.boxes[l.first_box]?.kind === "switch" ? l.n : 0), 0) : null;
  return inside ?? n.devices["switch"] ?? 0;
}

export function networkCables(n: Network): number {
  return n.links + n.one_way_links - (n.drawing?.node_cables ?? 0);
}

export function compareRows(a: Network, b: Network | null): Compared[] {
  const both = (name: string, get: (n: Network) => number | null | undefined, words: (v: number) => string, better: Compared["better"]): Compared => ({ name, a: get(a) ?? null, b: (b && get(b)) ?? null, words, better });
  return [
    both("Accelerators", (n) => n.devices["npu"] ?? 0, count, ""),
    both("Switches", networkSwitches, count, "less"),
    both("Cables", networkCables, count, "less"),
    both("Diameter, links", (n) => n.diameter_hops, count, "less"),
    both("Bisection", (n) => bisection(n)?.gbps, rateWords, "more"),
    both("Network cost", (n) => n.cost_usd?.total, dollars, "less"),
    both("Network cost per accelerator", (n) => n.cost_usd?.per_npu, dollars, "less"),
    both("All-reduce, 256 MiB", (n) => n.collective_times?.[SIZE_AT]?.all_reduce_s, time, "less"),
    both("All-to-all, 256 MiB", (n) => n.collective_times?.[SIZE_AT]?.all_to_all_s, time, "less"),
  ];
}

/* B ÷ A in words. */
export function ratioWords(row: Compared): string {
  if (row.a === null || row.b === null) return "–";
  if (row.a === row.b || (row.a > 0 && Math.abs(row.b / row.a - 1) < 0.005)) return "equal";
  return row.a === 0 ? "–" : `${significant(row.b / row.a)} ×`;
}

/* A bar from the middle: green where B is better, orange where it is worse. */
export function drawRatio(row: Compared, most: number, width: number): SVGElement {
  const log = row.a !== null && row.b !== null && row.a > 0 && row.b > 0 ? Math.log2(row.b / row.a) / most : 0;
  const good = row.better === "" ? "var(--ink-3)" : (log > 0) === (row.better === "more") ? "var(--t-optimizer)" : "var(--t-tp)";
  const [middle, far] = [width / 2, (Math.abs(log) * width) / 2 - 2];
  const marks: Child = Math.abs(log) > 0.001 && rect(log > 0 ? middle : middle - far, 3, Math.max(1, far), 10, good);
  return chart(width, 16, `${row.name}: ${ratioWords(row)}`, marks, svg("line", { x1: middle, y1: 0, x2: middle, y2: 16, class: "axis" }));
}

export function largestRatio(rows: readonly Compared[]): number {
  return Math.max(1, ...rows.map((r) => (r.a !== null && r.b !== null && r.a > 0 && r.b > 0 ? Math.abs(Math.log2(r.b / r.a)) : 0)));
}

function speedWords(ratio: number): string {
  if (Math.abs(ratio - 1) < 0.01) return "as fast";
  return ratio > 1 ? `${significant(ratio, 2)} times as slow` : `${significant(1 / ratio, 2)} times as fast`;
}

export function compareSentence(rows: readonly Compared[]): string {
  const find = (name: string): number | null => {
    const row = rows.find((r) => r.name === name);
    return row === undefined || row.a === null || row.b === null || row.a === 0 ? null : row.b / row.a;
  };
  const [size, cost, reduce, all] = [find("Accelerators"), find("Network cost per accelerator"), find("All-reduce, 256 MiB"), find("All-to-all, 256 MiB")];
  const said = [
    size !== null && Math.abs(size - 1) > 0.005 ? `B has ${significant(size, 2)} times as many accelerators` : null,
    cost === null ? null : `B costs ${Math.abs(cost - 1) < 0.005 ? "the same" : `${percent(Math.abs(cost - 1))} ${cost < 1 ? "less" : "more"}`} per accelerator`,
    all === null ? null : `its all-to-all is ${speedWords(all)}`,
    reduce === null ? null : `its all-reduce is ${speedWords(reduce)}`,
  ].filter((w): w is string => w !== null);
  return said.length === 0 ? "Prices or rates are unknown: there is nothing to weigh." : `${said.join(", ")}.`;
}
