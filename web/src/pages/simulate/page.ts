/* Simulate: a plan or traces event by event: the verdict, a timeline with the critical path, links and
 * memory at the cursor. */

import { asFailure, type Client, HalleyError } from "../../api/client.js";
import { type Columns, forgetPlaces, requestColumns } from "../../api/columns.js";
import { uploadFile } from "../../api/files.js";
import { el, fill } from "../../base/dom.js";
import { bytes, count, percent, plural, signed, time } from "../../base/format.js";
import { endGesture } from "../../base/url_state.js";
import { drawLinkMap, isInside, linkParts, type LinkMap, meanUse, USE_STEPS } from "../../draw/link_map.js";
import { drawMemoryTime, levelAt, type MemoryFigure, memoryLines } from "../../draw/memory_time.js";
import { acceptDrops } from "../../ui/drop.js";
import { figureBox } from "../../ui/figure.js";
import { card, progressBar, stateChip } from "../../ui/parts.js";
import { timelineView } from "../../ui/timeline.js";
import type { Page, PageContext, PageView } from "../page.js";
import { simulateForm } from "./form.js";
import { busiest, headline, linkTable, pathBar, pathList, rankTable, showChanges, type Simulated, spreads } from "./result.js";
import { readSimulate, runKey, simulateDocument, type SimulateState, writeSimulate } from "./state.js";

const PLAY_S = 8;

interface Loaded {
  traces: string[];
  groups: string;
  n_ranks: number;
  /* the traces hold the times of a recording */
  recorded: boolean;
}

interface TraceInfo {
  n_ranks: number;
  form: string;
  metadata: { name: string }[];
}

