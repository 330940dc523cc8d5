/* The designs of an exploration one by one: where their time goes, what they hold in memory, the
 * layer under the roofline, and everything that is known of each. */

import type { Design, Exploration, Slice } from "../../api/explore_types.js";
import { el, fill } from "../../base/dom.js";
import { big, bytes, count, dollars, energy, errorShare, percent, si, significant, time } from "../../base/format.js";
import { type DesignMemory, drawDesignMemory } from "../../draw/design_memory.js";
import { shortName, valueWords } from "../../draw/parameters.js";
import { MEMORY, PARTS } from "../../draw/parts.js";
import { describeOperators, drawRoofline, type Roof } from "../../draw/roofline.js";
import { drawStepBars, type StepRow } from "../../draw/step_bar.js";
import { figureBox } from "../../ui/figure.js";
import { selectField } from "../../ui/fields.js";
import { card, colourKey, fact } from "../../ui/parts.js";
import type { Judgement } from "./judge.js";

interface Named {
  name: string;
  design: Design;
}

export function nested(d: Design, key: string): { [key: string]: number } {
  const value = d.results[key];
  return typeof value === "object" && !Array.isArray(value) ? value : {};
}

function numberOf(d: Design, key: string): number {
  const value = d.results[key];
  return typeof value === "number" ? value : NaN;
}

/* A study knows forward and backward, not the operators in them. */
function stepParts(d: Design): { [key: string]: number } {
  return { ...nested(d, "parts_s"), compute: numberOf(d, "forward_s") + numberOf(d, "backward_s") };
}

function stepRow(n: Named): StepRow {
  return { name: n.name, step_s: numberOf(n.design, "step_s"), parts_s: stepParts(n.design), strong: false, error: n.design.error_bar ?? null };
}

function memoryRow(n: Named): DesignMemory {
  return { name: n.name, bytes: nested(n.design, "memory_bytes"), total: numberOf(n.design, "device_bytes"), spilled: n.design.spilled_bytes ?? 0, capacity: n.design.capacity_bytes };
}

interface Keyed {
  key: string;
  name: string;
  colour: string;
  hatch: (typeof PARTS)[number]["hatch"];
}

function keyLine(kinds: readonly Keyed[], used: (key: string) => boolean): HTMLElement {
  return el("div", { class: "kinds" }, kinds.filter((k) => used(k.key)).map((k) => el("span", {}, colourKey(k.colour, k.hatch), k.name)));
}

function roofsOf(slice: Slice): Roof[] {
  return (slice.roofline ?? []).map((r, i) => ({ name: valueWords(slice.parameter, slice.best[i]!.varied[slice.parameter]!), peak: r.peak_flops, bandwidth: r.bandwidth_Bps, operators: r.operators }));
}

/* What a number is measured in, by the end of its key. */
const UNITS: readonly [RegExp, (v: number) => string][] = [
  [/^tokens_per_s$/, (v) => `${big(v)}/s`],
  [/per_token_usd$/, (v) => `$${significant(v * 1e6)} per M`],
  [/per_token_J$/, (v) => si(v, "J")],
  [/_usd$/, (v) => dollars(v)],
  [/_bytes$/, (v) => bytes(v)],
  [/_J$/, energy],
  [/_W$/, (v) => si(v, "W")],
  [/_s$/, (v) => time(v)],
  [/^(mfu|goodput)$/, (v) => percent(v, 1)],
];

function resultWords(key: string, value: number): [string, string] {
  const unit = UNITS.find(([test]) => test.test(key));
  const plain = key.replace(/_(s|bytes|J|W|usd)$/, "").replaceAll("_", " ");
  const name = key === "mfu" ? "MFU" : key === "tokens_per_s" ? "tokens" : key === "npus" ? "accelerators" : plain === "mtbf" ? "MTBF" : plain;
  return [name.charAt(0).toUpperCase() + name.slice(1), unit === undefined ? count(value) : unit[1](value)];
}

/* The keys of a plan that differ from what a plan without them has are many; the decisive ones come first. */
function planSentence(d: Design): string {
  const p = d.plan;
  const always = ["tp", "pp", "dp", "cp", "ep", "virtual", "micro_batch", "global_batch", "seq", "dtype", "zero", "recompute", "schedule"];
  const words = always.filter((k) => p[k] !== undefined).map((k) => `${k.replaceAll("_", " ")} ${String(p[k])}`);
  const on = Object.entries(p).filter(([, v]) => v === true).map(([k]) => k.replaceAll("_", " "));
  return `${d.model} on ${d.cluster}: ${[...words, ...on].join(", ")}.`;
}

function partFacts(parts: readonly { key: string; name: string }[], values: { [key: string]: number }, words: (v: number) => string, least: number): HTMLElement[] {
  return parts.filter((p) => (values[p.key] ?? 0) > least).map((p) => fact(p.name.replace(", exposed", ""), words(values[p.key]!)));
}

