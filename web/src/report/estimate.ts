/* The reports of estimate and plan: the answer of the Plan page without its form. */

import type { Estimate, PlanSearch } from "../api/types.js";
import { deviceWord } from "../api/catalog.js";
import { el, fill } from "../base/dom.js";
import { big, count } from "../base/format.js";
import { planAnswer } from "../pages/plan/answer.js";
import { bestCard } from "../pages/plan/best.js";
import { runFacts } from "../pages/plan/run.js";
import { whyCard } from "../pages/plan/why.js";
import { card } from "../ui/parts.js";

function designTitle(e: { model?: string; cluster?: string; npus: number; stack?: string; parameters?: number }): HTMLElement {
  const device = deviceWord(e.cluster ?? "");
  const below = [e.parameters === undefined ? "" : `${big(e.parameters)} parameters`, e.stack ?? "no software chosen"].filter((w) => w !== "").join(" · ");
  return el("div", { class: "title" }, el("h1", {}, `${e.model ?? "model"} on ${count(e.npus)} ${device}s (${e.cluster ?? ""})`), el("p", { class: "lede" }, below));
}

export function estimateReport(e: Estimate): HTMLElement[] {
  const why = whyCard();
  const show = (what: string): void => {
    why.show(what, e, e.explain ?? null);
    why.element.scrollIntoView({ block: "nearest" });
  };
  const answer = planAnswer({ explain: show, apply: null });
  fill(answer.live);
  answer.live.hidden = true;
  answer.show(e, null, []);
  why.show(e.explain === undefined ? "memory" : "step", e, e.explain ?? null);
  const plan = Object.entries(e.plan).map(([key, value]) => `${key} ${String(value)}`).join(", ");
  const facts = el("dl", { class: "facts two" });
  fill(facts, runFacts(e, 0, show));
  return [
    designTitle(e),
    el("div", { class: "grid" }, answer.hero, answer.time, el("div", { class: "grid mem-cost" }, answer.memory, card("A whole training run", `${big(e.train_tokens ?? 0)} tokens`, facts)), why.element,
      card("The plan", null, el("p", { class: "note" }, plan), e.assumed !== undefined && el("p", { class: "note gap-s" }, `Assumed: ${e.assumed.map((a) => a.text).join(", ")}.`))),
  ];
}

export function planReport(search: PlanSearch & { model?: string; cluster?: string; stack?: string; parameters?: number }): HTMLElement[] {
  const best = bestCard(null);
  best.show(search, Infinity, () => false);
  const rest = [...(search.assumed ?? []).map((w) => `Assumed: ${w.text}.`), ...(search.warnings ?? [])];
  return [designTitle(search), el("div", { class: "grid" }, best.element, rest.length > 0 && card("Assumptions", null, rest.map((w) => el("p", { class: "note" }, w))))];
}
