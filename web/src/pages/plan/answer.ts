/* The answer of the Plan page: the step with its error, whether it fits, where the time goes,
 * memory by stage. */

import { deviceWord } from "../../api/catalog.js";
import type { Change, ErrorBar, Estimate, Numbers } from "../../api/types.js";
import { type Child, el, fill } from "../../base/dom.js";
import { big, bytes, count, errorShare, percent, si, significant, time } from "../../base/format.js";
import { chooseStages, drawMemoryBars, type MemoryRow } from "../../draw/memory_bars.js";
import { familySentence, MEMORY, PARTS } from "../../draw/parts.js";
import { drawStepBars, type StepRow } from "../../draw/step_bar.js";
import { drawHeroWhisker } from "../../draw/hero_whisker.js";
import { figureBox } from "../../ui/figure.js";
import { banner, card, explained, fact, memoryWords, partList, refill, stateChip } from "../../ui/parts.js";

export interface Neighbour {
  label: string;
  apply: () => void;
  /* null while it is being asked */
  result: Estimate | null;
  refused: string | null;
}

export interface BestPlan {
  step_s: number;
  parts_s: Numbers | null;
}

export interface AnswerEvents {
  explain(what: string): void;
  /* null where a change cannot be applied: in reports */
  apply: ((change: Change) => void) | null;
}

export interface Answer {
  hero: HTMLElement;
  time: HTMLElement;
  memory: HTMLElement;
  live: HTMLElement;
  /* opens Simulate with this plan; hidden until it has a place to go to */
  simulate: HTMLAnchorElement;
  show(estimate: Estimate, best: BestPlan | null, neighbours: readonly Neighbour[]): void;
}

/* 14.4 and "s", 820 and "ms" */
function splitTime(seconds: number): [string, string] {
  const [number = "", unit = ""] = time(seconds).split(" ");
  return [number, unit];
}

/* What the error rests on, in a sentence. */
export function errorSentence(bar: ErrorBar | undefined, seconds: number): Child {
  if (bar === undefined) return "The error of this estimate is not known.";
  const range = el("strong", {}, `± ${time(seconds * bar.typical, 2)}`);
  if (bar.measured === false) {
    return [range, ` or more: no run of this chip was ever compared, so the error is a guess (${errorShare(bar.typical)} typical, ${errorShare(bar.bound)} bound).`];
  }
  const runs = bar.runs === undefined ? "" : ` on ${count(bar.runs)} comparable runs of ${count(bar.sources ?? 1)} sources (${bar.class ?? "all"})`;
  const unmeasured = bar.unmeasured === undefined ? "" : ` No measured run had ${bar.unmeasured}.`;
  return [range, ` typically, ${errorShare(bar.bound)} at most for 19 of 20: what halley missed by${runs}, each predicted without its source.${unmeasured}`];
}

function fitBanner(e: Estimate, device: string, apply: AnswerEvents["apply"]): HTMLElement | null {
  if (e.fits && e.fit !== "may-fit" && e.fit !== "may-need-offload") return null;
  const limit = e.capacity_bytes * (1 - e.headroom);
  const beyond = e.device_bytes > e.capacity_bytes
    ? `${bytes(e.device_bytes - e.capacity_bytes)} more than the ${bytes(e.capacity_bytes)} of a ${device}`
    : `${bytes(e.device_bytes - limit)} into the headroom of ${percent(e.headroom)}`;
  const kind = e.fit === "does-not-fit" ? "over" : "tight";
  const words = kind === "over" ? "Does not fit" : "May not fit";
  const changes = e.changes ?? [];
  const item = (c: Change): HTMLElement =>
    el(
      "li",
      {},
      apply !== null && el("button", { class: "btn small", type: "button", "aria-label": `Apply ${c.change}`, on: { click: () => apply(c) } }, "Apply"),
      ` ${c.change}: ${time(c.step_s)}, ${bytes(c.device_bytes)}`,
    );
  const body = changes.length === 0 ? el("p", {}, "No single change makes it fit. “Take the best plan” may.") : el("ul", {}, changes.map(item));
  return banner(kind, `${words}: stage ${e.fullest_stage} needs ${bytes(e.device_bytes)}, ${beyond}.`, body);
}

