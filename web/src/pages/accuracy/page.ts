/* How good is it: every published run against its prediction, by set and device, and where it is
 * wrong. */

import { Catalog } from "../../api/catalog.js";
import { asFailure, type Client } from "../../api/client.js";
import { uploadFile } from "../../api/files.js";
import { el, fill } from "../../base/dom.js";
import { count, percent, plural, signed, time } from "../../base/format.js";
import { drawErrorBars, type ErrorRow } from "../../draw/error_bars.js";
import { drawRuns, type Run } from "../../draw/run_scatter.js";
import { acceptDrops, fileButton } from "../../ui/drop.js";
import { figureBox } from "../../ui/figure.js";
import { segmentField } from "../../ui/fields.js";
import { card, progressBar } from "../../ui/parts.js";
import { table } from "../../ui/table.js";
import type { Page, PageContext, PageView } from "../page.js";
import { distrust, errorQuantile, type Group, groupRuns, KIND_WORDS, meanError, type Prediction, type ScoredSet, type TimedRun, timedRuns } from "./runs.js";

interface Scores {
  predictions: Prediction[];
  sets: ScoredSet[];
  held_out: boolean;
}

const SIGNS = { dense: "●", experts: "◆", other: "▲" } as const;
const COLOURS = { dense: "--s1", experts: "--s2", other: "--s3" } as const;

/* Scores of the runs that come with halley do not change while the server lives. */
const kept = new Map<string, Promise<Scores>>();

async function askScores(client: Client, held_out: boolean, file: string | null, signal: AbortSignal, bar: ReturnType<typeof progressBar>): Promise<Scores> {
  const plain = { do: "score", ...(file === null ? {} : { runs: [file] }) };
  const request = { ...plain, ...(held_out ? { cross_validate: true } : {}) };
  const options = { signal, progress: (p: { what: string; noun: string; done: number; total: number }) => bar.show(p) };
  const [rows, sets] = await Promise.all([
    client.request<{ predictions: Prediction[] }>({ ...request, rows: true }, options),
    client.request<{ sets: ScoredSet[] }>(plain, { signal }), /* other metrics have nothing to hold out */
  ]);
  return { predictions: rows.predictions, sets: sets.sets, held_out };
}

class AccuracyController implements PageView {
  readonly element: HTMLElement;
  private scores: Scores | null = null;
  private set = "";
  private device = "";
  private view: "agreement" | "error" = "agreement";
  private held_out = false;
  private file: { name: string; path: string } | null = null;
  private npus: string[] = [];
  private work = new AbortController();
  private readonly bar = progressBar();
  private readonly verdict = el("h1", { class: "verdict", "aria-live": "polite" }, "Reading the published runs …");
  private readonly lede = el("p", { class: "lede" });
  private readonly shown = el("div", { class: "chips" });
  private readonly scatter = figureBox();
  private readonly sets = figureBox();
  private readonly devices = figureBox();
  private readonly worst;
  private readonly others;
  private readonly distrusted = el("div", { class: "distrust" });
  private readonly views;
  private readonly modes;
  private readonly runsTitle = el("span");

