/* The five best plans beside the one on the page; plans within the error are ties. */

import type { Progress } from "../../api/client.js";
import type { ErrorBar, FoundPlan, PlanSearch } from "../../api/types.js";
import { type Child, el, fill } from "../../base/dom.js";
import { bytes, count, errorShare, percent, significant, time } from "../../base/format.js";
import { drawRowWhisker } from "../../draw/hero_whisker.js";
import { card, stateChip } from "../../ui/parts.js";
import { type Column, table } from "../../ui/table.js";

export interface BestCard {
  element: HTMLElement;
  busy(): void;
  /* a search that takes long */
  searching(progress: Progress | null): void;
  show(search: PlanSearch, step_s: number, isCurrent: (plan: FoundPlan) => boolean): void;
  fail(message: string): void;
}

function recomputeWords(plan: FoundPlan["plan"]): string {
  const layers = plan["recompute_layers"];
  return `${String(plan["recompute"] ?? "none")}${typeof layers === "number" && layers > 0 ? `, ${layers} ${layers === 1 ? "layer" : "layers"}` : ""}`;
}

function shardingWords(plan: FoundPlan["plan"]): string {
  const fsdp = plan["fsdp"];
  if (fsdp !== undefined && fsdp !== 0) return fsdp === "all" ? "FSDP" : `FSDP ${String(fsdp)}`;
  const zero = plan["zero"];
  return zero === 0 ? "none" : `ZeRO ${String(zero ?? 1)}`;
}

function tieSentence(search: PlanSearch, step_s: number): string {
  const best = search.plans[0];
  const tied = search.plans.filter((p) => p.tie === true);
  if (best === undefined || tied.length < 2) return "";
  const last = tied[tied.length - 1]!.step_s;
  const own = step_s >= best.step_s && step_s <= best.step_s * 1.05 ? ` This plan, ${time(step_s)}, ties with them, too.` : "";
  return `Rows marked “= 1” are a tie: they are within ${percent(last / best.step_s - 1, 1)} of the fastest, less than halley can tell apart. Choose among them by memory or simplicity.${own}`;
}

/* A plan that spreads and fits keeps what is too much in outer memory. */
function memoryCell(p: FoundPlan): Child {
  if (p.plan["spread"] === true && p.device_bytes > p.capacity_bytes) return [`${bytes(p.device_bytes)} `, el("span", { class: "muted" }, "with outer memory")];
  return [`${bytes(p.device_bytes)} `, el("span", { class: "muted" }, percent(p.device_bytes / p.capacity_bytes))];
}

/* `take` is null in reports, where no plan can be taken. */
export function bestCard(take: ((plan: FoundPlan) => void) | null): BestCard {
  const tried = el("span", { class: "note" });
  const ties = el("p", { class: "note" });
  let bar: ErrorBar | undefined;
  let scale = { low: 0, high: 1, best: 1 };
  let current: (plan: FoundPlan) => boolean = () => false;
  const plain = (key: string, name = key): Column<FoundPlan> => ({ name, right: true, cell: (p) => String(p.plan[key] ?? 1) });
  const columns: Column<FoundPlan>[] = [
    { name: "rank", hidden_name: true, kind: "nowrap", cell: (p) => (p.tie === true ? "= 1" : String(p.rank)) },
    { name: "step", right: true, cell: (p) => [el("strong", {}, significant(timeIn(p.step_s), 4)), unitOf(p.step_s)] },
    { name: "with error", kind: "wide", cell: (p) => bar !== undefined && drawRowWhisker(p.step_s, bar, scale, 130) },
    { name: "memory", right: true, cell: (p) => memoryCell(p) },
    { name: "state", cell: (p) => stateChip(p.fit) },
    plain("tp"),
    plain("pp"),
    plain("dp"),
    plain("cp"),
    plain("ep"),
    plain("virtual"),
    plain("micro_batch", "micro-batch"),
    { name: "recompute", cell: (p) => recomputeWords(p.plan) },
    { name: "sharding", cell: (p) => shardingWords(p.plan) },
  ];
  if (take !== null) {
    columns.push({
      name: "take",
      hidden_name: true,
      kind: "stick",
      cell: (p) => el("button", { class: "btn small", type: "button", "aria-label": `Take plan ${p.rank}`, on: { click: () => take(p) } }, "Take"),
    });
  }
  const list = table(columns, { label: "Five best plans, scrolls sideways", selected: (p) => current(p) });
  const body = el("div", { class: "fades" }, ties, list.element);
  const wait = el("p", { class: "note", "aria-live": "polite" });
  const element = card(take === null ? "Best plans" : "Five best plans", tried, wait, body);
  element.classList.add("keep");
  return {
    element,
    busy: () => body.classList.add("faded"),
    searching(p) {
      const of = p !== null && p.total > 0 ? ` of ${count(p.total)}` : "";
      fill(wait, p === null ? "Trying all plans …" : `Trying all plans: ${count(p.done)}${of}`);
    },
    show(search, step_s, isCurrent) {
      fill(wait);
      body.classList.remove("faded");
      list.element.hidden = search.plans.length === 0;
      bar = search.error_bar;
      current = isCurrent;
      const steps = search.plans.map((p) => p.step_s);
      const typical = bar?.typical ?? 0;
      scale = { low: Math.min(...steps) * (1 - typical * 1.1), high: Math.max(...steps) * (1 + typical * 1.1), best: steps[0] ?? 1 };
      fill(tried, `${count(search.designs)} plans tried, ${count(search.feasible)} fit${bar === undefined ? "" : `; error ${errorShare(bar.typical)}`}`);
      fill(ties, search.plans.length === 0 ? "No plan fits: use more accelerators, a longer list of memory tiers, or a smaller model." : tieSentence(search, step_s));
      list.show(search.plans);
    },
    fail(message) {
      fill(wait);
      body.classList.remove("faded");
      list.element.hidden = true;
      fill(tried);
      fill(ties, message);
    },
  };
}

function timeIn(seconds: number): number {
  return seconds < 1 ? seconds * 1000 : seconds;
}

function unitOf(seconds: number): string {
  return seconds < 1 ? " ms" : " s";
}
