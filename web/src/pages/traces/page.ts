/* Traces: drop recordings of profilers or Chakra traces: what they are, checks, kernels, idle time,
 * communication, timeline, verdict; of two, what got slower. */

import { asFailure } from "../../api/client.js";
import { columnsPlace, forgetPlaces } from "../../api/columns.js";
import { downloadFile, uploadFile } from "../../api/files.js";
import { type Child, el, fill } from "../../base/dom.js";
import { percent, plural, time } from "../../base/format.js";
import { endGesture } from "../../base/url_state.js";
import { acceptDrops, fileButton } from "../../ui/drop.js";
import { figureBox } from "../../ui/figure.js";
import { card, progressBar } from "../../ui/parts.js";
import { timelineView } from "../../ui/timeline.js";
import type { Page, PageContext, PageView } from "../page.js";
import { emphasize } from "../simulate/result.js";
import { compareView } from "./compare.js";
import { loadRecording, type Recording } from "./recording.js";
import { checkChip, classList, drawWindow, factChips, findingsView, idleList, talkTable, typeTable } from "./view.js";

type Which = "a" | "b";

interface Choice {
  paths: string[];
  name: string;
}

/* Files of one set differ in a number only. */
function isSet(files: readonly File[]): boolean {
  const stem = (name: string): string => name.replace(/\d+(?!.*\d)/, "#");
  return files.length > 1 && new Set(files.map((f) => stem(f.name))).size === 1 && files.every((f) => /\.\d+\./.test(f.name));
}

function setName(files: readonly File[]): string {
  return files.length === 1 ? files[0]!.name : `${files[0]!.name} and ${files.length - 1} more`;
}

class TracesController implements PageView {
  readonly element: HTMLElement;
  private chosen: { a: Choice | null; b: Choice | null } = { a: null, b: null };
  private loaded: { a: Recording | null; b: Recording | null } = { a: null, b: null };
  private keys = { a: "", b: "" };
  private work: AbortController | null = null;
  private comparing = new AbortController();
  private readonly bar = progressBar();
  private readonly stop = el("button", { class: "btn small", type: "button", hidden: true, on: { click: () => this.work?.abort() } }, "Cancel");
  private readonly error = el("div", { class: "banner", role: "alert", hidden: true });
  private readonly head = el("div");
  private readonly verdict = el("h1", { class: "verdict", "aria-live": "polite" });
  private readonly window = figureBox();
  private readonly kernels = el("div");
  private readonly idle = el("div");
  private readonly talk = el("div");
  private readonly findings = el("div");
  private readonly timelineTitle = el("span");
  private readonly noTimeline = el("p", { class: "note", hidden: true });
  private readonly timeline;
  private readonly compare = el("div");
  private readonly compareCard: HTMLElement;
  private readonly kernelTitle = el("span");
  private readonly idleCard: HTMLElement;
  private readonly idleNote = el("span", { class: "note" });
  private readonly body: HTMLElement;
  private readonly empty: HTMLElement;

  constructor(private readonly context: PageContext) {
    this.timeline = timelineView({ cursor: () => undefined, moved: () => undefined }, context.signal);
    const top = el("section", { class: "card", "aria-label": "The recording" }, this.head, this.verdict, this.window.element);
    this.idleCard = card("Why the device was idle", this.idleNote, this.idle);
    const right = el("div", { class: "grid" }, this.idleCard, card("Communication by group", null, this.talk));
    const left = card(this.kernelTitle, el("span", { class: "note" }, "share of the window, per device"), this.kernels);
    const timeline = card(this.timelineTitle, null, this.noTimeline, this.timeline.element);
    this.compareCard = card("Two recordings: what got slower", null, this.compare);
    this.body = el("div", { class: "grid fades" }, top, this.compareCard, el("div", { class: "grid even" }, left, right), timeline, card("Checks", null, this.findings));
    const drop = el("div", { class: "drop" }, el("p", {}, el("strong", {}, "Drop a recording here"), ", or ", fileButton("choose files …", (files) => void this.take(files, null), true)), el("p", { class: "hint" }, "Kineto (PyTorch profiler) .json or .json.gz, Nsight Systems .sqlite, xplane.pb of JAX, rocprofv3 .json or .csv, Chakra .et. Two files: comparison. They stay on this machine."));
    this.empty = el("div", { class: "title" }, el("h1", { class: "verdict" }, "Where does the time of a recorded step go?"), el("p", { class: "lede" }, "Drop a recording of a profiler, or traces: kernels by class, why the device was idle, what communication is exposed; with two, what got slower."));
    this.element = el("div", { class: "traces" }, this.empty, this.error, el("div", { class: "progress-row" }, this.bar.element, this.stop), this.body, drop);
    this.body.hidden = true;
    this.compareCard.hidden = true;
    acceptDrops((files) => void this.take(files, null), context.signal);
    context.signal.addEventListener("abort", () => {
      this.work?.abort();
      this.comparing.abort();
    });
  }

