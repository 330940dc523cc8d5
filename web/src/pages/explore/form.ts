/* The study as a form. It shows one Study and reports every change of it. */

import { el, fill, uniqueId } from "../../base/dom.js";
import { count } from "../../base/format.js";
import { selectField, textField } from "../../ui/fields.js";
import { OBJECTIVES } from "./measures.js";
import type { Study, System, VariedRow } from "./study.js";
import type { StudyParameter } from "../../api/explore_types.js";

export interface StudyForm {
  element: HTMLElement;
  offer(models: readonly string[], clusters: readonly string[], stacks: readonly string[], parameters: readonly StudyParameter[]): void;
  show(study: Study): void;
}

/* "dgx-h100" without its family where the rest says enough */
function systemName(cluster: string): string {
  return cluster.replace(/^dgx-/, "").toUpperCase().replace(/-POD$/, "").replaceAll("-", " ");
}

const VERBS = ["minimize", "maximize"];

export function studyForm(changed: (study: Study, field: string) => void): StudyForm {
  let study: Study | null = null;
  const change = (patch: Partial<Study>, field: string): void => {
    if (study === null) return;
    study = { ...study, ...patch };
    changed(study, field);
  };
  const question = el("textarea", { rows: 3, id: uniqueId("question") });
  question.addEventListener("input", () => change({ description: question.value.replaceAll("\n", " ") }, "description"));
  const model = selectField("Model", [], (v) => change({ model: v }, "model"));
  const stack = selectField("Training software", [], (v) => change({ stack: v }, "stack"));
  const npus = textField("Accelerators", (v) => {
    const n = Number(v.replaceAll(",", ""));
    if (Number.isInteger(n) && n > 0) change({ npus: n }, "npus");
  });
  const tokens = textField("Tokens of the run", (v) => change({ tokens: v.trim() }, "tokens"), { hint: "such as 15T; empty: compare the step, not the run" });
  const plan = textField("Fixed parts of the plan", (v) => change({ plan: v }, "plan"), { hint: "such as global-batch: 2048, zero: 1" });
  const where = textField("Conditions", (v) => change({ where: v }, "where"), { hint: "expressions, separated by commas: fits, step-time < 10 s" });
  const chosen = el("div", { class: "chips" });
  const system_count = el("output");
  const filter = el("input", { type: "text", placeholder: "filter clusters", "aria-label": "Filter clusters" });
  const ticks = el("div", { class: "ticks" });
  const pick = el("details", { class: "plain" }, el("summary", {}, "Tick accelerators"), filter, ticks);
  const rows = el("div", { class: "rows" });
  const list = el("datalist", { id: uniqueId("parameters") });
  const add = el("button", { class: "btn small", type: "button" }, "Vary another parameter");
  let names: readonly string[] = [];

  const paintTicks = (): void => {
    const words = filter.value.toLowerCase();
    const has = (name: string): boolean => study?.systems.some((s) => s.cluster === name && Object.keys(s.more).length === 0) ?? false;
    const tick = (name: string): HTMLElement => {
      const box = el("input", { type: "checkbox", id: uniqueId("tick") });
      box.checked = has(name);
      box.addEventListener("change", () => {
        if (study === null) return;
        const systems: System[] = box.checked
          ? [...study.systems, { name: systemName(name), cluster: name, more: {} }]
          : study.systems.filter((s) => s.cluster !== name || Object.keys(s.more).length > 0);
        change({ systems }, "systems");
        paintSystems();
      });
      return el("div", {}, box, el("label", { for: box.id }, name));
    };
    fill(ticks, names.filter((n) => n.includes(words)).map(tick));
  };
  const paintSystems = (): void => {
    const systems = study?.systems ?? [];
    fill(system_count, count(systems.length));
    const chip = (s: System, i: number): HTMLElement =>
      el("span", { class: "chip" }, s.name, " ", el("button", {
        class: "remove",
        type: "button",
        "aria-label": `Leave out ${s.name}`,
        on: {
          click: () => {
            change({ systems: (study?.systems ?? []).filter((_, j) => j !== i) }, "systems");
            paintSystems();
            paintTicks();
          },
        },
      }, "×"));
    fill(chosen, systems.length === 0 ? el("span", { class: "hint" }, `none: the cluster is ${study?.cluster ?? ""}`) : systems.map(chip));
  };
  const setRow = (i: number, patch: Partial<VariedRow>, field: string): void => change({ rows: (study?.rows ?? []).map((r, j) => (j === i ? { ...r, ...patch } : r)) }, field);
  const paintRows = (): void => {
    const line = (row: VariedRow, i: number): HTMLElement => {
      const parameter = el("input", { type: "text", list: list.id, value: row.parameter, "aria-label": `Varied parameter ${i + 1}`, placeholder: "plan.tp", spellcheck: "false" });
      const values = el("input", { type: "text", value: row.values, "aria-label": `Values of ${row.parameter || "the parameter"}`, placeholder: "[1, 2, 4]", spellcheck: "false" });
      parameter.addEventListener("input", () => setRow(i, { parameter: parameter.value.trim() }, `row ${i}`));
      values.addEventListener("input", () => setRow(i, { values: values.value }, `row ${i}`));
      const remove = el("button", { class: "btn small", type: "button", "aria-label": `Do not vary ${row.parameter || "this parameter"}` }, "×");
      remove.addEventListener("click", () => {
        change({ rows: (study?.rows ?? []).filter((_, j) => j !== i) }, "rows");
        paintRows();
      });
      return el("div", { class: "row" }, parameter, values, remove);
    };
    fill(rows, (study?.rows ?? []).map(line));
  };
  filter.addEventListener("input", paintTicks);
  add.addEventListener("click", () => {
    change({ rows: [...(study?.rows ?? []), { parameter: "", values: "[1, 2]" }] }, "rows");
    paintRows();
    rows.querySelector<HTMLInputElement>(".row:last-child input")?.focus();
  });
  const choices = VERBS.flatMap((verb) => OBJECTIVES.map((o) => ({ value: `${verb} ${o}`, label: `${verb} ${o}` })));
  const setObjective = (i: number, value: string): void => {
    const next = [...(study?.objectives ?? [])];
    if (value === "") next.splice(i, 1);
    else next[i] = value;
    change({ objectives: next.filter((o) => o !== undefined && o !== "") }, `objective ${i}`);
  };
  const first = selectField("Objective", choices, (v) => setObjective(0, v));
  const second = selectField("Second objective", [{ value: "", label: "none" }, ...choices], (v) => setObjective(1, v));
  const element = el(
    "div",
    {},
    el("div", { class: "field" }, el("span", { class: "label" }, el("label", { for: question.id }, "Question")), question),
    model.element,
    stack.element,
    npus.element,
    el("div", { class: "field" }, el("span", { class: "label" }, "Systems", system_count), chosen, pick),
    plan.element,
    el("div", { class: "field" }, el("span", { class: "label" }, "Varied, all combinations"), rows, list, add),
    first.element,
    second.element,
    tokens.element,
    where.element,
  );
  return {
    element,
    offer(models, clusters, stacks, parameters) {
      names = clusters;
      const plain = (some: readonly string[]): { value: string; label: string }[] => some.map((name) => ({ value: name, label: name }));
      model.offer(plain(models));
      stack.offer([{ value: "", label: "none chosen: default constants" }, ...plain(stacks)]);
      fill(list, parameters.map((p) => el("option", { value: p.parameter }, p.meaning)));
      if (study !== null) this.show(study);
    },
    show(next) {
      study = next;
      if (document.activeElement !== question) question.value = next.description;
      model.set(next.model);
      stack.set(next.stack);
      npus.set(String(next.npus));
      tokens.set(next.tokens);
      plan.set(next.plan);
      where.set(next.where);
      first.set(next.objectives[0] ?? "minimize step-time");
      second.set(next.objectives[1] ?? "");
      paintSystems();
      paintTicks();
      if (!rows.contains(document.activeElement)) paintRows();
    },
  };
}
