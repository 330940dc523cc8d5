/* Parts of a step and classes of memory: name, colour and hatch, in the order in which they are
 * drawn. One table for pages and reports. */

import type { Hatch } from "./chart.js";

export type Family = "compute" | "communication" | "waiting" | "once";

export interface Part {
  key: string;
  name: string;
  colour: string;
  hatch: Hatch | null;
  /* text on the mark: dark marks take light text in light mode */
  tone: "dark" | "light";
  family: Family;
  meaning: string;
}

function part(key: string, name: string, colour: string, hatch: Hatch | null, tone: "dark" | "light", family: Family, meaning: string): Part {
  return { key, name, colour, hatch, tone, family, meaning };
}

export const PARTS: readonly Part[] = [
  part("matmul", "Matmuls", "--t-matmul", null, "dark", "compute", "dense matrix products, forward and backward"),
  part("compute", "Compute", "--t-matmul", null, "dark", "compute", "all operators of a rank of the slowest stage"),
  part("attention", "Attention", "--t-attention", null, "dark", "compute", "attention kernels"),
  part("memory_bound", "Memory-bound ops", "--t-memory", null, "light", "compute", "norms, activations, casts, embedding, loss"),
  part("accumulate", "Gradient accumulation", "--t-memory", "up", "light", "compute", "adding the gradients of micro-batches"),
  part("recompute", "Recomputation", "--t-recompute", "up", "light", "compute", "forward work repeated in the backward pass"),
  part("tensor_parallel", "Tensor-parallel comm., exposed", "--t-tp", null, "dark", "communication", "all-gather and reduce-scatter inside a layer, not hidden"),
  part("context_parallel", "Context-parallel comm., exposed", "--t-cp", null, "light", "communication", "key/value exchange, not hidden"),
  part("expert_parallel", "Expert all-to-all, exposed", "--t-ep", null, "light", "communication", "token dispatch and combine, not hidden"),
  part("pipeline_transfers", "Pipeline transfers, exposed", "--t-pp", "cross", "dark", "communication", "activations between stages, not hidden"),
  part("data_parallel", "Data-parallel comm., exposed", "--t-dp", "cross", "light", "communication", "gradient reduction and weight gather, not hidden"),
  part("offload", "Offload transfers, exposed", "--t-dp", "up", "light", "communication", "transfers to and from outer memory, not hidden"),
  part("bubble", "Pipeline bubble", "--t-bubble", "down", "light", "waiting", "stages wait for each other"),
  part("meeting", "Waiting for the slowest rank", "--t-bubble", null, "light", "waiting", "ranks wait for the slowest of those they meet"),
  part("host", "Host and launch gaps", "--t-host", "up", "dark", "waiting", "the device waits for its host"),
  part("optimizer", "Optimizer", "--t-optimizer", null, "dark", "once", "parameter update"),
  part("other", "Other", "--t-other", null, "light", "once", "fixed time per step and micro-batch"),
];

export function findPart(key: string): Part {
  return PARTS.find((p) => p.key === key) ?? part(key, key.replaceAll("_", " "), "--t-other", null, "light", "once", "");
}

export interface MemoryClass {
  key: string;
  name: string;
  colour: string;
  hatch: Hatch | null;
  tone: "dark" | "light";
}

export const MEMORY: readonly MemoryClass[] = [
  { key: "weights", name: "Weights", colour: "--m-weights", hatch: null, tone: "dark" },
  { key: "gradients", name: "Gradients", colour: "--m-gradients", hatch: null, tone: "light" },
  { key: "optimizer", name: "Optimizer states", colour: "--m-optimizer", hatch: null, tone: "light" },
  { key: "gathered", name: "Gathered weights", colour: "--m-gradients", hatch: "up", tone: "light" },
  { key: "activations", name: "Activations", colour: "--m-activations", hatch: null, tone: "light" },
  { key: "logits", name: "Logits", colour: "--m-logits", hatch: null, tone: "light" },
  { key: "buffers", name: "Buffers", colour: "--m-buffers", hatch: null, tone: "light" },
  { key: "context", name: "Driver context", colour: "--m-buffers", hatch: "up", tone: "light" },
];

const FAMILY_WORDS: readonly [Family, string][] = [
  ["compute", "compute"],
  ["communication", "exposed communication"],
  ["waiting", "waiting"],
];

/* "83 % compute, 14 % exposed communication, 3 % waiting" */
export function familySentence(parts: { [key: string]: number }, total: number): string {
  return FAMILY_WORDS.map(([family, words]) => {
    const sum = PARTS.filter((p) => p.family === family).reduce((s, p) => s + (parts[p.key] ?? 0), 0);
    return `${Math.round((100 * Math.max(0, sum)) / total)} % ${words}`;
  }).join(", ");
}
