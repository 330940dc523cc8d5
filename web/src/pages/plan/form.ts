/* The form of the Plan page: model, cluster, software, sliders for the degrees of parallelism, and
 * every other key of a plan behind one line. */

import type { ModelFacts } from "../../api/catalog.js";
import type { Plan, PlanValue } from "../../api/types.js";
import { el, fill } from "../../base/dom.js";
import { count, percent } from "../../base/format.js";
import { type Field, type Repair, checkField, type SegmentField, segmentField, selectField, type SliderField, sliderField, textField } from "../../ui/fields.js";
import { fileButton } from "../../ui/drop.js";
import { MAIN_OPTIONS, OTHER_OPTIONS, type PlanOption } from "./options.js";
import { type PlanState, readPlanValue } from "./state.js";

export interface FormEvents {
  /* `gesture` names the field */
  change(patch: Partial<PlanState>, gesture: string): void;
  plan(patch: Plan, gesture: string): void;
  /* let the engine's default decide again */
  unset(key: string): void;
  files(files: File[]): void;
  takeBest(): void;
}

export interface PlanForm {
  element: HTMLElement;
  offer(models: readonly string[], clusters: readonly string[], stacks: readonly string[]): void;
  /* Show the state; `resolved` is the plan with the engine's defaults, if known. */
  show(state: PlanState, resolved: Plan | null, facts: ModelFacts, device: string, assumed: readonly string[]): void;
  /* Put the sentence under the field that caused it. */
  fail(key: string, message: string, repair?: Repair): void;
  clear(): void;
  canTakeBest(can: boolean): void;
}

const NPU_STOPS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const MAX_DEGREE = 128;

function divisors(n: number, limit: number): number[] {
  const out: number[] = [];
  for (let d = 1; d <= Math.min(n, limit); d++) if (n % d === 0) out.push(d);
  return out;
}

/* At most about nine stops: powers of two of the list, and what else fits. */
function thin(list: number[]): number[] {
  if (list.length <= 9) return list;
  const powers = list.filter((n) => (n & (n - 1)) === 0);
  return powers.length >= 4 ? powers : list.filter((_, i) => i % Math.ceil(list.length / 9) === 0 || i === list.length - 1);
}

function withValue(stops: number[], value: number): number[] {
  return stops.includes(value) ? stops : [...stops, value].sort((a, b) => a - b);
}

const SHARDING = [
  { value: "zero-0", label: "none" },
  { value: "zero-1", label: "ZeRO 1" },
  { value: "zero-2", label: "ZeRO 2" },
  { value: "zero-3", label: "ZeRO 3" },
  { value: "fsdp", label: "FSDP" },
];

const RECOMPUTE = ["none", "selective", "full"].map((value) => ({ value, label: value }));

function listOf(plan: Plan, key: string, fallback: number): number {
  const value = plan[key];
  return typeof value === "number" ? value : fallback;
}

interface Sliders {
  [key: string]: SliderField;
}

/* Stops that can be right, given the other degrees. */
function offerStops(sliders: Sliders, state: PlanState, plan: Plan, facts: ModelFacts): void {
  const n = state.npus;
  const get = (key: string): number => listOf(plan, key, 1);
  const batch = listOf(plan, "global_batch", 128);
  const replicas = Math.max(1, Math.floor(n / (get("tp") * get("pp") * get("cp"))));
  const layers = facts.layers ?? 64;
  const offer = (key: string, stops: number[]): void => sliders[key]!.offer(withValue(thin(stops), get(key)));
  sliders["npus"]!.offer(withValue(NPU_STOPS, n));
  offer("tp", divisors(n, Math.min(facts.heads ?? MAX_DEGREE, 64)));
  offer("pp", divisors(n, Math.min(layers, MAX_DEGREE)));
  offer("cp", divisors(n, 64));
  offer("ep", divisors(facts.experts ?? 1, 256));
  offer("virtual", divisors(Math.max(1, Math.floor(layers / get("pp"))), 32));
  offer("micro_batch", divisors(Math.max(1, Math.floor(batch / replicas)), 64));
  sliders["virtual"]!.disable(get("pp") === 1);
  sliders["ep"]!.show(facts.experts !== null || get("ep") > 1);
}

function sharding(plan: Plan): string {
  return plan["fsdp"] !== undefined && plan["fsdp"] !== 0 ? "fsdp" : `zero-${String(plan["zero"] ?? 1)}`;
}

/* One field of the details. */
function optionField(o: PlanOption, events: FormEvents): Field<string | boolean> {
  const send = (value: PlanValue | null): void => (value === null || value === "" ? events.unset(o.key) : events.plan({ [o.key]: value }, o.key));
  if (o.kind === "flag") return checkField(o.label, (ticked) => send(ticked)) as Field<string | boolean>;
  if (o.kind === "text") return textField(o.label, (words) => send(words.trim() === "" ? null : readPlanValue(words.trim()))) as Field<string | boolean>;
  const choices = o.kind.map((value) => ({ value, label: value }));
  return selectField(o.label, choices, (value) => send(readPlanValue(value))) as unknown as Field<string | boolean>;
}

/* One line that opens to the fields: what was given, and what was assumed. */
function summarize(plan: Plan, headroom: number, assumed: readonly string[]): string {
  const given = `Batch ${count(listOf(plan, "global_batch", 0))}, headroom ${percent(headroom)}`;
  return assumed.length === 0 ? `${given}, and every other key` : `${given}; assumed: ${assumed.join(", ")}`;
}

