/* The form of a network: the generator and its keys, or a file; prices; the rail and path in colour. */

import type { Generator, GeneratorKey } from "../../api/topology_types.js";
import { el, fill } from "../../base/dom.js";
import { parseYaml, printYaml, type Yaml, type YamlMap } from "../../base/yaml.js";
import { plainWords } from "../../draw/network.js";
import { fileButton } from "../../ui/drop.js";
import { type TiersField, tiersField } from "./tiers.js";
import { checkField, type Choice, type Field, selectField, sliderField, textField } from "../../ui/fields.js";
import { type NetworkChoice, type TopologyState, type Way } from "./state.js";

export interface FormEvents {
  choose(generator: string): void;
  edit(key: string, value: Yaml | undefined): void;
  cluster(npus: number): void;
  file(patch: { link?: string; npus_per_nic?: number }): void;
  show(patch: Partial<TopologyState>, gesture: string): void;
  upload(file: File): void;
}

export interface NetworkForm {
  element: HTMLElement;
  offer(generators: readonly Generator[], clusters: readonly string[]): void;
  show(state: TopologyState, npus: number, rails: number, per_node: number): void;
  fail(message: string | null): void;
}

/* Before the name of a cluster in the list: generators have no such names. */
export const CLUSTER = "cluster ";
const STOPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const PRICE_NAMES: readonly [string, string][] = [["switch", "Switch, $"], ["copper", "Copper cable, $"], ["optical", "Optical end, $ (two per cable)"], ["nic", "NIC, $"]];
const LATE = new Set(["link", "latency", "node-link", "node-latency", "nic-link", "switch-latency", "power", "links", "failed", "cost"]);
/* Keys of the generators that a form of fields cannot hold: they are edited as text. */
const WORDS: { [key: string]: string } = { npus: "Accelerators of a node or leaf", nodes: "Nodes", n: "Accelerators", spines: "Spines", leaves: "Leaves", cables: "Cables from a leaf to each spine", "nodes-per-leaf": "Nodes of a leaf", nics: "NICs of a node", dims: "Sizes of the dimensions", planes: "Planes", link: "Rate of a cable", latency: "Latency of a cable", "node-link": "Rate inside a node", "node-latency": "Latency inside a node", "switch-latency": "Latency of a switch", "node-switch": "Switch inside nodes" };

/* "fat-tree: …; dragonfly: …" and "…; switch chips of nvl" describe a key by topology. */
function describeKey(key: GeneratorKey, topology: string): string {
  const parts = key.description.split("; ");
  const family = topology.replace(/\+$/, "");
  const part = parts.find((p) => p.startsWith(`${family}: `)) ?? parts.find((p) => p.includes(family)) ?? parts[0] ?? "";
  return part.replace(/^[a-z-]+: /, "").replace(/\s*\(.*$/, "").replace(/NPU/g, "accelerator").replace(/ of a (group of a )?(HyperX|dragonfly\+?|Slim Fly)$/, (_, group) => (group === undefined ? "" : " of a group")).replace(/ of nvl$/, "");
}

function fieldName(key: GeneratorKey, topology: string): string {
  const words = WORDS[key.key];
  if (words !== undefined) return words;
  const about = describeKey(key, topology);
  return about.length <= 40 ? `${about.charAt(0).toUpperCase()}${about.slice(1)} (${key.key})` : key.key;
}

/* "[8, 8]" in the words of the field: lists without brackets where they are plain. */
function valueText(value: Yaml | undefined): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && value.every((v) => typeof v === "number")) return value.join(", ");
  return typeof value === "object" ? printYaml({ x: value }).replace(/^x:\s*/, "").trim() : String(value);
}

function readValue(text: string, key: GeneratorKey): Yaml | undefined {
  const words = text.trim();
  if (words === "") return undefined;
  if (key.type === "count") return /^\d+$/.test(words.replaceAll(",", "")) ? Number(words.replaceAll(",", "")) : words;
  if (key.type !== "list" && key.type !== "map") return words;
  try {
    const read = parseYaml(`x: ${/^[[{]/.test(words) || !words.includes(",") ? words : `[${words}]`}`) as YamlMap;
    return Array.isArray(read["x"]) || typeof read["x"] === "object" || key.key === "switches" || key.key === "p" ? read["x"] : [read["x"] ?? null];
  } catch {
    return words; /* the engine says what is wrong with it */
  }
}

