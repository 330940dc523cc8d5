/* Topologies: a network by its parameters or from a file, drawn, counted, timed and compared. */

import { Catalog } from "../../api/catalog.js";
import { asFailure, HalleyError, Lane, ServerGone } from "../../api/client.js";
import { saveBlob, uploadFile } from "../../api/files.js";
import type { Generator, Network, NetworkCounts } from "../../api/topology_types.js";
import { el, fill } from "../../base/dom.js";
import { count, dollars, percent, plural, significant, time } from "../../base/format.js";
import { printYaml, type Yaml } from "../../base/yaml.js";
import { boxSentence, deviceName, drawNetwork, plainWords, things } from "../../draw/network.js";
import { drawSizeLines, type SizeSeries } from "../../draw/size_lines.js";
import { acceptDrops } from "../../ui/drop.js";
import { figureBox } from "../../ui/figure.js";
import { banner, card, fact } from "../../ui/parts.js";
import { table } from "../../ui/table.js";
import type { Page, PageContext, PageView } from "../page.js";
import { bisection, type Compared, compareRows, compareSentence, drawRatio, largestRatio, networkCables, networkSwitches, ratioWords, rateWords, SIZES } from "./compare.js";
import { CLUSTER, networkForm } from "./form.js";
import { choiceName, type NetworkChoice, networkDocument, pathEnds, readExample, readState, START, type TopologyState, writeState } from "./state.js";

const FADE_MS = 150;
const SIZE_KEYS = SIZES.map((s) => `${s} B`);
const LONG_NPUS = 40_000;

const TITLES: { [topology: string]: string } = {
  "rail-optimised": "Rail-optimised network", "rail-only": "Rail-only network", "fat-tree": "Fat tree", "leaf-spine": "Leaves and spines", nvl: "NVLink domain", "dgx-1": "DGX-1",
  "twisted-torus": "Twisted torus", "ocs-torus": "Torus with optical circuits", "fully-connected": "Full mesh", switch: "One switch", hyperx: "HyperX", "slim-fly": "Slim Fly", dims: "Dimensions", edges: "Network as written",
};

function isSame(a: NetworkChoice, b: NetworkChoice | null): boolean {
  return b !== null && JSON.stringify(a) === JSON.stringify(b);
}