export function planForm(events: FormEvents): PlanForm {
  const degree = (key: string, label: string): SliderField => sliderField(label, [1, 2, 4, 8], (value) => events.plan({ [key]: value }, key));
  const model = selectField("Model", [], (value) => events.change({ model: value }, "model"), "or drop a config.json or a launch file anywhere");
  const cluster = selectField("Cluster", [], (value) => events.change({ cluster: value }, "cluster"));
  const stack = selectField("Training software", [], (value) => events.change({ stack: value }, "stack"));
  const npus = sliderField("GPUs", NPU_STOPS, (value) => events.change({ npus: Math.round(value) }, "npus"));
  const sliders: Sliders = {
    npus,
    tp: degree("tp", "Tensor parallel (tp)"),
    pp: degree("pp", "Pipeline stages (pp)"),
    cp: degree("cp", "Context parallel (cp)"),
    ep: degree("ep", "Expert parallel (ep)"),
    virtual: degree("virtual", "Virtual stages per GPU"),
    micro_batch: degree("micro_batch", "Micro-batch, sequences"),
  };
  const recompute: SegmentField = segmentField("Recomputation", RECOMPUTE, (value) => events.plan({ recompute: value }, "recompute"));
  const shard: SegmentField = segmentField("Sharding over data-parallel ranks", SHARDING, (value) =>
    events.plan(value === "fsdp" ? { fsdp: "all", zero: 3 } : { fsdp: 0, zero: Number(value.slice(5)) }, "zero"),
  );
  const summary = el("summary");
  const headroom = textField("Headroom, % of the memory", (words) => {
    const share = Number(words) / 100;
    if (words.trim() !== "" && Number.isFinite(share)) events.change({ headroom: share }, "headroom");
  }, { type: "number", step: 1, min: 0 });
  const fields = new Map<string, Field<string | boolean>>();
  const build = (list: readonly PlanOption[]): HTMLElement[] =>
    list.map((o) => {
      const field = optionField(o, events);
      fields.set(o.key, field);
      return field.element;
    });
  const more = el("details", { class: "plain" }, el("summary", {}, "Every other key of a plan"), el("div", { class: "options" }, build(OTHER_OPTIONS)));
  const details = el("details", { class: "plain" }, summary, el("div", { class: "options" }, build(MAIN_OPTIONS), headroom.element), more);
  const general = el("div", { class: "err", role: "alert" });
  const best = el("button", { class: "btn full", type: "button", disabled: true, on: { click: events.takeBest } }, "Take the best plan");
  const element = el(
    "form",
    { class: "controls card", "aria-label": "Model, cluster and plan" },
    model.element,
    fileButton("Choose a file …", events.files),
    el("div", { class: "gap" }),
    cluster.element,
    stack.element,
    Object.values(sliders).map((s) => s.element),
    recompute.element,
    shard.element,
    general,
    details,
    best,
  );
  element.addEventListener("submit", (event) => event.preventDefault());
  const byKey: { [key: string]: Pick<Field<unknown>, "fail"> } = { ...sliders, model, cluster, stack, recompute, zero: shard, fsdp: shard, headroom };
  return {
    element,
    offer(models, clusters, stacks) {
      const plain = (names: readonly string[]): { value: string; label: string }[] => names.map((name) => ({ value: name, label: name }));
      const [m, c, s] = [model.get(), cluster.get(), stack.get()];
      model.offer(plain(models));
      cluster.offer(plain(clusters));
      stack.offer([{ value: "", label: "none chosen: default constants" }, ...plain(stacks)]);
      if (m !== "") model.set(m);
      if (c !== "") cluster.set(c);
      stack.set(s);
    },
    show(state, resolved, facts, device, assumed) {
      const plan = { ...(resolved ?? {}), ...state.plan };
      model.set(state.model);
      cluster.set(state.cluster);
      stack.set(state.stack);
      npus.set(state.npus);
      for (const key of Object.keys(sliders)) if (key !== "npus") sliders[key]!.set(listOf(plan, key, 1));
      offerStops(sliders, state, plan, facts);
      npus.element.querySelector("label")!.textContent = `${device === "GPU" ? "GPU" : device.charAt(0).toUpperCase() + device.slice(1)}s`;
      const kind = String(plan["recompute"] ?? "none");
      recompute.offer(RECOMPUTE.some((c) => c.value === kind) ? RECOMPUTE : [...RECOMPUTE, { value: kind, label: kind }]);
      recompute.set(kind);
      shard.set(sharding(plan));
      headroom.set(String(Number(((state.headroom ?? 0.04) * 100).toFixed(2))));
      fill(summary, summarize(plan, state.headroom ?? 0.04, assumed));
      for (const [key, field] of fields) {
        const value = plan[key];
        if (field.element.contains(document.activeElement)) continue;
        field.set(field.element.classList.contains("check") ? value === true : value === undefined ? "" : String(value));
      }
    },
    fail(key, message, repair) {
      const field = byKey[key] ?? fields.get(key);
      if (field !== undefined) {
        field.fail(message, repair);
        if (fields.has(key) || key === "headroom") details.open = true;
        if (OTHER_OPTIONS.some((o) => o.key === key)) more.open = true;
        return;
      }
      fill(general, message, " ", repair && el("button", { class: "btn small", type: "button", on: { click: repair.apply } }, repair.label));
    },
    clear() {
      for (const field of Object.values(byKey)) field.fail(null);
      for (const field of fields.values()) field.fail(null);
      general.replaceChildren();
    },
    canTakeBest(can) {
      best.toggleAttribute("disabled", !can);
    },
  };
}