function detail(n: Named, first: boolean): { element: HTMLElement; make: () => void } {
  const d = n.design;
  const known = Object.entries(d.results).filter((r): r is [string, number] => typeof r[1] === "number" && !(r[0] === "offloaded_bytes" && r[1] === 0));
  const bar = d.error_bar;
  const error = bar === undefined ? "" : bar.measured === false ? " (error unknown: no published run of this hardware)" : ` ± ${errorShare(bar.typical)}`;
  const body = el("div");
  const make = (): void => {
    if (body.childElementCount > 0) return;
    fill(body,
      el("p", { class: "note" }, planSentence(d), d.limit !== undefined && d.limit !== "" && ` Limited by ${d.limit}.`),
    el("dl", { class: "facts small" }, known.map(([key, value]) => fact(...resultWords(key, value))), d.spilled_bytes !== undefined && fact("In outer memory", bytes(d.spilled_bytes))),
    el("h3", {}, "Time of a step"),
    el("dl", { class: "facts small" }, fact("Forward", time(numberOf(d, "forward_s"))), fact("Backward", time(numberOf(d, "backward_s"))), partFacts(PARTS.filter((p) => p.key !== "compute"), stepParts(d), (v) => time(v), numberOf(d, "step_s") * 1e-9)),
    el("h3", {}, "Memory of the fullest stage"),
    el("dl", { class: "facts small" }, partFacts(MEMORY, nested(d, "memory_bytes"), (v) => bytes(v), 1e6)));
  };
  const element = el("details", { class: "plain design", open: first }, el("summary", {}, el("strong", {}, n.name), " ", el("span", { class: "muted" }, `${time(numberOf(d, "step_s"))}${error}`)), body);
  /* made when it is opened, or printed: a page of many designs stays light */
  if (first) make();
  element.addEventListener("toggle", make);
  return { element, make };
}

export interface DesignCards {
  elements: HTMLElement[];
  show(e: Exploration, j: Judgement): void;
}

export function designCards(): DesignCards {
  let lists: Named[][] = [];
  let slices: Slice[] = [];
  let prepare_print = (): void => undefined;
  window.addEventListener("beforeprint", () => prepare_print());
  const time_key = el("div");
  const time_box = figureBox("gap-s");
  const memory_key = el("div");
  const memory_box = figureBox("gap-s");
  const roof_box = figureBox();
  const roof_words = el("ol", { class: "operators" });
  const details = el("div", { class: "designs" });
  const drawBars = (): void => {
    const list = lists[Number(which.get()) || 0] ?? [];
    const rows = list.map(stepRow).filter((r) => r.step_s > 0);
    const memory = list.map(memoryRow).filter((r) => r.total > 0 && r.capacity > 0);
    fill(time_key, keyLine(PARTS, (key) => rows.some((r) => (r.parts_s[key] ?? 0) > r.step_s * 1e-4)));
    fill(memory_key, keyLine(MEMORY, (key) => memory.some((r) => (r.bytes[key] ?? 0) > 1e6)));
    if (rows.length > 0) time_box.draw((width) => drawStepBars(rows, width));
    else time_box.clear();
    if (memory.length > 0) memory_box.draw((width) => drawDesignMemory(memory, width));
    else memory_box.clear();
  };
  const drawRoofs = (): void => {
    const slice = slices[Number(roof_of.get()) || 0];
    const roofs = slice === undefined ? [] : roofsOf(slice);
    if (roofs.length > 0) roof_box.draw((width) => drawRoofline(roofs, width));
    else roof_box.clear();
    fill(roof_words, describeOperators(roofs).map((words) => el("li", {}, words)));
  };
  const which = selectField("Designs", [], drawBars);
  which.element.classList.add("narrow");
  const roof_of = selectField("Parameter", [], drawRoofs);
  roof_of.element.classList.add("narrow");
  const barCard = card(
    "Where time and memory go",
    null,
    which.element,
    el("h3", {}, "Time of a step"),
    time_key,
    time_box.element,
    el("h3", {}, "Memory of the fullest stage"),
    memory_key,
    memory_box.element,
    el("p", { class: "note gap-s" }, "Line: capacity of the device. Pale with a dashed frame: kept in outer memory. Whisker: error of the step time, dashed where nothing of this hardware was ever measured."),
  );
  const roofCard = card("The layer under the roofline", null, roof_of.element, roof_box.element, el("p", { class: "note" }, "A column of points is an operator, a point its speed for one value of the parameter. Points on the slope wait for memory."), roof_words);
  const detailCard = card("Design by design", null, details);
  return {
    elements: [barCard, roofCard, detailCard],
    show(e, j) {
      const paths = e.axes.map((a) => a.parameter);
      const compared: Named[] = j.rows.map((r) => ({ name: r.label === r.name ? r.name : `${r.label}  ${r.name}`, design: r.design })).slice(0, 16);
      const sliced = e.slices.filter((s) => s.best.length > 1 && (j.noun !== "system" || s.parameter !== j.parameter));
      lists = [compared, ...sliced.map((s) => s.best.map((design) => ({ name: valueWords(s.parameter, design.varied[s.parameter]!), design })))];
      const kept = which.get();
      which.offer([{ value: "0", label: j.noun === "system" ? "best of each system" : "best designs" }, ...sliced.map((s, i) => ({ value: String(i + 1), label: `best for each ${shortName(s.parameter, paths)}` }))]);
      if (kept !== "" && Number(kept) < lists.length) which.set(kept);
      which.element.hidden = lists.length < 2;
      barCard.hidden = compared.length === 0;
      drawBars();
      slices = e.slices.filter((s) => (s.roofline ?? []).some((r) => r.operators.length > 0));
      roof_of.offer(slices.map((s, i) => ({ value: String(i), label: shortName(s.parameter, paths) })));
      roof_of.element.hidden = slices.length < 2;
      roofCard.hidden = slices.length === 0;
      drawRoofs();
      detailCard.hidden = compared.length === 0;
      const made = compared.map((n, i) => detail(n, i === 0));
      fill(details, made.map((d) => d.element));
      prepare_print = () => made.forEach((d) => d.make());
    },
  };
}