function titleWords(choice: NetworkChoice, topology: string): string {
  if (choice.kind === "file") return choice.path.replace(/^.*\//, "");
  if (choice.kind === "cluster") return choice.name;
  return TITLES[topology] ?? `${topology.charAt(0).toUpperCase()}${topology.slice(1)}`;
}

class TopologiesController implements PageView {
  readonly element: HTMLElement;
  private state: TopologyState = START;
  private quick: Network | null = null;
  private full: Network | null = null;
  private other: Network | null = null;
  private otherOf = "";
  private drawnOf = "";
  private fade: number | undefined;
  private generators: readonly Generator[] = [];
  private readonly drawLane: Lane<Network>;
  private readonly timeLane: Lane<Network>;
  private readonly otherLane: Lane<Network>;
  private readonly title = el("h1", { "aria-live": "polite" }, "Networks");
  private readonly lede = el("p", { class: "lede" });
  private readonly scale = el("span", { class: "note" });
  private readonly figure = figureBox("network");
  private readonly route = el("p", { class: "note", "aria-live": "polite" });
  private readonly notes = el("div", { class: "notes" });
  private readonly facts = el("dl", { class: "facts" });
  private readonly reduce = figureBox();
  private readonly all = figureBox();
  private readonly method = el("p", { class: "note gap-s" });
  private readonly sentence = el("p", { class: "verdict compare-verdict", "aria-live": "polite" });
  private readonly names = el("span", { class: "note" });
  private readonly compared;
  private readonly right: HTMLElement;
  private readonly form;
  private readonly catalog: Catalog;
  private most = 1;
  /* of a layer, as asked for last */
  private boxes = 0;

  constructor(private readonly context: PageContext) {
    this.catalog = new Catalog(context.client);
    this.drawLane = new Lane(context.client);
    this.timeLane = new Lane(context.client);
    this.otherLane = new Lane(context.client);
    this.form = networkForm({
      choose: (name) => this.chooseGenerator(name),
      edit: (key, value) => this.edit(key, value),
      cluster: (npus) => this.state.a.kind === "cluster" && this.change({ ...this.state, a: { ...this.state.a, npus } }, "npus"),
      file: (patch) => this.state.a.kind === "file" && this.change({ ...this.state, a: { ...this.state.a, ...patch } }, "file"),
      show: (patch, gesture) => this.change({ ...this.state, ...patch }, gesture),
      upload: (file) => void this.readFile(file),
    });
    this.compared = table<Compared>([
      { name: "Quantity", heading: true, hidden_name: true, cell: (r) => r.name },
      { name: "A", right: true, cell: (r) => (r.a === null ? "unknown" : r.words(r.a)) },
      { name: "B", right: true, cell: (r) => (r.b === null ? (this.other === null || isSame(this.state.a, this.state.b) ? "–" : "unknown") : r.words(r.b)) },
      { name: "B ÷ A", right: true, cell: ratioWords },
      { name: "Ratio as a bar", hidden_name: true, kind: "ratio", cell: (r) => drawRatio(r, this.most, innerWidth > 700 ? 260 : 90) },
    ], { label: "Table: A against B, scrolls sideways" });
    const button = (words: string, press: () => void): HTMLElement => el("button", { class: "btn", type: "button", on: { click: press } }, words);
    const actions = el("div", { class: "actions" }, button("Compare with this", () => this.change({ ...this.state, b: this.state.a }, "pin")), button("Swap A and B", () => this.state.b !== null && this.change({ ...this.state, a: this.state.b, b: this.state.a }, "swap")), button("Save .yaml", () => this.save()));
    this.form.element.append(actions);
    const drawing = card("Drawing", this.scale, this.figure.element, this.route, this.notes);
    const counts = card("Counts and cost", null, this.facts);
    const times = card("Collectives over all accelerators", el("span", { class: "note" }, "closed forms on an idle network: a lower bound"), el("div", { class: "grid cols2" }, this.reduce.element, this.all.element), this.method);
    const against = card("A against B", this.names, this.sentence, this.compared.element);
    this.right = el("div", { class: "grid col-r" }, drawing, counts, times, against);
    this.element = el("div", { class: "topologies" }, el("div", { class: "title" }, this.title, this.lede), el("div", { class: "grid side" }, this.form.element, this.right));
    context.signal.addEventListener("abort", () => [this.drawLane, this.timeLane, this.otherLane].forEach((lane) => lane.drop()));
    acceptDrops((files) => void this.readFile(files[0]!), context.signal);
    const watcher = new ResizeObserver(() => {
      if (this.boxes > 0 && this.quick !== null && this.boxes !== this.boxesThatFit()) this.ask();
    });
    watcher.observe(this.figure.element);
    context.signal.addEventListener("abort", () => watcher.disconnect());
    const listed = context.client.request<{ topologies: Generator[] }>({ do: "topology.list" }, { signal: context.signal });
    const clusters = this.catalog.names("cluster").catch(() => []);
    void Promise.all([listed, clusters]).then(([r, names]) => {
      this.generators = r.topologies;
      this.form.offer(r.topologies, names);
      this.showForm();
    }, () => undefined);
  }

  navigate(query: URLSearchParams): void {
    this.state = readState(query);
    this.ask();
  }

  private change(next: TopologyState, gesture: string): void {
    this.state = next;
    this.context.write(writeState(next), gesture);
    this.ask();
  }

  private chooseGenerator(name: string): void {
    if (name.startsWith(CLUSTER)) {
      const npus = this.state.a.kind === "cluster" ? this.state.a.npus : 64;
      this.change({ ...this.state, a: { kind: "cluster", name: name.slice(CLUSTER.length), npus }, way: "same", rail: START.rail }, `generator ${name}`);
      return;
    }
    const example = this.generators.find((g) => g.topology === name)?.example;
    if (example === undefined) return;
    this.change({ ...this.state, a: { kind: "own", description: readExample(example) }, way: "same", rail: START.rail }, `generator ${name}`);
  }

  private edit(key: string, value: Yaml | undefined): void {
    if (this.state.a.kind !== "own") return;
    const description = { ...this.state.a.description };
    if (value === undefined) delete description[key];
    else description[key] = value;
    this.change({ ...this.state, a: { kind: "own", description } }, key);
  }

  private boxesThatFit(): number {
    return (this.figure.element.clientWidth || innerWidth - 60) > 640 ? 32 : 16;
  }

  private perNode(): number {
    const d = this.quick?.drawing;
    const node = d?.boxes.find((b) => b.kind === "node");
    return node === undefined ? 1 : node.npus / node.n;
  }

  private showForm(): void {
    this.form.show(this.state, this.quick?.devices["npu"] ?? 0, this.quick?.drawing?.rails ?? 0, this.perNode());
  }

  /* The drawing first; cuts and times, which take longer, follow. */
  private ask(): void {
    this.showForm();
    clearTimeout(this.fade);
    this.fade = window.setTimeout(() => this.right.classList.add("faded"), FADE_MS);
    const document = networkDocument(this.state.a);
    const of = JSON.stringify(this.state.a);
    const known = this.quick !== null && this.drawnOf === of;
    const ends = known ? pathEnds(this.state, this.quick!.devices["npu"] ?? 0, this.perNode()) : null;
    this.boxes = this.boxesThatFit();
    const more = { no_cuts: true, boxes: this.boxes, rail: this.state.rail, ...(ends === null ? {} : { path: ends.join(","), no_pxn: this.state.way === "fabric" }) };
    this.drawLane.ask({ ...document, ...more }, (network, newest) => {
      this.quick = network;
      this.drawnOf = of;
      this.form.fail(null);
      this.showDrawing();
      if (!newest) return;
      if (!known && pathEnds(this.state, network.devices["npu"] ?? 0, this.perNode()) !== null) {
        this.ask();
        return;
      }
      clearTimeout(this.fade);
      this.right.classList.remove("faded");
      this.askTimes(of);
      this.askOther();
    }, (error, newest) => newest && this.showFailure(error));
  }

  private askTimes(of: string): void {
    const npus = this.quick?.devices["npu"] ?? 0;
    if (this.full !== null && this.fullOf === of) {
      this.showTimes();
      return;
    }
    this.full = null;
    this.showTimes();
    this.timeLane.ask({ ...networkDocument(this.state.a), size: SIZE_KEYS, ...(npus > LONG_NPUS ? { no_times: true } : {}) }, (network) => {
      this.full = network;
      this.fullOf = of;
      this.showTimes();
    }, (error) => {
      if (error instanceof HalleyError) fill(this.method, error.message);
    });
  }
  private fullOf = "";

  private askOther(): void {
    const { b } = this.state;
    const of = JSON.stringify(b);
    if (b === null || of === this.otherOf) {
      if (b === null) this.other = null;
      this.otherOf = of;
      this.showTimes();
      return;
    }
    this.otherLane.ask({ ...networkDocument(b), size: SIZE_KEYS, boxes: 1 }, (network) => {
      this.other = network;
      this.otherOf = of;
      this.showTimes();
    }, () => {
      this.other = null;
      this.otherOf = of;
      this.showTimes();
    });
  }

  private showDrawing(): void {
    const n = this.quick;
    const d = n?.drawing;
    if (n === null || d === undefined) return;
    const npus = n.devices["npu"] ?? 0;
    const name = titleWords(this.state.a, n.topology);
    fill(this.title, npus > 0 ? `${name}, ${plural(npus, "accelerator")}` : `${name}, ${things(n.endpoints, n.endpoint_kind)}`);
    const g = this.generators.find((x) => x.topology === n.topology);
    fill(this.lede, this.state.a.kind === "file" ? `Read as ${n.topology}.` : this.state.a.kind === "cluster" ? `Its fabric and the insides of its nodes, as one network.` : g === undefined ? "" : `${plainWords(g.description)}.`);
    fill(this.scale, boxSentence(d));
    this.showForm();
    this.figure.draw((width) => drawNetwork(d, name, this.state.rail, width, (rail) => this.change({ ...this.state, rail }, "rail")));
    this.showRoute(n);
    const warnings = (n.warnings ?? []).slice(0, 6).map((w) => el("li", {}, w));
    fill(this.notes, n.note !== undefined && el("p", { class: "note" }, `Note: ${n.note}.`), !n.connected && banner("tight", `Not connected: ${plural(n.components, "part")}.`), warnings.length > 0 && banner("tight", plural((n.warnings ?? []).length, "warning"), el("ul", {}, warnings)));
    this.showFacts();
  }

  private showRoute(n: Network): void {
    const d = n.drawing!;
    if (d.path === undefined) {
      fill(this.route, d.no_path ?? "");
      return;
    }
    const stops = d.path.stops.map((s) => deviceName(s.name)).join(" → ");
    const how = [plural(d.path.stops.length - 1, "link"), d.path.latency_s === undefined ? "latency unknown" : `${time(d.path.latency_s)} latency`, d.path.gbps === undefined ? "rate unknown" : `${rateWords(d.path.gbps)} at its slowest`];
    fill(this.route, el("span", { class: "route-key", "aria-hidden": "true" }), `${stops}: ${how.join(", ")}.`);
  }

  private showFacts(): void {
    const n = this.quick;
    if (n?.drawing === undefined) return;
    const cut = this.full === null ? null : bisection(this.full);
    const layers = n.drawing.layers.filter((l) => n.drawing!.boxes[l.first_box]?.kind === "switch").map((l) => things(l.n, l.name)).reverse();
    const inside = n.drawing.node_cables;
    const npus = n.devices["npu"] ?? 0;
    const injection = this.full?.injection_gbps_min_max?.[0];
    const over = Object.values(n.oversubscription).map((o) => `${significant(o, 2).replace(/\.0+$/, "")}:1`);
    fill(this.facts,
      fact("Switches", count(networkSwitches(n)), layers.length > 0 ? layers.join(", ") : "none: accelerators pass traffic on"),
      fact("Cables", count(networkCables(n)), inside > 0 ? `and ${count(inside)} links inside nodes` : n.one_way_links > 0 ? `${count(n.one_way_links)} one way` : null),
      fact("Bisection", this.full === null ? "…" : cut === null ? "unknown" : rateWords(cut.gbps), cut === null ? null : cut.kind !== "" ? cut.kind : npus > 0 && injection !== undefined && inside === 0 ? `${percent(cut.gbps / (injection * Math.floor(npus / 2)))} of what half can inject` : npus > 0 ? `${rateWords(cut.gbps / npus)} per accelerator` : null),
      fact("Oversubscription", over.length === 0 ? "none" : over.join(", "), over.length === 0 ? null : "by tier, from below"),
      fact("Diameter", n.diameter_hops === null ? "not connected" : plural(n.diameter_hops, "link"), `${significant(n.mean_hops)} on average`),
      fact("Network cost", n.cost_usd === null ? "no prices" : dollars(n.cost_usd.total), n.cost_usd === null ? "give prices in the form" : `${dollars(n.cost_usd.per_npu)} per accelerator`),
      n.power_w !== null && fact("Power", `${significant(n.power_w.total / 1000)} kW`, `${significant(n.power_w.per_npu)} W per accelerator`),
    );
  }

  private showTimes(): void {
    this.showFacts();
    const [a, b] = [this.full, this.state.b !== null && !isSame(this.state.a, this.state.b) ? this.other : null];
    const series = (get: (t: { all_reduce_s?: number; all_to_all_s?: number }) => number | undefined): SizeSeries[] =>
      ([["A", a], ["B", b]] as const).flatMap(([name, n]) => (n === null ? [] : [{ name, times: (n.collective_times ?? []).map((t) => get(t) ?? null) }]));
    if (a !== null) {
      this.reduce.draw((width) => drawSizeLines("All-reduce", SIZES, series((t) => t.all_reduce_s), width));
      this.all.draw((width) => drawSizeLines("All-to-all", SIZES, series((t) => t.all_to_all_s), width));
      const why = a.times_unknown_because;
      fill(this.method, why !== undefined ? `Unknown: ${plainWords(why)}.` : a.all_reduce_method === undefined ? "Not computed for a network of this size." : `${plainWords(`all-reduce: ${a.all_reduce_method}. All-to-all: ${a.all_to_all_method ?? ""}${a.all_to_all_busiest_link === undefined ? "" : `, bound by the link ${a.all_to_all_busiest_link.replace("-", " – ")}`}.`)} Rates and latencies of links only: a library's start-up and protocol come on top (Simulate has them).`);
    }
    this.showCompared(a, b);
  }

  private showCompared(a: Network | null, b: Network | null): void {
    if (a === null || this.quick === null) return;
    const rows = compareRows({ ...a, ...(this.quick.drawing === undefined ? {} : { drawing: this.quick.drawing }) }, b);
    this.most = largestRatio(rows);
    this.compared.show(rows);
    if (this.state.b === null || isSame(this.state.a, this.state.b)) {
      fill(this.names, "");
      fill(this.sentence, "Press “Compare with this”, then change the form: A is the form, B what you kept.");
    } else {
      fill(this.names, `A: ${choiceName(this.state.a, this.state.b)} · B: ${choiceName(this.state.b, this.state.a)} · green: B better, orange: B worse`);
      fill(this.sentence, b === null ? "B could not be built." : compareSentence(rows));
    }
  }

  /* What cannot be built may still be counted. */
  private showFailure(error: HalleyError | ServerGone): void {
    clearTimeout(this.fade);
    this.right.classList.add("faded");
    if (error instanceof ServerGone) return;
    const words = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`.replace(/^Topology: /, "");
    this.form.fail(words);
    if (this.state.a.kind !== "own" || !/counted/.test(error.message)) return;
    void this.context.client.request<NetworkCounts>({ ...networkDocument(this.state.a), counts: true }, { signal: this.context.signal }).then((c) => {
      this.form.fail(null);
      this.right.classList.remove("faded");
      fill(this.title, `${titleWords(this.state.a, String((this.state.a.kind === "own" && this.state.a.description["topology"]) || ""))}, ${plural(c.npus, "accelerator")}`);
      fill(this.lede, "Counted and priced, but not drawn: halley does not know its cables.");
      fill(this.facts, fact("Switches", count(c.switches)), fact("Cables", count(c.links), `${count(c.switch_links)} between switches`), fact("Network cost", c.network_cost_usd === undefined ? "no prices" : dollars(c.network_cost_usd), c.network_cost_usd === undefined ? null : `${dollars(c.network_cost_usd / c.npus)} per accelerator`));
      this.quick = this.full = null;
      this.drawnOf = this.fullOf = "";
      this.figure.clear();
      this.reduce.clear();
      this.all.clear();
      for (const place of [this.scale, this.route, this.notes, this.method, this.names, this.sentence]) fill(place);
      this.compared.show([]);
    }, () => undefined);
  }

  private save(): void {
    if (this.state.a.kind === "cluster") {
      const { name } = this.state.a;
      void this.catalog.text(name).then((text) => saveBlob(new Blob([text], { type: "text/yaml" }), `${name}.yaml`), () => undefined);
    }
    if (this.state.a.kind === "own") saveBlob(new Blob([printYaml(this.state.a.description)], { type: "text/yaml" }), "network.yaml");
  }

  private async readFile(file: File): Promise<void> {
    try {
      const path = await uploadFile(this.context.client, file, file.name, this.context.signal);
      this.change({ ...this.state, a: { kind: "file", path, link: "", npus_per_nic: 0 }, way: "same" }, `file ${path}`);
    } catch (error) {
      if (!this.context.signal.aborted) this.form.fail(`${file.name}: ${asFailure(error).message}`);
    }
  }
}

export const topologiesPage: Page = {
  name: "topologies",
  title: "Topologies",
  open: (context) => new TopologiesController(context),
};
