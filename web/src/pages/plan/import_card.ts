/* What halley read, assumed and ignored of a dropped file. */

import type { ImportReport } from "../../api/types.js";
import { type Child, el, fill } from "../../base/dom.js";
import { plural } from "../../base/format.js";
import { card } from "../../ui/parts.js";

export interface ImportCard {
  element: HTMLElement;
  show(name: string, report: ImportReport | null): void;
}

function pairs(title: string, values: { [key: string]: string } | undefined): Child {
  const entries = Object.entries(values ?? {});
  if (entries.length === 0) return null;
  const rows = entries.map(([key, value]) => el("li", {}, el("code", {}, key), " ", String(value)));
  return el("details", { class: "plain" }, el("summary", {}, `${title}: ${plural(entries.length, "key")}`), el("ul", { class: "small" }, rows));
}

function names(title: string, values: readonly string[] | undefined): Child {
  if (values === undefined || values.length === 0) return null;
  return el("details", { class: "plain" }, el("summary", {}, `${title}: ${plural(values.length, "key")}`), el("p", { class: "note" }, values.join(", ")));
}

export function importCard(): ImportCard {
  const title = el("span");
  const body = el("div");
  const element = card(title, null, body);
  element.hidden = true;
  return {
    element,
    show(name, report) {
      element.hidden = report === null;
      if (report === null) return;
      fill(title, `Read from ${name}`);
      fill(
        body,
        report.kind !== undefined && el("p", {}, report.kind),
        (report.notes ?? []).map((note) => el("p", { class: "note" }, note)),
        pairs("Read", report.read),
        pairs("Assumed", report.assumed),
        names("Without influence", report.ignored),
        names("Not known", report.unknown),
      );
    },
  };
}
