/* Why a number is what it is. The step is explained by the engine; the others are quotients of
 * numbers on the page, written out here. */

import type { Estimate, Explanation } from "../../api/types.js";
import { deviceWord } from "../../api/catalog.js";
import { el, fill } from "../../base/dom.js";
import { big, bytes, count, dollars, energy, percent, si, significant, time } from "../../base/format.js";
import { MEMORY } from "../../draw/parts.js";
import { card } from "../../ui/parts.js";
import { explainMemoryClass, explainPart } from "./why_part.js";
import { explainTree } from "../../ui/tree.js";

interface Why {
  title: string;
  tree: Explanation;
}

function leaf(name: string, value: number | undefined, unit: string, formula?: string): Explanation {
  return { name, unit, ...(value === undefined ? {} : { value }), ...(formula === undefined ? {} : { formula }) };
}

function number(plan: Estimate["plan"], key: string): number {
  const value = plan[key];
  return typeof value === "number" ? value : 0;
}

function explainTokens(e: Estimate): Why {
  const [batch, seq] = [number(e.plan, "global_batch"), number(e.plan, "seq")];
  return {
    title: `each ${deviceWord(e.cluster)} does ${significant(e.tokens_per_s_per_npu)} tokens/s`,
    tree: {
      ...leaf("tokens per second", e.tokens_per_s_per_npu, "", `${count(batch)} × ${count(seq)} ÷ ${time(e.step_s)} ÷ ${count(e.npus)}`),
      children: [leaf("tokens in a step", batch * seq, "", "batch × sequence"), leaf("step", e.step_s, "s"), leaf(`${deviceWord(e.cluster)}s`, e.npus, "")],
    },
  };
}

function explainFlops(e: Estimate, asMfu: boolean): Why {
  const peak = e.mfu > 0 ? e.model_flops_per_s_per_npu / e.mfu : 0;
  const rate = leaf("model FLOP/s per accelerator", e.model_flops_per_s_per_npu, "FLOP/s", `${si(e.model_flops, "FLOP")} ÷ ${time(e.step_s)} ÷ ${count(e.npus)}`);
  const flops = leaf("model FLOPs of a step", e.model_flops, "FLOP", "forward and backward, causal attention halved, no recomputation");
  if (!asMfu) return { title: `each does ${si(e.model_flops_per_s_per_npu, "FLOP/s")}`, tree: { ...rate, children: [flops, leaf("step", e.step_s, "s")] } };
  return {
    title: `MFU is ${percent(e.mfu, 1)}`,
    tree: {
      ...leaf("MFU", e.mfu, "share", `${si(e.model_flops_per_s_per_npu, "FLOP/s")} ÷ ${si(peak, "FLOP/s")}`),
      children: [{ ...rate, children: [flops, leaf("step", e.step_s, "s")] }, leaf(`peak of the device in ${String(e.plan["dtype"] ?? "bf16")}`, peak, "FLOP/s", "data sheet, dense")],
    },
  };
}

function explainMemory(e: Estimate): Why {
  const classes = MEMORY.filter((m) => (e.memory_bytes[m.key] ?? 0) > 0);
  return {
    title: `stage ${e.fullest_stage} needs ${bytes(e.device_bytes)}`,
    tree: {
      ...leaf(`fullest stage: ${e.fullest_stage}`, e.device_bytes, "B", "sum of the classes"),
      children: [...classes.map((m) => leaf(m.name.toLowerCase(), e.memory_bytes[m.key], "B")), leaf("capacity", e.capacity_bytes, "B", `${percent(e.headroom)} of it stay free`)],
    },
  };
}

function explainDays(e: Estimate): Why {
  const steps = (e.train_steps_s ?? 0) / e.step_s;
  return {
    title: `training takes ${time(e.train_s ?? 0)}`,
    tree: {
      ...leaf("time to train", e.train_s, "s", `${big(e.train_tokens ?? 0)} tokens ÷ ${big(e.tokens_per_s)} tokens/s ÷ goodput`),
      children: [
        leaf("steps", steps, "", "tokens ÷ tokens in a step"),
        leaf("step", e.step_s, "s"),
        leaf("all steps, without failures", e.train_steps_s, "s"),
        leaf("goodput", e.goodput, "share", "failures, restarts and checkpoints of the cluster's preset"),
      ],
    },
  };
}