  constructor(private readonly context: PageContext) {
    this.views = segmentField("Figure", [{ value: "agreement", label: "Predicted against measured" }, { value: "error", label: "Error" }], (v) => this.change({ view: v === "error" ? "error" : "agreement" }));
    this.modes = segmentField("Constants", [{ value: "", label: "as shipped" }, { value: "1", label: "held out" }], (v) => this.change({ held_out: v === "1" }), "Held out: no run of a layout is seen by the fit that predicts it; takes about half a minute.");
    this.worst = table<TimedRun>([
      { name: "Run", heading: true, cell: (r) => el("span", { class: "run-name" }, r.prediction.id) },
      { name: "Error", right: true, cell: (r) => el("strong", {}, signed(r.error, 0)), by: (r) => -Math.abs(r.error) },
      { name: "Measured", right: true, cell: (r) => time(r.measured), by: (r) => r.measured },
      { name: "Predicted", right: true, cell: (r) => time(r.predicted), by: (r) => r.predicted },
      { name: "Set", kind: "nowrap", cell: (r) => r.prediction.set, by: (r) => r.prediction.set },
      { name: "Device", kind: "wide nowrap", cell: (r) => r.prediction.npu, by: (r) => r.prediction.npu },
    ], { label: "Runs with the largest errors, scrolls sideways" });
    this.others = table<ScoredSet>([
      { name: "Prediction", heading: true, cell: (s) => `${s.metric.charAt(0).toUpperCase()}${s.metric.slice(1)}, ${s.set}` },
      { name: "Runs", right: true, cell: (s) => count(s.scored), by: (s) => s.scored },
      { name: "Mean error", right: true, cell: (s) => el("strong", {}, percent(s.mape, 1)), by: (s) => s.mape },
      { name: "Median", right: true, cell: (s) => percent(s.median_error, 1), by: (s) => s.median_error },
      { name: "Bias", right: true, cell: (s) => signed(s.bias), by: (s) => s.bias },
    ], { label: "Other predictions, scrolls sideways" });
    const key = el("p", { class: "note" }, "Grey band: ± 10 %. Dashed: ± 25 %. ", (["dense", "experts", "other"] as const).map((k) => el("span", {}, el("span", { class: "sign", "aria-hidden": "true", css: { color: `var(${COLOURS[k]})` } }, SIGNS[k]), `${KIND_WORDS[k]} `)));
    const own = el("div", { class: "gap" }, fileButton("Score runs of your own …", (files) => void this.readFile(files[0]!)), el("p", { class: "hint" }, "or drop a list of runs (JSON) or a table of collectives (CSV) anywhere"));
    const runs = card(this.runsTitle, null, this.views.element, this.shown, this.scatter.element, key);
    runs.classList.add("span3");
    const bySet = card("Error by set of runs", el("span", { class: "note" }, "mean; line to the 90th percentile"), this.sets.element, this.modes.element, this.bar.element);
    bySet.classList.add("span2");
    const byDevice = card("Error by device", el("span", { class: "note" }, "mean; line to the 90th percentile"), this.devices.element);
    byDevice.classList.add("span2");
    const wrong = card("Where it is wrong", null, this.worst.element);
    wrong.classList.add("span3");
    const trust = card("What to distrust", null, this.distrusted, own);
    trust.classList.add("span2");
    const other = card("Other predictions", null, this.others.element);
    other.classList.add("span3");
    this.element = el("div", { class: "accuracy" }, el("div", { class: "title" }, this.verdict, this.lede), el("div", { class: "grid five" }, runs, bySet, byDevice, wrong, trust, other));
    context.signal.addEventListener("abort", () => this.work.abort());
    acceptDrops((files) => void this.readFile(files[0]!), context.signal);
    void new Catalog(context.client).names("npu").then((names) => {
      this.npus = names;
      this.show();
    }, () => undefined);
  }

  navigate(query: URLSearchParams): void {
    this.set = query.get("set") ?? "";
    this.device = query.get("device") ?? "";
    this.view = query.get("view") === "error" ? "error" : "agreement";
    const held_out = query.get("held_out") === "1";
    const again = this.scores === null || held_out !== this.held_out;
    this.held_out = held_out;
    this.views.set(this.view);
    this.modes.set(held_out ? "1" : "");
    if (again) void this.load();
    else this.show();
  }

  private change(patch: { set?: string; device?: string; view?: "agreement" | "error"; held_out?: boolean }): void {
    const load = patch.held_out !== undefined && patch.held_out !== this.held_out;
    Object.assign(this, patch);
    const query = new URLSearchParams();
    if (this.set !== "") query.set("set", this.set);
    if (this.device !== "") query.set("device", this.device);
    if (this.view === "error") query.set("view", "error");
    if (this.held_out) query.set("held_out", "1");
    this.context.write(query, JSON.stringify(patch));
    if (load) void this.load();
    else this.show();
  }

  private async load(): Promise<void> {
    this.work.abort();
    this.work = new AbortController();
    const { signal } = this.work;
    const key = `${this.file?.path ?? ""} ${this.held_out}`;
    const wait = this.held_out ? "Fitting each stack anew without the layouts it then predicts; “as shipped” stops it." : "Predicting all runs …";
    const slow = setTimeout(() => this.bar.end(wait), 300);
    try {
      let scores = kept.get(key);
      if (scores === undefined) {
        scores = askScores(this.context.client, this.held_out, this.file?.path ?? null, signal, this.bar);
        kept.set(key, scores);
        scores.catch(() => kept.delete(key));
      }
      this.scores = await scores;
      if (!signal.aborted) this.show();
      clearTimeout(slow);
      this.bar.end("");
    } catch (error) {
      clearTimeout(slow);
      if (signal.aborted) return;
      this.bar.end("");
      fill(this.verdict, "The runs could not be scored.");
      fill(this.lede, this.file === null ? "" : `${this.file.name}: `, asFailure(error).message);
    }
  }