function memoryRows(e: Estimate): MemoryRow[] {
  const stages = e.stages ?? [{ stage: 0, memory_bytes: e.memory_bytes, device_bytes: e.device_bytes }];
  /* what is over the limit of a stage lies in outer memory, if the plan spreads */
  const limit = e.spilled_bytes === undefined ? Infinity : e.capacity_bytes * (1 - e.headroom);
  return stages.map((s) => ({ name: stages.length > 1 ? `stage ${s.stage}` : "all", bytes: s.memory_bytes, total: s.device_bytes, spilled: Math.max(0, s.device_bytes - limit) }));
}

function neighbourItem(n: Neighbour): HTMLElement {
  const state: Child = n.result !== null
    ? [stateChip(n.result.fit), el("span", { class: "muted small" }, `${memoryWords(n.result.device_bytes, n.result.spilled_bytes)}, ${time(n.result.step_s)}`)]
    : el("span", { class: "muted small" }, n.refused ?? "…");
  return el("li", {}, el("button", { class: "btn small", type: "button", "aria-label": `Try ${n.label}`, on: { click: n.apply } }, n.label), state);
}

export function planAnswer(events: AnswerEvents): Answer {
  const live = el("span", { class: "live push", role: "status" }, "starting");
  const number = el("div", { class: "nowrap hero-number" });
  const whisker = figureBox("gap");
  const error = el("p", { class: "note" });
  const fits = el("div", { "aria-live": "polite" });
  const facts = el("dl", { class: "facts" });
  const warnings = el("div", { class: "gap", "aria-live": "polite" });
  const hero = el(
    "section",
    { class: "card hero", "aria-label": "One training step" },
    el("div", { class: "hero-grid" },
      el("div", {}, el("div", { class: "head" }, el("h2", { class: "small muted" }, "One training step"), live), number, whisker.element, error),
      el("div", {}, fits, facts)),
    warnings,
  );
  const family = el("span", { class: "note" });
  const bars = figureBox();
  const parts = el("div");
  const zero = el("p", { class: "note gap-s" });
  const loss = el("p", { class: "loss" });
  const simulate = el("a", { class: "btn", hidden: true }, "Simulate this plan");
  const timeCard = card("Where the time goes", family, loss, bars.element, parts, zero, el("p", { class: "gap-s no-print" }, simulate));
  const state = el("span");
  const memory = figureBox();
  const classes = el("div");
  const left_out = el("p", { class: "note" });
  const near = el("ul", { class: "nearby" });
  const near_head = el("h3", { class: "small gap" }, "What else would fit?");
  const title = el("span", {}, "Memory per GPU");
  const memoryCard = card(title, state, memory.element, left_out, classes, near_head, near);

  const showHero = (e: Estimate, best: BestPlan | null, device: string): void => {
    const [digits, unit] = splitTime(e.step_s);
    const fitting = e.fit === "does-not-fit" ? `${unit} per step, if it fitted` : `${unit} per step`;
    refill(number, `${digits} ${fitting}`, () => [explained(digits, "Step", () => events.explain("step"), `num n${e.fit === "does-not-fit" ? " unfit" : ""}`), el("span", { class: "u" }, fitting)]);
    whisker.draw((width) => drawHeroWhisker({ value: e.step_s, error: e.error_bar ?? null, other: best?.step_s ?? null }, width));
    fill(error, errorSentence(e.error_bar, e.step_s), best !== null && [" ", el("span", { class: "diamond", "aria-hidden": "true" }), ` best plan found: ${time(best.step_s)}.`]);
    refill(fits, JSON.stringify([e.fit, e.device_bytes, e.changes]), () => fitBanner(e, device, events.apply));
    const peak = e.mfu > 0 ? e.model_flops_per_s_per_npu / e.mfu : 0;
    refill(facts, JSON.stringify([device, e.tokens_per_s, e.npus, e.mfu, e.hfu, e.device_bytes, e.fit]), () => [
      fact(`Tokens/s per ${device}`, explained(count3(e.tokens_per_s_per_npu), "Tokens per second", () => events.explain("tokens")), `${big(e.tokens_per_s)} in total`),
      fact(`TFLOP/s per ${device}`, explained(significant(e.model_flops_per_s_per_npu / 1e12), "TFLOP per second", () => events.explain("flops")), `of ${si(peak, "FLOP/s")} at peak`),
      fact("MFU", explained(percent(e.mfu, 1), "MFU", () => events.explain("mfu")), e.hfu > e.mfu * 1.0005 ? `HFU ${percent(e.hfu, 1)} with recomputation` : "no repeated work"),
      fact("Memory", explained(bytes(e.device_bytes - (e.spilled_bytes ?? 0)), "Memory", () => events.explain("memory")), [stateChip(e.fit), e.spilled_bytes !== undefined && ` + ${bytes(e.spilled_bytes)} in outer memory`]),
    ]);
    fill(warnings, (e.warnings ?? []).map((w) => el("p", { class: "note" }, "⚠ ", w)));
  };
  const showTime = (e: Estimate, best: BestPlan | null): void => {
    const bar = e.error_bar ?? null;
    const rows: StepRow[] = [{ name: "This plan", step_s: e.step_s, parts_s: e.parts_s, strong: true, error: bar }];
    if (best !== null && best.parts_s !== null) rows.push({ name: "Best plan", step_s: best.step_s, parts_s: best.parts_s, strong: false, error: bar });
    bars.draw((width) => drawStepBars(rows, width));
    fill(family, familySentence(e.parts_s, e.step_s));
    fill(loss, e.loss !== undefined && `${e.loss.charAt(0).toUpperCase()}${e.loss.slice(1).replace(/\.?$/, ".")}`);
    loss.hidden = e.loss === undefined;
    const shown = PARTS.filter((p) => (e.parts_s[p.key] ?? 0) > e.step_s * 1e-6);
    refill(parts, JSON.stringify(e.parts_s), () => partList(shown.map((p) => ({ ...p, value: time(e.parts_s[p.key]!), share: e.parts_s[p.key]! / e.step_s, explain: () => events.explain(`part.${p.key}`) })), 1));
    const none = PARTS.filter((p) => p.key in e.parts_s && !shown.includes(p)).map((p) => p.name.split(",")[0]!.toLowerCase());
    fill(zero, none.length > 0 && `No time in: ${none.join(", ")}.`);
  };
  const showMemory = (e: Estimate, device: string, neighbours: readonly Neighbour[]): void => {
    fill(title, `Memory per ${device}`);
    fill(state, stateChip(e.fit, `: ${memoryWords(e.device_bytes, e.spilled_bytes)} of ${bytes(e.capacity_bytes)}`));
    const rows = memoryRows(e);
    memory.draw((width) => drawMemoryBars(rows, { bytes: e.capacity_bytes, headroom: e.headroom }, width));
    const missing = chooseStages(rows).left_out;
    fill(left_out, missing > 0 && `${count(missing)} of ${count(rows.length)} stages are left out; the fullest is shown.`);
    const shown = MEMORY.filter((m) => (e.memory_bytes[m.key] ?? 0) >= 1e6);
    refill(classes, JSON.stringify([e.memory_bytes, e.capacity_bytes, e.offloaded_bytes, e.spilled_bytes]), () => [
      partList(shown.map((m) => ({ ...m, value: bytes(e.memory_bytes[m.key]!), share: e.memory_bytes[m.key]! / e.capacity_bytes, explain: () => events.explain(`memory.${m.key}`) })), 0),
      e.spilled_bytes !== undefined && el("p", { class: "note gap-s" }, `${bytes(e.spilled_bytes)} of these are kept in outer memory, all classes in proportion.`),
      (e.offloaded_bytes ?? 0) > 0 && el("p", { class: "note gap-s" }, `${bytes(e.offloaded_bytes!)} more are kept in outer memory.`),
    ]);
    near_head.hidden = near.hidden = e.fit === "does-not-fit" || neighbours.length === 0;
    refill(near, JSON.stringify([e.plan, e.npus, neighbours.map((n) => [n.label, n.result?.step_s])]), () => neighbours.map(neighbourItem));
  };
  return {
    hero,
    time: timeCard,
    memory: memoryCard,
    live,
    simulate,
    show(e, best, neighbours) {
      const device = deviceWord(e.cluster);
      showHero(e, best, device);
      showTime(e, best);
      showMemory(e, device, neighbours);
    },
  };
}

function count3(n: number): string {
  return n >= 100 ? count(n) : significant(n);
}