function explainMoney(what: string, e: Estimate, rent: number): Why {
  const hours = e.train_npu_hours ?? 0;
  if (what === "energy") {
    return {
      title: `the run takes ${energy(e.train_energy_J ?? 0)}`,
      tree: { ...leaf("energy", e.train_energy_J, "J", "average power × time to train"), children: [leaf("average power, with the building", e.average_W, "W"), leaf("time to train", e.train_s, "s")] },
    };
  }
  if (what === "rent") {
    return {
      title: `renting costs ${dollars(hours * rent)}`,
      tree: { ...leaf("renting", hours * rent, "USD", `${count(hours)} accelerator-hours × ${dollars(rent)}`), children: [leaf("accelerators that are paid for", e.paid_npus ?? e.npus, ""), leaf("time to train", e.train_s, "s"), leaf("price of an accelerator-hour", rent, "USD", "entered above")] },
    };
  }
  return {
    title: `owning costs ${dollars(e.train_cost_usd ?? 0)}`,
    tree: {
      ...leaf("owning", e.train_cost_usd, "USD", "capital over its life, for the time of the run, and energy"),
      children: [leaf("capital", e.capital_usd, "USD", `prices of the preset ${e.cluster}`), leaf("time to train", e.train_s, "s"), leaf("energy", e.train_energy_J, "J"), leaf("cost of a step", e.cost_usd, "USD")],
    },
  };
}

export function explainNumber(what: string, e: Estimate, step: Explanation | null, rent = 0): Why | null {
  if (what.startsWith("part.")) return explainPart(what.slice(5), e, step);
  if (what.startsWith("memory.")) return explainMemoryClass(what.slice(7), e, step);
  if (["cost", "rent", "energy"].includes(what)) return explainMoney(what, e, rent);
  switch (what) {
    case "tokens":
      return explainTokens(e);
    case "flops":
      return explainFlops(e, false);
    case "mfu":
      return explainFlops(e, true);
    case "memory":
      return explainMemory(e);
    case "days":
      return explainDays(e);
    default:
      return step === null ? null : { title: `a step takes ${time(e.step_s)}`, tree: step };
  }
}

export interface WhyCard {
  element: HTMLElement;
  show(what: string, e: Estimate, step: Explanation | null, rent?: number): void;
}

export function whyCard(): WhyCard {
  const title = el("span", {}, "Why");
  const tree = el("div");
  const element = card(title, el("span", { class: "note" }, "click any dotted number"), tree);
  element.tabIndex = -1;
  element.hidden = true;
  let shown = "";
  return {
    element,
    show(what, e, step, rent) {
      const why = explainNumber(what, e, step, rent);
      if (why === null) return;
      element.hidden = false;
      const open = shown === what ? openPaths(tree) : null;
      shown = what;
      fill(title, `Why ${why.title}`);
      fill(tree, explainTree(why.tree, 1));
      if (open !== null) reopen(tree, open);
    },
  };
}

/* What the reader opened stays open when the numbers change. */
function pathOf(details: Element): string {
  const names: string[] = [];
  for (let at: Element | null = details; at !== null; at = at.parentElement?.closest("details") ?? null) names.unshift(at.querySelector("summary span")?.textContent ?? "");
  return names.join(" / ");
}

function openPaths(tree: HTMLElement): Set<string> {
  return new Set([...tree.querySelectorAll("details[open]")].map(pathOf));
}

function reopen(tree: HTMLElement, open: Set<string>): void {
  if (open.size === 0) return;
  for (let again = true; again; ) {
    again = false;
    for (const details of tree.querySelectorAll<HTMLDetailsElement>("details:not([open])")) {
      if (!open.has(pathOf(details))) continue;
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
      again = true;
    }
  }
}