  navigate(query: URLSearchParams): void {
    const read = (which: Which): Choice | null => {
      const paths = query.getAll(which);
      return paths.length === 0 ? null : { paths, name: query.get(`${which}_name`) ?? paths[0]!.split("/").pop()! };
    };
    this.chosen = { a: read("a"), b: read("b") };
    void this.load();
  }

  private query(): URLSearchParams {
    const query = new URLSearchParams();
    for (const which of ["a", "b"] as const) {
      const choice = this.chosen[which];
      if (choice === null) continue;
      for (const path of choice.paths) query.append(which, path);
      query.set(`${which}_name`, choice.name);
    }
    return query;
  }

  private choose(chosen: { a: Choice | null; b: Choice | null }): void {
    this.chosen = chosen;
    endGesture();
    this.context.write(this.query(), "files");
    endGesture();
    void this.load();
  }

  /* Dropped files: a set, one recording, or two. A single one is compared with what is there, unless the
   * user said that it takes the place of A. */
  private async take(files: File[], as: Which | null): Promise<void> {
    const abort = this.begin();
    const sorted = [...files].sort((x, y) => x.name.localeCompare(y.name, "en", { numeric: true }));
    const upload = async (list: File[]): Promise<Choice> => {
      const paths: string[] = [];
      for (const [i, file] of list.entries()) {
        this.bar.show({ what: "uploading", noun: "files", done: i, total: list.length });
        paths.push(await uploadFile(this.context.client, file, file.name, abort.signal));
      }
      return { paths, name: setName(list) };
    };
    try {
      const groups = sorted.length === 1 || isSet(sorted) ? [sorted] : files.length === 2 ? files.map((f) => [f]) : [sorted];
      const choices: Choice[] = [];
      for (const group of groups) choices.push(await upload(group));
      this.work = null;
      if (choices.length === 2) this.choose({ a: choices[0]!, b: choices[1]! });
      else if (as === "a" || this.loaded.a === null) this.choose({ a: choices[0]!, b: as === "a" ? this.chosen.b : null });
      else this.choose({ a: this.chosen.a, b: choices[0]! });
    } catch (error) {
      this.end(abort, error, setName(files));
    }
  }

  private begin(): AbortController {
    this.work?.abort();
    this.work = new AbortController();
    this.error.hidden = true;
    this.stop.hidden = false;
    this.bar.start();
    this.body.classList.add("faded");
    return this.work;
  }

  private end(abort: AbortController, error: unknown, name: string): void {
    if (this.work !== null && this.work !== abort) return;
    this.work = null;
    this.stop.hidden = true;
    this.bar.end("");
    this.body.classList.remove("faded");
    if (error === null) return;
    if (abort.signal.aborted) {
      this.bar.end("Cancelled.");
      return;
    }
    const failure = asFailure(error);
    if (failure.name === "ServerGone") forgetPlaces();
    this.error.hidden = false;
    fill(this.error, el("strong", {}, `${name} cannot be read.`), ` ${failure.message}`);
  }

  private async load(): Promise<void> {
    const abort = this.begin();
    let name = "";
    try {
      for (const which of ["a", "b"] as const) {
        const choice = this.chosen[which];
        const key = choice?.paths.join("\n") ?? "";
        if (key === this.keys[which] && (choice === null) === (this.loaded[which] === null)) continue;
        name = choice?.name ?? "";
        this.loaded[which] = choice === null ? null : await this.read(choice, which, abort);
        this.keys[which] = key;
      }
      if (abort.signal.aborted) return;
      this.end(abort, null, "");
      this.show();
    } catch (error) {
      this.end(abort, error, name);
      this.show();
    }
  }

  private read(choice: Choice, which: Which, abort: AbortController): Promise<Recording> {
    return loadRecording(this.context.client, choice.paths, choice.name, `${which}.columns`, { signal: abort.signal, progress: this.bar.show });
  }

  private show(): void {
    const { a, b } = this.loaded;
    this.body.hidden = a === null;
    this.empty.hidden = a !== null;
    this.comparing.abort();
    if (a === null) return;
    this.comparing = new AbortController();
    this.showHead(a);
    this.showParts(a);
    this.compareCard.hidden = b === null;
    if (b !== null) fill(this.compare, el("div", { class: "chips gap-s" }, el("span", { class: "chip" }, "A ", el("b", {}, a.name)), el("span", { class: "chip" }, "B ", el("b", {}, b.name)), this.button("⇄ Swap", () => this.swap()), this.button("Remove B", () => this.choose({ a: this.chosen.a, b: null }))), compareView(this.context.client, a, b, this.comparing.signal));
  }

