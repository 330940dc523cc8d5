/* Entry of the static reports: window.halleyReport(kind, data, element, columns) draws the result of a
 * command (the object that --json prints) with the code of the pages. A report may add to the
 * object: study_text (explore: the study as given), prices (explore: [{name, words}]), description,
 * quantiles (compare: the curves). `columns` is the timeline of a simulation (doc/columns.md) in base64.
 * It needs no network and no server. */

import { fill, type Child } from "./base/dom.js";
import { startTheme } from "./base/theme.js";
import { compareReport, type Comparison } from "./report/compare.js";
import { estimateReport, planReport } from "./report/estimate.js";
import { exploreReport, type ExploreReport } from "./report/explore.js";
import { simReport, type Simulation } from "./report/sim.js";
import type { Estimate, PlanSearch } from "./api/types.js";
import { startTips } from "./ui/tip.js";

export type ReportKind = "explore" | "compare" | "estimate" | "plan" | "sim";

declare global {
  interface Window {
    halleyReport: (kind: ReportKind, data: unknown, element: HTMLElement, columns?: string) => void;
  }
}

const REPORTS: { [kind in ReportKind]: (data: never, columns: string | undefined) => Child[] } = {
  explore: (data: ExploreReport) => exploreReport(data),
  compare: (data: Comparison) => compareReport(data),
  estimate: (data: Estimate) => estimateReport(data),
  plan: (data: PlanSearch) => planReport(data),
  sim: (data: Simulation, columns) => simReport(data, columns),
};

let started = false;

window.halleyReport = (kind, data, element, columns) => {
  if (!started) {
    startTheme(() => undefined);
    startTips();
    started = true;
  }
  element.classList.add("report");
  fill(element, REPORTS[kind](data as never, columns));
};