export function networkForm(events: FormEvents): NetworkForm {
  const generator = selectField("Topology", [], (name) => events.choose(name));
  const own = el("div");
  const late = el("div");
  const prices = el("div");
  const about = el("p", { class: "hint about" });
  const error = el("p", { class: "err", role: "alert", hidden: true });
  const link = textField("Links without a rate", (v) => events.file({ link: v.trim() }), { placeholder: "*=400 Gb/s,500 ns", hint: "NAME=RATE,LATENCY; * for all kinds of links" });
  const per_nic = textField("Accelerators per NIC", (v) => events.file({ npus_per_nic: Math.max(0, Math.floor(Number(v)) || 0) }), { type: "number", min: 0, hint: "for fabrics that list none" });
  const fileBox = el("div", {}, link.element, per_nic.element);
  const size = sliderField("Accelerators", STOPS, (v) => events.cluster(v));
  const rail = sliderField("Rail shown", [0, 1, 2, 3, 4, 5, 6, 7], (v) => events.show({ rail: v }, "rail"));
  const way = selectField("Path shown", [], (v) => events.show({ way: v as Way }, "way"));
  const from = textField("From accelerator", (v) => events.show({ from: Number(v) || 0 }, "from"), { type: "number", min: 0 });
  const to = textField("To accelerator", (v) => events.show({ to: Number(v) || 0 }, "to"), { type: "number", min: 0 });
  const ends = el("div", { class: "pair" }, from.element, to.element);
  const details = el("details", { class: "plain" }, el("summary", {}, "Rates, prices, faults …"), late, prices, el("p", { class: "hint" }, "Prices are ballpark, worked out from table 3 of arXiv 2505.09343; put your quote in their place."));
  let list: readonly Generator[] = [];
  let shown = "";
  let tiers: TiersField | null = null;
  let description_now: YamlMap = {};
  let fields = new Map<string, Field<string> | Field<number> | Field<boolean>>();

  const makeField = (key: GeneratorKey, value: Yaml | undefined): HTMLElement => {
    const label = fieldName(key, String(description_now["topology"] ?? ""));
    if (key.key === "tiers") {
      tiers = tiersField((value_now) => events.edit("tiers", value_now));
      return tiers.element;
    }
    if (key.type === "yes or no") {
      const field = checkField(label, (v) => events.edit(key.key, v));
      fields.set(key.key, field);
      return field.element;
    }
    if (key.words !== undefined) {
      const field = selectField(label, [{ value: "", label: "default" }, ...key.words.map((w) => ({ value: w, label: w }))], (v) => events.edit(key.key, v === "" ? undefined : v));
      fields.set(key.key, field);
      return field.element;
    }
    if (key.type === "count" && typeof value === "number") {
      const field = sliderField(label, STOPS, (v) => events.edit(key.key, v));
      fields.set(key.key, field);
      return field.element;
    }
    const hint = key.type === "list" || key.type === "map" ? key.description.replace(/NPU/g, "accelerator") : null;
    const field = textField(label, (v) => events.edit(key.key, readValue(v, key)), { placeholder: "default", ...(hint === null ? {} : { hint }) });
    fields.set(key.key, field);
    return field.element;
  };
  const build = (g: Generator, description: YamlMap): void => {
    fields = new Map();
    tiers = null;
    description_now = description;
    const keys = g.keys.filter((k) => k.key !== "cost" && k.key !== "file" && k.key !== "format");
    const given = (k: GeneratorKey): number => (description[k.key] === undefined ? 1 : 0);
    const mine = keys.filter((k) => !LATE.has(k.key)).sort((a, b) => given(a) - given(b));
    const first = mine.filter((k) => given(k) === 0 || mine.length <= 3);
    const rest = mine.filter((k) => !first.includes(k));
    fill(own, first.map((k) => makeField(k, description[k.key])));
    fill(late, [...rest, ...keys.filter((k) => LATE.has(k.key))].map((k) => makeField(k, description[k.key])));
    fill(prices, PRICE_NAMES.map(([name, label]) => {
      const field = textField(label, (v) => {
        const now = { ...(description_now["cost"] as YamlMap | undefined) };
        if (v.trim() === "" || !(Number(v) >= 0)) delete now[name];
        else now[name] = `${Number(v)} USD`;
        events.edit("cost", Object.keys(now).length === 0 ? undefined : now);
      }, { type: "number", min: 0, step: 100 });
      fields.set(`cost ${name}`, field);
      return field.element;
    }));
  };
  const paint = (description: YamlMap): void => {
    description_now = description;
    tiers?.show(description["tiers"]);
    for (const [key, field] of fields) {
      const focused = field.element.contains(document.activeElement) && document.activeElement?.getAttribute("type") !== "range";
      const price = key.startsWith("cost ") ? (description["cost"] as YamlMap | undefined)?.[key.slice(5)] : undefined;
      const value = key.startsWith("cost ") ? (price === undefined ? undefined : String(price).replace(/\s*USD$/, "")) : description[key];
      if (focused) continue;
      const current = field.get();
      if (typeof current === "boolean") (field as Field<boolean>).set(value === undefined ? key === "node-switch" || key === "merge" : value === true);
      else if (typeof current === "number") (field as Field<number>).set(Number(value));
      else (field as Field<string>).set(valueText(value));
    }
  };
  const showOwn = (description: YamlMap): void => {
    const name = String(description["topology"] ?? "").replace("rail-optimized", "rail-optimised");
    const g = list.find((x) => x.topology === name);
    generator.set(name);
    fill(about, g === undefined ? "" : `${plainWords(g.description)}.`);
    const shape = `${name} ${g?.keys.map((k) => (typeof description[k.key] === "number" ? "#" : "")).join(",") ?? ""}`;
    if (g !== undefined && shape !== shown) {
      shown = shape;
      build(g, description);
    }
    paint(description);
  };
  const showWays = (state: TopologyState, npus: number, per_node: number): void => {
    const ways: Choice[] = per_node > 1
      ? [{ value: "same", label: "to the same place of the last node" }, { value: "pxn", label: "… to another, changing rails in the node (PXN)" }, { value: "fabric", label: "… to another, through the fabric" }]
      : [{ value: "same", label: "from the first to the last accelerator" }];
    way.offer([...ways, { value: "own", label: "between two of your own choice" }]);
    way.set(per_node > 1 || state.way === "own" ? state.way : "same");
    ends.hidden = state.way !== "own";
    if (!from.element.contains(document.activeElement)) from.set(String(state.from));
    if (!to.element.contains(document.activeElement)) to.set(String(state.to));
    const bad = state.way === "own" && !(state.from < npus && state.to < npus && state.from !== state.to);
    to.fail(bad && npus > 0 ? `Choose two different accelerators from 0 to ${npus - 1}.` : null);
  };
  return {
    element: el("form", { class: "controls card", "aria-label": "Network", on: { submit: (e: Event) => e.preventDefault() } },
      generator.element, about, own, size.element, fileBox, error, rail.element, way.element, ends, details,
      el("div", { class: "gap" }, fileButton("Open a file …", (files) => events.upload(files[0]!)), el("p", { class: "hint" }, "or drop one anywhere: ns-3, HTSim, InfraGraph, NCCL XML, ibnetdiscover, Slurm, node-link JSON, SimGrid, or a description of halley's own"))),
    offer(generators, clusters) {
      list = generators;
      const group = (name: string): string => (/tree|leaf|rail/.test(name) ? "Trees and rails" : /dragonfly|hyperx|slim/.test(name) ? "Low diameter" : /torus|mesh|ring|full|dims/.test(name) ? "Direct" : "Small and written out");
      const order = ["Trees and rails", "Low diameter", "Direct", "Small and written out"];
      const own_ones = [...generators].filter((g) => g.example !== undefined).map((g) => ({ value: g.topology, label: g.topology, group: group(g.topology) })).sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
      generator.offer([...own_ones, ...clusters.map((name) => ({ value: `${CLUSTER}${name}`, label: name, group: "Clusters of the presets" }))]);
      shown = "";
    },
    show(state, npus, rails, per_node) {
      const a: NetworkChoice = state.a;
      fileBox.hidden = a.kind !== "file";
      own.hidden = details.hidden = a.kind !== "own";
      size.element.hidden = a.kind !== "cluster";
      if (a.kind === "file") {
        generator.set(a.path.replace(/^.*\//, ""));
        fill(about, "A file of another tool, or a description of halley's own.");
        if (!link.element.contains(document.activeElement)) link.set(a.link);
        if (!per_nic.element.contains(document.activeElement)) per_nic.set(a.npus_per_nic > 0 ? String(a.npus_per_nic) : "");
        shown = "";
      } else if (a.kind === "cluster") {
        generator.set(`${CLUSTER}${a.name}`);
        fill(about, "The fabric of this cluster and the insides of its nodes, as one network.");
        size.set(a.npus);
        shown = "";
      } else showOwn(a.description);
      rail.element.hidden = rails < 2;
      rail.offer(Array.from({ length: Math.max(1, Math.min(rails, 256)) }, (_, i) => i));
      rail.set(state.rail);
      showWays(state, npus, per_node);
    },
    fail(message) {
      error.hidden = message === null;
      fill(error, message);
    },
  };
}