  private async readFile(file: File): Promise<void> {
    try {
      this.file = { name: file.name, path: await uploadFile(this.context.client, file, file.name, this.context.signal) };
      this.set = this.device = "";
      await this.load();
    } catch (error) {
      if (!this.context.signal.aborted) fill(this.lede, `${file.name}: ${asFailure(error).message}`);
    }
  }

  private show(): void {
    const s = this.scores;
    if (s === null) return;
    const all = timedRuns(s.predictions, s.held_out);
    const chosen = all.filter((r) => (this.set === "" || r.prediction.set === this.set) && (this.device === "" || r.prediction.npu === this.device));
    this.showVerdict(all);
    fill(this.runsTitle, `${count(all.length)} ${this.file === null ? "published runs" : `runs of ${this.file.name}`}`);
    const filters = [this.set, this.device].filter((f) => f !== "");
    const all_button = filters.length > 0 && el("button", { class: "btn small", type: "button", on: { click: () => this.change({ set: "", device: "" }) } }, "Show all");
    fill(this.shown, el("span", { class: "chip" }, el("b", {}, count(chosen.length)), ` runs shown${filters.length > 0 ? `: ${filters.join(", ")}` : ""}, mean error `, el("b", {}, percent(meanError(chosen), 1))), all_button);
    const points: Run[] = chosen.map((r) => ({ name: r.prediction.id, measured: r.measured, predicted: r.predicted, kind: r.kind }));
    this.scatter.draw((width) => drawRuns(points, this.view, width));
    const bySet = groupRuns(all, (r) => r.prediction.set).sort((a, b) => a.mean - b.mean).map((g) => this.row(g, this.set));
    this.sets.draw((width) => drawErrorBars(bySet, width, (key) => this.change({ set: key === this.set ? "" : key })));
    const measured = groupRuns(all, (r) => r.prediction.npu).sort((a, b) => b.runs.length - a.runs.length);
    const has = new Set(measured.map((g) => g.key.toLowerCase()));
    const unmeasured = this.file === null ? this.npus.filter((n) => !has.has(n.toLowerCase()) && !/comet|dojo/.test(n)) : [];
    const byDevice: ErrorRow[] = [...measured.map((g) => this.row(g, this.device)), ...unmeasured.map((n) => ({ key: n, name: n, mean: null, p90: null, runs: 0, colour: "--s1", selected: false }))];
    this.devices.draw((width) => drawErrorBars(byDevice, width, (key) => this.change({ device: key === this.device ? "" : key })));
    this.worst.show([...chosen].sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 12));
    this.others.show(s.sets.filter((x) => x.metric !== "step time"));
    fill(this.distrusted, distrust(all, unmeasured).map((d) => el("p", {}, el("strong", {}, d.title), " ", d.words)));
  }

  private row(g: Group, selected: string): ErrorRow {
    const kinds = new Set(g.runs.map((r) => r.kind));
    const kind = kinds.size === 1 ? [...kinds][0]! : "dense";
    return { key: g.key, name: g.key, mean: g.mean, p90: g.runs.length >= 5 ? g.p90 : null, runs: g.runs.length, colour: COLOURS[kind], selected: g.key === selected };
  }

  private showVerdict(all: readonly TimedRun[]): void {
    const kinds = (["dense", "experts"] as const).map((k) => ({ k, runs: all.filter((r) => r.kind === k) })).filter((o) => o.runs.length > 0);
    const by = kinds.map((o, i) => `${o.k === "dense" ? "Dense models" : i === 0 ? "Mixture-of-experts models" : "mixture-of-experts models"}${i === 0 ? " are off" : ""} by ${percent(meanError(o.runs), 1)}${i === 0 ? " on average" : ""}`).join(", ");
    fill(this.verdict, "Half of all runs are predicted within ", el("em", {}, percent(errorQuantile(all, 0.5), 1)), ", nine in ten within ", el("em", {}, percent(errorQuantile(all, 0.9), 1)), ". ",
      by !== "" && `${by}.`);
    const how = this.scores?.held_out === true ? "the fit that predicts it has not seen its layout" : "constants as shipped; a few per stack were fitted to such runs (choose “held out” for errors on unseen layouts)";
    fill(this.lede, this.file === null ? `Every run below was measured and published by others; ${how}. Filter by clicking a set or a device.` : `${plural(all.length, "run")} of ${this.file.name}; ${how}.`);
  }
}

export const accuracyPage: Page = {
  name: "accuracy",
  title: "How good is it",
  open: (context) => new AccuracyController(context),
};

