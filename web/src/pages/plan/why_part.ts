/* Why one part of the step, or one class of memory, is as large as it is: the operators of the
 * engine's explanation that make it up, and the constants behind it. */

import type { Estimate, Explanation } from "../../api/types.js";
import { bytes, percent, time } from "../../base/format.js";
import { findPart, MEMORY } from "../../draw/parts.js";

interface Rule {
  operator: ((node: Explanation) => boolean) | null;
  /* constants of the stack that matter, by their names */
  constants: RegExp;
}

const formula = (words: RegExp, not?: RegExp) => (n: Explanation): boolean => words.test(n.formula ?? "") && !(not?.test(n.formula ?? "") ?? false);
const isExposed = (n: Explanation): boolean => (n.children ?? []).some((c) => c.name.startsWith("exposed"));

const RULES: { [part: string]: Rule } = {
  matmul: { operator: formula(/TFLOP/, /head size/), constants: /^gemm/ },
  attention: { operator: formula(/head size/), constants: /^(attention|softmax)/ },
  memory_bound: { operator: formula(/through memory/), constants: /^(hidden-bytes|backward-traffic|activation-passes|rope-passes|cast|permute|loss-bytes|eager)/ },
  tensor_parallel: { operator: (n) => isExposed(n) && !/dispatch|context/.test(n.name), constants: /^(tp-|sp-|network-time)/ },
  context_parallel: { operator: (n) => isExposed(n) && /context|key|ring/.test(n.name), constants: /^(cp-|network-time)/ },
  expert_parallel: { operator: (n) => isExposed(n) && /dispatch|combine/.test(n.name), constants: /^(ep-|network-time)/ },
  recompute: { operator: null, constants: /^recompute/ },
  pipeline_transfers: { operator: null, constants: /^(pp-|network-time)/ },
  data_parallel: { operator: null, constants: /^(dp-|network-time|fsdp|zero-owner)/ },
  host: { operator: null, constants: /^host/ },
  accumulate: { operator: null, constants: /^accumulate/ },
  optimizer: { operator: null, constants: /^(optimizer-bytes|gradient-bytes)/ },
  meeting: { operator: null, constants: /^meeting/ },
  other: { operator: null, constants: /^(step|micro-batch)$/ },
};

function findConstants(step: Explanation | null, names: RegExp): Explanation[] {
  const all = step?.children?.find((c) => c.name === "constants")?.children ?? [];
  const found = all.filter((c) => names.test(c.name));
  return found.length === 0 ? [] : [{ name: "constants", children: found }];
}

/* Operators of each kind of layer that belong to the part. */
function findOperators(step: Explanation | null, belongs: (node: Explanation) => boolean): Explanation[] {
  return (step?.children ?? []).flatMap((layer) => {
    const operators = (layer.children ?? []).filter(belongs);
    if (operators.length === 0) return [];
    const value = operators.reduce((sum, o) => sum + (o.value ?? 0), 0);
    return [{ name: layer.name, formula: "forward and backward of one micro-batch", value, unit: "s", children: operators }];
  });
}

export function explainPart(key: string, e: Estimate, step: Explanation | null): { title: string; tree: Explanation } {
  const part = findPart(key);
  const value = e.parts_s[key] ?? 0;
  const rule = RULES[key];
  const own = step?.children?.find((c) => c.name === key.replaceAll("_", " "));
  const children = [
    ...(rule?.operator ? findOperators(step, rule.operator) : []),
    ...(rule === undefined ? [] : findConstants(step, rule.constants)),
  ];
  const words = own?.formula ?? `${part.meaning}; all micro-batches of the slowest stage`;
  return {
    title: `${part.name.split(",")[0]!.toLowerCase()} takes ${time(value)}`,
    tree: { name: part.name, formula: `${percent(value / e.step_s, 1)} of the step: ${words}`, value, unit: "s", ...(children.length > 0 ? { children } : {}) },
  };
}

const MEMORY_CONSTANTS: { [key: string]: RegExp } = {
  weights: /^memory-weight/,
  gradients: /^memory-gradient/,
  optimizer: /^memory-optimizer/,
  gathered: /^memory-gathered/,
  activations: /^memory-activation/,
  logits: /^memory-(logit|head)/,
  buffers: /^memory-fixed/,
  context: /^memory-context/,
};

export function explainMemoryClass(key: string, e: Estimate, step: Explanation | null): { title: string; tree: Explanation } {
  const kind = MEMORY.find((m) => m.key === key);
  const name = kind?.name ?? key;
  const value = e.memory_bytes[key] ?? 0;
  const stages = (e.stages ?? []).map((s) => ({ name: `stage ${s.stage}`, value: s.memory_bytes[key] ?? 0, unit: "B" }));
  const children = [...(stages.length > 1 ? stages : []), ...findConstants(step, MEMORY_CONSTANTS[key] ?? /^$/)];
  return {
    title: `${name.toLowerCase()} ${name.endsWith("s") ? "take" : "takes"} ${bytes(value)}`,
    tree: { name, formula: `${percent(value / e.capacity_bytes, 1)} of the capacity, on stage ${e.fullest_stage}`, value, unit: "B", ...(children.length > 0 ? { children } : {}) },
  };
}