  private swap(): void {
    const { a, b } = this.loaded;
    this.loaded = { a: b, b: a };
    this.keys = { a: this.keys.b, b: this.keys.a };
    this.choose({ a: this.chosen.b, b: this.chosen.a });
  }

  private button(words: string, press: () => void): HTMLElement {
    return el("button", { class: "btn small", type: "button", on: { click: press } }, words);
  }

  private showHead(r: Recording): void {
    const open = this.button("Open in Simulate", () => void this.simulate(r));
    const save = r.kernels !== null && this.button("Save as .et", () => void this.save(r));
    fill(this.head, el("div", { class: "head" }, el("span", { class: "mono file-name" }, r.name), checkChip(r.check), el("span", { class: "push buttons" }, open, save, fileButton("Another recording", (files) => void this.take(files, "a")))));
    const verdict: Child[] = r.kernels !== null ? emphasize(sentence(r.kernels.verdict)) : [`${plural(r.info.n_ranks, "rank")} with ${plural(r.info.nodes, "node")}, a chain of ${plural(r.info.depth, "node")} deep.`];
    fill(this.verdict, verdict);
    this.head.append(el("div", { class: "gap-s" }));
    if (r.kernels !== null && r.kernels.device_span_s > 0) this.window.draw((width) => drawWindow(r, width));
    else this.window.clear();
    this.verdict.after(factChips(r));
    for (const old of [...this.verdict.parentElement!.querySelectorAll(":scope > .chips")].slice(1)) old.remove();
  }

  private showParts(r: Recording): void {
    const k = r.kernels;
    this.kernelTitle.textContent = k !== null ? "Kernels by class" : "What it holds";
    fill(this.kernels, k !== null ? classList(k) : typeTable(r));
    this.idleCard.hidden = k === null;
    if (k !== null) {
      fill(this.idleNote, `${time(k.idle["s"] ?? 0)} of ${time(k.device_span_s)}, ${percent((k.idle["s"] ?? 0) / Math.max(k.device_span_s, 1e-12))}`);
      fill(this.idle, idleList(k));
    }
    fill(this.talk, talkTable(r));
    fill(this.findings, findingsView(r));
    fill(this.timelineTitle, r.columns !== null ? `Timeline, ${time(r.columns.end_s)}` : "Timeline");
    this.timeline.element.hidden = r.columns === null;
    this.noTimeline.hidden = r.columns !== null;
    fill(this.noTimeline, r.columns === null ? `No timeline: ${r.why}. Open it in Simulate to see when its nodes would run.` : "");
    if (r.columns !== null) this.timeline.show(r.columns, { cursor_s: -1 });
  }

  private async link(r: Recording): Promise<string> {
    if (r.kernels === null) return r.paths[0]!;
    const out = (await columnsPlace(this.context.client, "linked.et")).replace(/\.et$/, r.info.n_ranks > 1 ? "" : ".et");
    await this.context.client.request({ do: "trace.link", recording: r.paths, out }, { signal: this.context.signal, progress: this.bar.show });
    return out;
  }

  private async simulate(r: Recording): Promise<void> {
    const abort = this.begin();
    try {
      const linked = await this.link(r);
      this.end(abort, null, "");
      const query = new URLSearchParams();
      for (const path of r.kernels === null ? r.paths : [linked]) query.append("trace", path);
      query.set("name", r.name);
      if (r.kernels === null) query.set("on", `dgx-h100:${r.info.n_ranks}`);
      this.context.go("simulate", query);
    } catch (error) {
      this.end(abort, error, r.name);
    }
  }

  private async save(r: Recording): Promise<void> {
    const abort = this.begin();
    try {
      const linked = await this.link(r);
      this.end(abort, null, "");
      const stem = r.name.replace(/(\.json|\.sqlite|\.pb|\.csv)?(\.gz)?$/, "");
      if (r.info.n_ranks === 1) await downloadFile(this.context.client, linked, `${stem}.et`);
      else for (let i = 0; i < r.info.n_ranks; i++) await downloadFile(this.context.client, `${linked}.${i}.et`, `${stem}.${i}.et`);
    } catch (error) {
      this.end(abort, error, r.name);
    }
  }
}

/* The engine's words as a sentence. */
function sentence(words: string): string {
  const clean = words.replaceAll("all_to_all", "all-to-all").replaceAll("all_reduce", "all-reduce").replaceAll("all_gather", "all-gather").replaceAll("reduce_scatter", "reduce-scatter");
  return `${clean.charAt(0).toUpperCase()}${clean.slice(1)}${clean.endsWith(".") ? "" : "."}`;
}

export const tracesPage: Page = {
  name: "traces",
  title: "Traces",
  open: (context) => new TracesController(context),
};
