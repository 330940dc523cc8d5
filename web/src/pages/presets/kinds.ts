/* What is shown of each kind of preset: columns of its table, rows side by side. */

import { big, count, percent, short, si, significant, time } from "../../base/format.js";
import type { Preset, PresetValue } from "./values.js";

export interface Quantity {
  name: string;
  /* in the head of the table, with the unit of its numbers */
  column: string;
  get: (p: Preset) => PresetValue | undefined;
  /* with its unit */
  words: (v: number) => string;
  /* in the table, where the column has the unit; null: words as the file has them */
  cell?: (v: number) => string;
  /* text instead of a number */
  text?: boolean;
}

export interface PresetKind {
  kind: string;
  tab: string;
  noun: string;
  quantities: readonly Quantity[];
  /* chosen at first */
  start: readonly string[];
  /* parameters of Plan's address that opening it sets */
  open: ((p: Preset) => { [key: string]: string }) | null;
}

const tera = (v: number): string => short(v / 1e12, 4);
const giga = (v: number): string => short(v / 1e9, 4);

function value(name: string, column: string, key: string | RegExp, words: (v: number) => string, cell: (v: number) => string): Quantity {
  return { name, column, get: (p) => (typeof key === "string" ? p.get(key) : p.find(key)), words, cell };
}

function label(name: string, key: string | RegExp): Quantity {
  return { name, column: name, get: (p) => (typeof key === "string" ? p.get(key) : p.find(key)), words: String, text: true };
}

const DOLLARS = (v: number): string => `$${count(v)}`;

