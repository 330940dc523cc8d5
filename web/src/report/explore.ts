/* The report of an exploration: the answers of the Explore page, the prices, the study. */

import type { Exploration } from "../api/explore_types.js";
import { el } from "../base/dom.js";
import { count, plural } from "../base/format.js";
import { judge, verdictSentence } from "../pages/explore/judge.js";
import { resultView } from "../pages/explore/results.js";
import { readStudy } from "../pages/explore/study.js";
import { card } from "../ui/parts.js";

export interface ExploreReport extends Exploration {
  /* the study as it was given */
  study_text?: string;
}

function describe(e: ExploreReport): string {
  const study = e.study_text === undefined ? "" : readStudy(e.study_text);
  return e.description ?? (typeof study === "string" || study.description === "" ? `Study ${e.study}` : study.description);
}

export function exploreReport(e: ExploreReport): HTMLElement[] {
  const limits = { days: null, capital: null, power: null };
  const j = judge(e, limits, e.study_text === undefined || /^tokens:/m.test(e.study_text));
  const view = resultView();
  view.show(e, j, limits, [], () => null);
  const refused = e.refusals.map((r) => el("li", {}, el("span", {}, r.reason), el("span", { class: "v" }, count(r.designs))));
  const prices = (e.prices ?? []).map((p) => el("li", {}, el("strong", {}, p.name), " ", p.words));
  return [
    el("div", { class: "title" }, el("h1", {}, describe(e)), el("p", { class: "lede" }, verdictSentence(j)),
      el("p", { class: "note" }, `${plural(e.evaluated, "design")} evaluated, ${count(e.feasible)} feasible.`)),
    view.element,
    el("div", { class: "grid cols2 gap" },
      card("Designs refused", null, el("ul", { class: "list-parts one" }, refused.length > 0 ? refused : el("li", {}, "none")), (e.assumed ?? []).length > 0 && el("p", { class: "note gap-s" }, `Assumed: ${e.assumed!.map((a) => a.text).join(", ")}.`), (e.warnings ?? []).map((w) => el("p", { class: "note" }, w))),
      card("Prices used", null, prices.length > 0 ? el("ul", { class: "answers small" }, prices) : el("p", { class: "note" }, "Those of the presets; all ballpark, vendors publish none."))),
    ...(e.study_text === undefined ? [] : [el("div", { class: "gap" }, card("The study", null, el("pre", {}, e.study_text)))]),
  ];
}
