/* What is simulated: a plan, or traces that were dropped. */

import { Catalog } from "../../api/catalog.js";
import type { Client } from "../../api/client.js";
import type { Plan } from "../../api/types.js";
import { el, fill } from "../../base/dom.js";
import { plural } from "../../base/format.js";
import { fileButton } from "../../ui/drop.js";
import { selectField, textField } from "../../ui/fields.js";
import { tabList } from "../../ui/tabs.js";
import { readPlanValue } from "../plan/state.js";
import type { SimulateState } from "./state.js";

export interface SimulateFormEvents {
  run(state: SimulateState): void;
  cancel(): void;
  files(files: File[]): void;
}

export interface SimulateForm {
  element: HTMLElement;
  show(state: SimulateState): void;
  running(is: boolean): void;
  fail(message: string, key: string): void;
}

const NUMBERS: readonly [string, string][] = [
  ["tp", "Tensor parallel (tp)"],
  ["pp", "Pipeline stages (pp)"],
  ["cp", "Context parallel (cp)"],
  ["ep", "Expert parallel (ep)"],
  ["virtual", "Virtual stages"],
  ["micro_batch", "Micro-batch"],
  ["global_batch", "Global batch"],
  ["seq", "Sequence"],
];

const plain = (values: readonly string[]): { value: string; label: string }[] => values.map((value) => ({ value, label: value }));
const NETWORKS = [{ value: "", label: "as the cluster says (flow)" }, ...plain(["flow", "free", "queue"])];
const RANKS = [{ value: "", label: "one of those with equal totals" }, { value: "1", label: "every rank" }];

export function simulateForm(client: Client, events: SimulateFormEvents): SimulateForm {
  let state: SimulateState | null = null;
  const model = selectField("Model", [], () => undefined);
  const cluster = selectField("Cluster", [], () => undefined);
  const stack = selectField("Training software", [], () => undefined);
  const npus = textField("GPUs", () => undefined, { type: "number", min: 1, step: 1 });
  const numbers = new Map(NUMBERS.map(([key, label]) => [key, textField(label, () => undefined, { type: "number", min: 1, step: 1, placeholder: key === "tp" || key === "pp" ? "1" : "default" })]));
  const recompute = selectField("Recomputation", plain(["none", "selective", "full"]), () => undefined);
  const schedule = selectField("Schedule", plain(["1f1b", "gpipe", "breadth-first", "zb-h1", "zb-h2", "zbv", "dualpipe"]), () => undefined);
  const network = selectField("Network model", NETWORKS, () => undefined);
  const every = selectField("Ranks drawn", RANKS, () => undefined);
  const on = selectField("Simulate on", [{ value: "", label: "the machine it was recorded on" }], () => undefined);
  const on_npus = textField("Accelerators, one per trace", () => undefined, { type: "number", min: 1, step: 1 });
  const files = el("p", { class: "note" });
  const error = el("div", { class: "err", role: "alert" });
  const go = el("button", { class: "btn primary", type: "submit" }, "Simulate");
  const stop = el("button", { class: "btn", type: "button", hidden: true, on: { click: events.cancel } }, "Cancel");
  const plan_panel = el("div", { class: "simulate-fields" }, [model, cluster, npus, stack, ...numbers.values(), recompute, schedule].map((f) => f.element));
  const trace_panel = el("div", {}, el("div", { class: "drop" }, el("p", {}, el("strong", {}, "Drop traces here"), ", or ", fileButton("choose files …", events.files, true)), el("p", { class: "hint" }, "Chakra .et, one per rank, with their comm_group.json if there is one; or recordings of profilers (Kineto, nsys, xplane, rocprof), which are linked first. They stay on this machine.")), files, el("div", { class: "simulate-fields" }, on.element, on_npus.element));
  const tabs = tabList("What to simulate", [{ name: "A plan", panel: plan_panel }, { name: "Traces", panel: trace_panel }]);
  const element = el("form", { class: "card simulate-form", "aria-label": "What to simulate" }, el("div", { class: "head" }, el("h2", {}, "What is simulated"), el("span", { class: "push" }, tabs.list)), plan_panel, trace_panel, el("div", { class: "simulate-fields" }, network.element, every.element, el("div", { class: "buttons" }, go, stop)), error);
  const read = (): SimulateState => {
    const before = state!;
    const traces = tabs.selected() === "Traces";
    const changed: Plan = { ...before.plan.plan };
    for (const [key, field] of numbers) {
      if (field.get().trim() === "") delete changed[key];
      else changed[key] = readPlanValue(field.get());
    }
    for (const [key, field, fallback] of [["recompute", recompute, "none"], ["schedule", schedule, "1f1b"]] as const) {
      if (field.get() !== fallback || key in changed) changed[key] = field.get();
    }
    const count = Number(npus.get());
    return {
      ...before,
      plan: { ...before.plan, model: model.get(), cluster: cluster.get(), stack: stack.get(), npus: Number.isFinite(count) && count > 0 ? Math.round(count) : before.plan.npus, plan: changed },
      traces: traces ? before.traces : [],
      names: traces ? before.names : [],
      cluster: on.get() === "" ? "" : `${on.get()}:${Math.max(1, Math.round(Number(on_npus.get())) || 1)}`,
      network: network.get(),
      all_ranks: every.get() === "1",
      view: {},
    };
  };
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (state === null) return;
    if (tabs.selected() === "Traces" && state.traces.length === 0) fill(error, "Drop traces first, or choose files.");
    else events.run(read());
  });
  const catalog = new Catalog(client);
  void Promise.all(["model", "cluster", "stack"].map((kind) => catalog.names(kind))).then(
    ([models, clusters, stacks]) => {
      model.offer(plain(models!));
      cluster.offer(plain(clusters!));
      stack.offer([{ value: "", label: "none chosen: default constants" }, ...plain(stacks!)]);
      on.offer([{ value: "", label: "the machine it was recorded on" }, ...plain(clusters!)]);
      if (state !== null) paint(state);
    },
    () => undefined,
  );
  const paint = (next: SimulateState): void => {
    const plan = next.plan.plan;
    model.set(next.plan.model);
    cluster.set(next.plan.cluster);
    stack.set(next.plan.stack);
    npus.set(String(next.plan.npus));
    for (const [key, field] of numbers) field.set(plan[key] === undefined ? "" : String(plan[key]));
    recompute.set(String(plan["recompute"] ?? "none"));
    schedule.set(String(plan["schedule"] ?? "1f1b"));
    network.set(next.network);
    every.set(next.all_ranks ? "1" : "");
    const [name, n] = next.cluster.split(":");
    on.set(name ?? "");
    on_npus.set(n ?? String(Math.max(1, next.traces.length)));
    fill(files, next.traces.length === 0 ? "" : `${plural(next.names.length, "file")}: ${next.names.slice(0, 4).join(", ")}${next.names.length > 4 ? " …" : ""}`);
  };
  return {
    element,
    show(next) {
      state = next;
      fill(error);
      paint(next);
      tabs.select(next.traces.length > 0 ? "Traces" : "A plan");
    },
    running(is) {
      stop.hidden = !is;
      go.disabled = is;
    },
    fail(message, key) {
      const field = numbers.get(key) ?? ({ model, cluster, stack, npus, recompute, schedule } as { [key: string]: { fail(m: string): void } })[key];
      if (field !== undefined) field.fail(message);
      fill(error, message);
    },
  };
}