/* Traces as they are, or recordings linked into traces; a file of groups is recognised by its name. */
async function loadTraces(client: Client, files: readonly File[], signal: AbortSignal): Promise<Loaded> {
  const sorted = [...files].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const paths: string[] = [];
  let groups = "";
  for (const file of sorted) {
    const path = await uploadFile(client, file, file.name, signal);
    if (/comm_group.*\.json$/i.test(file.name)) groups = path;
    else paths.push(path);
  }
  if (paths.length === 0) throw new HalleyError({ code: "usage", message: "A file of groups alone cannot be simulated; drop it together with its traces." });
  const info = await client.request<TraceInfo>({ do: "trace.info", trace: paths }, { signal });
  const recorded = info.metadata.some((m) => m.name === "recording");
  if (!recorded || info.form !== "built in memory") return { traces: paths, groups, n_ranks: info.n_ranks, recorded };
  /* Requests write among the uploads only over what is there. */
  const out = info.n_ranks === 1 ? await uploadFile(client, new Blob(["-"]), "linked.et", signal) : `${folderOf(paths[0]!)}/linked`;
  await client.request({ do: "trace.link", recording: paths, out }, { signal });
  return { traces: [out], groups, n_ranks: info.n_ranks, recorded };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

class SimulateController implements PageView {
  readonly element: HTMLElement;
  private state: SimulateState | null = null;
  private shown = "";
  private columns: Columns | null = null;
  private result: Simulated | null = null;
  private work: AbortController | null = null;
  private helping = new AbortController();
  private links: LinkMap | null = null;
  private memory: MemoryFigure | null = null;
  private lines: ReturnType<typeof memoryLines> = [];
  private playing: number | undefined;
  private readonly verdict = el("h1", { class: "verdict", "aria-live": "polite" }, "Simulating …");
  private readonly lede = el("p", { class: "lede" });
  private readonly bar = progressBar();
  private readonly form;
  private readonly timeline;
  private readonly slider = el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": "Time of the cursor" });
  private readonly play = el("button", { class: "btn small play", type: "button", "aria-label": "Play" }, "▶");
  private readonly at = el("output", { class: "cursor-time" });
  private readonly linkBox = figureBox();
  private readonly linkTitle = el("span");
  private readonly linkNote = el("span", { class: "note" });
  private readonly linkFoot = el("p", { class: "note" });
  private readonly linkKey = useKey();
  private readonly linkList = el("div", { class: "gap-s" });
  private readonly memoryBox = figureBox();
  private readonly memoryNote = el("p", { class: "note" });
  private readonly memoryState = el("span");
  private readonly pathBox = figureBox();
  private readonly pathBelow = el("div");
  private readonly helps = el("div", { class: "gap" });
  private readonly ranks = el("div");
  private readonly notes = el("div");
  private readonly body: HTMLElement;
  private readonly timelineCard: HTMLElement;
  private readonly linkCard: HTMLElement;
  private readonly memoryCard: HTMLElement;
  private readonly noTimeline = el("p", { class: "note", hidden: true });

  constructor(private readonly context: PageContext) {
    this.form = simulateForm(context.client, { run: (state) => this.start(state), cancel: () => this.work?.abort(), files: (files) => void this.take(files) });
    this.timeline = timelineView({ cursor: (s) => this.moveCursor(s, true), moved: (_state, gesture) => this.write(gesture) }, context.signal);
    this.slider.addEventListener("input", () => this.moveCursor((Number(this.slider.value) / 1000) * (this.columns?.end_s ?? 1), false));
    this.slider.addEventListener("change", endGesture);
    this.play.addEventListener("click", () => this.togglePlay());
    this.timelineCard = card("Timeline", null, this.noTimeline, this.timeline.element, el("div", { class: "cursor-bar" }, this.play, this.slider, this.at));
    this.linkCard = card(this.linkTitle, this.linkNote, this.linkKey, this.linkBox.element, this.linkFoot, this.linkList);
    const path = card("What the critical path is made of", null, this.pathBox.element, this.pathBelow, this.helps);
    this.memoryCard = card("Memory over time", this.memoryState, this.memoryBox.element, this.memoryNote);
    const ranks = card("Per rank", null, this.ranks, this.notes);
    this.body = el("div", { class: "grid fades" }, this.timelineCard, el("div", { class: "grid two-one" }, this.linkCard, path, this.memoryCard, ranks));
    this.body.hidden = true;
    this.element = el("div", { class: "simulate" }, el("div", { class: "title" }, this.verdict, this.lede, this.bar.element), el("div", { class: "grid" }, this.body, this.form.element));
    acceptDrops((files) => void this.take(files), context.signal);
    context.signal.addEventListener("abort", () => {
      this.work?.abort();
      this.helping.abort();
      clearInterval(this.playing);
    });
  }

  navigate(query: URLSearchParams): void {
    this.state = readSimulate(query);
    this.form.show(this.state);
    if (runKey(this.state) === this.shown && this.columns !== null) {
      this.timeline.show(this.columns, this.state.view);
      this.moveCursor(this.timeline.state().cursor_s, true);
      return;
    }
    this.run();
  }

  private write(gesture: string): void {
    if (this.state === null || this.columns === null) return;
    this.context.write(writeSimulate(this.state, this.timeline.state(), this.columns.end_s), gesture);
  }

  private start(state: SimulateState): void {
    this.state = state;
    endGesture();
    this.context.write(writeSimulate(state, null, 0), "run");
    endGesture();
    this.form.show(state);
    this.run();
  }

  private async take(files: File[]): Promise<void> {
    const abort = this.begin(`Reading ${plural(files.length, "file")} …`);
    try {
      const { traces, groups, n_ranks, recorded } = await loadTraces(this.context.client, files, abort.signal);
      if (abort.signal.aborted) return;
      this.work = null;
      /* traces without times of their own need a cluster: one with as many accelerators as ranks */
      const cluster = recorded ? "" : `${this.state!.plan.cluster}:${n_ranks}`;
      this.start({ ...this.state!, traces, groups, names: files.map((f) => f.name), cluster, view: {} });
    } catch (error) {
      this.end(abort, error);
    }
  }

  private begin(words: string): AbortController {
    this.work?.abort();
    const abort = new AbortController();
    this.work = abort;
    this.body.classList.add("faded");
    this.form.running(true);
    this.bar.start();
    if (this.result === null) fill(this.verdict, words);
    return abort;
  }

  private end(abort: AbortController, error: unknown): void {
    if (this.work === abort) this.work = null;
    else if (this.work !== null) return;
    this.form.running(false);
    this.bar.end("");
    this.body.classList.remove("faded");
    if (error === null) return;
    if (abort.signal.aborted) {
      this.bar.end(this.result === null ? "Cancelled." : "Cancelled. The figures show the run before.");
      if (this.result === null) fill(this.verdict, "Nothing was simulated.");
      return;
    }
    const failure = asFailure(error);
    if (failure.name === "ServerGone") {
      forgetPlaces();
      if (this.result === null) fill(this.verdict, failure.message);
      return;
    }
    fill(this.verdict, "This cannot be simulated.");
    fill(this.lede, failure.message);
    this.form.fail(failure.message, /\b(tp|pp|cp|ep|virtual|micro_batch|global_batch|seq)\b/.exec(failure.message)?.[1] ?? "");
    this.body.classList.add("faded");
  }

  private run(): void {
    const state = this.state!;
    const abort = this.begin("Simulating …");
    const progress = { signal: abort.signal, progress: this.bar.show };
    void requestColumns<Simulated>(this.context.client, simulateDocument(state), "columns", "simulate.columns", progress).then(
      ({ result, columns, why }) => {
        if (abort.signal.aborted) return;
        this.end(abort, null);
        this.shown = runKey(state);
        this.result = result;
        this.show(result, columns, why);
      },
      (error: unknown) => this.end(abort, error),
    );
  }

  private show(r: Simulated, columns: Columns | null, why: string): void {
    this.body.hidden = false;
    this.columns = columns;
    fill(this.verdict, headline(r));
    fill(this.lede, this.describe(r));
    const kinds = r.critical_path?.kinds ?? [];
    if (kinds.length > 0) this.pathBox.draw((width) => pathBar(kinds, width));
    else this.pathBox.clear();
    fill(this.pathBelow, kinds.length > 0 ? [pathList(kinds), el("p", { class: "note" }, `${plural(r.critical_path!.steps, "step")}. Making anything else faster does not shorten the run.`)] : el("p", { class: "note" }, "The critical path was not followed."));
    fill(this.ranks, rankTable(spreads(r)));
    fill(this.notes, [...(r.warnings ?? []), ...(r.assumed ?? []).map((a) => `Assumed: ${a.text}`)].slice(0, 6).map((w) => el("p", { class: "note" }, w)));
    this.showHelp();
    this.timeline.element.hidden = columns === null;
    this.noTimeline.hidden = columns !== null;
    fill(this.noTimeline, columns === null ? `No timeline: ${why}.` : "");
    this.linkCard.hidden = this.memoryCard.hidden = columns === null;
    if (columns === null) return;
    this.timeline.show(columns, this.state!.view);
    this.showLinks(columns, r);
    this.showMemory(columns, r);
    this.moveCursor(this.timeline.state().cursor_s, true);
  }

  private describe(r: Simulated): string {
    const parts: string[] = [];
    if (r.model !== undefined) {
      const p = r.plan ?? {};
      parts.push(`${r.model} on ${count(r.ranks ?? 0)} × ${r.cluster ?? ""}, tp ${String(p["tp"])}, pp ${String(p["pp"])}, dp ${String(p["dp"])}, batch ${String(p["global_batch"])} × ${count(Number(p["seq"]))}`);
      parts.push(`${count(r.events ?? 0)} events simulated for ${count(r.events_represented ?? r.events ?? 0)} of all ranks`);
      if (r.estimate_s !== undefined) parts.push(`closed form ${time(r.estimate_s)} (the simulation is ${signed(r.difference ?? 0)})`);
    } else {
      parts.push(`${this.state!.names.slice(0, 3).join(", ")}${this.state!.names.length > 3 ? " …" : ""}`, plural(r.npus ?? 0, "rank"), `${count(r.events ?? 0)} events`, this.state!.cluster === "" ? "as recorded" : `on ${this.state!.cluster}`);
    }
    return parts.join(" · ");
  }

  private showHelp(): void {
    this.helping.abort();
    this.helping = new AbortController();
    fill(this.helps);
    if (this.state!.traces.length === 0) showChanges(this.context.client, this.state!, this.helps, this.helping.signal).catch(() => undefined);
  }

  private showLinks(c: Columns, r: Simulated): void {
    if (c.dimensions.length === 0) {
      this.links = null;
      this.linkBox.clear();
      this.linkKey.hidden = true;
      fill(this.linkTitle, "Links");
      fill(this.linkNote, "mean of the run");
      const replay = this.state!.traces.length > 0 && this.state!.cluster === "";
      fill(this.linkFoot, replay ? "A replay has no network: choose a cluster to simulate one." : "The use of links over time is followed up to 1,024 ranks.");
      fill(this.linkList, linkTable(r));
      return;
    }
    this.linkKey.hidden = false;
    fill(this.linkList);
    this.linkBox.draw((width) => {
      this.links = drawLinkMap(c, width);
      this.links.moveCursor(this.timeline.state().cursor_s);
      return this.links.figure;
    });
    const inside = linkParts(c).some((p, i) => isInside(p, i, c.npus_per_node));
    fill(this.linkFoot, `${inside ? `Node: ${plural(c.npus_per_node, "accelerator")} (dots), links inside it (vertical), their mean (bar). ` : ""}Means over ${time(c.dimensions[0]!.bin_s)}, sending. ${busiest(r)} over the whole run.`);
  }

  private showMemory(c: Columns, r: Simulated): void {
    this.lines = memoryLines(c);
    const peak = this.lines.reduce((best, l) => (l.peak > best.peak ? l : best), this.lines[0] ?? { peak: 0, name: "" });
    fill(this.memoryState, r.fit !== undefined && this.lines.length > 0 && stateChip(r.fit, `: peak ${bytes(peak.peak)} of ${bytes(c.capacity_bytes ?? 0)}, ${peak.name}`));
    if (this.lines.length === 0) {
      this.memory = null;
      this.memoryBox.clear();
      fill(this.memoryNote, "The traces do not say what is in memory.");
      return;
    }
    this.memoryBox.draw((width) => {
      this.memory = drawMemoryTime(c, this.lines, width);
      this.memory.moveCursor(this.timeline.state().cursor_s);
      return this.memory.figure;
    });
  }

  /* All figures show the same time. */
  private moveCursor(at_s: number, from_timeline: boolean): void {
    const c = this.columns;
    if (c === null) return;
    const s = Math.min(c.end_s, Math.max(0, at_s));
    if (!from_timeline) {
      this.timeline.setCursor(s);
      this.write("cursor");
    }
    this.slider.value = String(Math.round((s / c.end_s) * 1000));
    this.slider.setAttribute("aria-valuetext", time(s));
    fill(this.at, time(s, 4));
    fill(this.linkTitle, c.dimensions.length > 0 ? `Links at ${time(s)}` : "Links");
    if (c.dimensions.length > 0) fill(this.linkNote, linkParts(c).map((p) => `${p.name} ${percent(meanUse(c, p, 0, p.dimension.npus, 1, s), 1)}`).join(", "), " in use, mean");
    this.links?.moveCursor(s);
    this.memory?.moveCursor(s);
    const scaled = c.capacity_bytes !== undefined ? " Activations in proportion to the micro-batches in flight; the peak is the estimate's." : "";
    if (this.lines.length > 0) fill(this.memoryNote, `At ${time(s)}: ${this.lines.map((l) => `${l.name} ${bytes(levelAt(l.levels, s))}`).join(", ")}.${scaled}`);
  }

  private togglePlay(): void {
    const stop = this.playing !== undefined;
    clearInterval(this.playing);
    this.playing = undefined;
    this.play.textContent = stop ? "▶" : "❚❚";
    this.play.setAttribute("aria-label", stop ? "Play" : "Pause");
    if (stop) {
      endGesture();
      return;
    }
    this.playing = window.setInterval(() => {
      const end = this.columns?.end_s ?? 0;
      const next = this.timeline.state().cursor_s + (end / PLAY_S) * 0.05;
      if (next >= end || end === 0) this.togglePlay();
      this.moveCursor(Math.min(next, end), false);
    }, 50);
  }
}

/* The steps of the colours of links. */
function useKey(): HTMLElement {
  const words = (i: number): string => (i === 0 ? `< ${100 * USE_STEPS[0]!} %` : i === USE_STEPS.length ? `≥ ${100 * USE_STEPS[i - 1]!} %` : `${100 * USE_STEPS[i - 1]!}–${100 * USE_STEPS[i]!} %`);
  return el("div", { class: "use-key" }, el("span", { class: "note" }, "share of a link's bandwidth in use"), el("ul", {}, Array.from({ length: USE_STEPS.length + 1 }, (_, i) => el("li", { "data-level": i }, el("i", { "aria-hidden": "true", css: { background: `var(--q${i})` } }), words(i)))));
}

export const simulatePage: Page = {
  name: "simulate",
  title: "Simulate",
  open: (context) => new SimulateController(context),
};