export const KINDS: readonly PresetKind[] = [
  {
    kind: "npu", tab: "Accelerators", noun: "accelerator", start: ["h100-sxm-80gb", "gb200-186gb", "mi300x", "tpu-v5p"], open: null,
    quantities: [
      value("Peak, bf16", "bf16, TFLOP/s", "peak.bf16", (v) => si(v, "FLOP/s"), tera),
      value("Peak, 8 bit", "8 bit, TFLOP/s", /^peak\.(fp8|int8)$/, (v) => si(v, "FLOP/s"), tera),
      value("Memory", "memory, GB", /^memory\.[^.]+\.capacity$/, (v) => si(v, "B"), giga),
      value("Memory bandwidth", "memory, TB/s", /^memory\.[^.]+\.bandwidth$/, (v) => si(v, "B/s"), tera),
      value("Matmul, share of peak", "matmul, share of peak", "gemm.efficiency", (v) => percent(v), (v) => percent(v)),
      value("Power", "power, W", "power", (v) => `${count(v)} W`, count),
      value("Price", "price, $", "price", DOLLARS, count),
      { name: "Published runs", column: "published runs", get: (p) => (p.runs === null ? undefined : { key: "runs", words: p.runs === 0 ? "none" : String(p.runs), value: p.runs, source: "counted: runs of others that halley is compared with (halley score --rows)" }), words: (v) => (v === 0 ? "none" : count(v)), cell: (v) => (v === 0 ? "none" : count(v)) },
    ],
  },
  {
    kind: "cluster", tab: "Clusters", noun: "cluster", start: ["dgx-h100", "gb200-nvl72", "mi300x", "tpu-v5p-pod"], open: (p) => ({ model: "llama3-8b", cluster: p.file.name, npus: "64", tp: "4", global_batch: "128" }),
    quantities: [
      label("Accelerator", "npu"),
      value("Accelerators per node", "per node", "nodes.npus", count, count),
      label("Link inside", /^nodes\.up(\.link)?$/),
      label("Network", /^network\.(fabric|topology)$/),
      value("Network per accelerator", "network, GB/s", "network.bandwidth", (v) => si(v, "B/s"), giga),
      value("Host power", "host, kW", "nodes.power", (v) => si(v, "W"), (v) => short(v / 1e3)),
      value("Host without accelerators", "host, $", "cost.host", DOLLARS, count),
    ],
  },
  {
    kind: "link", tab: "Links", noun: "link", start: ["nvlink4-h100", "nvlink5-gb200", "xgmi-mi300", "pcie5"], open: null,
    quantities: [
      value("Bandwidth, one way", "bandwidth, GB/s", "bandwidth", (v) => si(v, "B/s"), giga),
      value("Launch of a collective", "launch, µs", "launch", (v) => time(v), (v) => short(v * 1e6)),
      value("Ring, share of bandwidth", "ring, share", "simple.share", (v) => percent(v), (v) => percent(v)),
      value("Ring, time of a hop", "hop, µs", "simple.hop", (v) => time(v), (v) => short(v * 1e6)),
      value("Peer to peer, share", "peer, share", "peer.share", (v) => percent(v), (v) => percent(v)),
      value("Reduction in the switch", "in-switch, share", "in-switch.share", (v) => percent(v), (v) => percent(v)),
    ],
  },
  {
    kind: "fabric", tab: "Fabrics", noun: "fabric", start: ["ib-ndr", "roce", "efa", "slingshot"], open: null,
    quantities: [
      value("Bandwidth, one way", "bandwidth, GB/s", "bandwidth", (v) => si(v, "B/s"), giga),
      value("Step between nodes, LL", "step, LL, µs", /^hop(\.0)?$/, (v) => time(v), (v) => short(v * 1e6)),
      value("Step between nodes, Simple", "step, Simple, µs", "hop.2", (v) => time(v), (v) => short(v * 1e6)),
      value("Share of bandwidth", "share", "share", (v) => percent(v, 1), (v) => percent(v, 1)),
    ],
  },
  {
    kind: "model", tab: "Models", noun: "model", start: ["llama3-70b", "deepseek-v3", "gpt3-175b", "mixtral-8x7b"], open: (p) => ({ model: p.file.name, cluster: "dgx-h100", npus: "64", tp: "8", global_batch: "128" }),
    quantities: [
      value("Parameters", "parameters", "parameters", (v) => big(v), (v) => big(v)),
      value("Active for a token", "active", "active-parameters", (v) => big(v), (v) => big(v)),
      value("Training, per token", "GFLOP per token", "training-flops-per-token", (v) => si(v, "FLOP"), giga),
      label("Kind", "kind"),
      value("Layers", "layers", "layers", count, count),
      value("Hidden size", "hidden", "hidden", count, count),
      value("Heads", "heads", "heads", count, count),
      value("Key-value heads", "KV heads", "kv-heads", count, count),
      value("Experts", "experts", "experts", count, count),
      value("Vocabulary", "vocabulary", "vocab", count, count),
      value("Sequence", "sequence", "seq", count, count),
    ],
  },
  {
    kind: "stack", tab: "Software", noun: "stack", start: ["nemo-25", "megatron-core-2024", "torchtitan-2024", "maxtext"], open: (p) => ({ model: "llama3-70b", cluster: "dgx-h100", npus: "64", stack: p.file.name, tp: "8", pp: "2", global_batch: "128" }),
    quantities: [
      label("Framework", "framework"),
      value("Expected error, dense", "error, dense", "expected-error", (v) => percent(v, 1), (v) => percent(v, 1)),
      value("Runs, dense", "runs, dense", "expected-runs", count, count),
      value("Expected error, experts", "error, experts", "expected-error-experts", (v) => percent(v, 1), (v) => percent(v, 1)),
      value("Runs, experts", "runs, experts", "expected-runs-experts", count, count),
      { name: "Constants fitted", column: "fitted", get: (p) => ({ key: "fitted", words: String(p.count("fitted.")), value: p.count("fitted."), source: "count of the constants that were fitted to runs" }), words: count, cell: count },
      { name: "Constants given", column: "given", get: (p) => ({ key: "given", words: String(p.count("given.")), value: p.count("given."), source: "count of the constants that were measured or given" }), words: count, cell: count },
    ],
  },
];

/* A quantity of a preset in words; "–" where the preset has none. */
export function say(q: Quantity, p: Preset): string {
  const v = q.get(p);
  if (v === undefined) return "–";
  return v.value === undefined || q.text ? v.words : q.words(v.value);
}

export function sayCell(q: Quantity, p: Preset): string {
  const v = q.get(p);
  if (v === undefined) return "–";
  return v.value === undefined || q.text ? v.words : (q.cell ?? q.words)(v.value);
}

/* Any value of a file, with its unit. */
export function sayValue(v: PresetValue): string {
  if (v.value === undefined) return v.words;
  if (v.unit === "s") return time(v.value, 4);
  if (v.unit === undefined && Number.isInteger(v.value)) return v.value < 1e7 ? count(v.value) : big(v.value);
  if (v.unit === undefined || v.unit === "USD/J") return v.words;
  if (v.unit === "USD") return DOLLARS(v.value);
  return v.unit === "FLOP" ? `${significant(v.value / 1e9)} GFLOP` : si(v.value, v.unit, 4);
}
