/* The Explore page: a study as form or YAML, run with progress, cancelled and resumed; which system
 * is best, which were refused and by how much. */

import { Catalog } from "../../api/catalog.js";
import { asFailure, HalleyError, Lane, ServerGone } from "../../api/client.js";
import { downloadFile } from "../../api/files.js";
import type { Design, DryRun, Exploration, StudyParameter } from "../../api/explore_types.js";
import { el, fill } from "../../base/dom.js";
import { count, plural, short, time } from "../../base/format.js";
import { type Suggestion, yamlEditor } from "../../ui/editor.js";
import { sliderField } from "../../ui/fields.js";
import { card, fade, progressBar } from "../../ui/parts.js";
import { tabList } from "../../ui/tabs.js";
import type { Page, PageContext, PageView } from "../page.js";
import { studyForm } from "./form.js";
import { judge, type Limits, tokensOf, verdictSentence } from "./judge.js";
import { planLink, resultView } from "./results.js";
import { readStudy, START_STUDY, storeName, type Study, writeStudy } from "./study.js";

/* A study that takes at most so long runs by itself after a change. */
const AUTO_S = 1;
const PAUSE_MS = 250;
/* Larger spaces are not drawn as a cloud, and the cloud has at most so many points. */
const CLOUD_DESIGNS = 300_000;
const CLOUD_POINTS = 3000;

const DAY = 86400;
const NO_LIMIT = 1e18;
const DAYS = [5, 10, 20, 30, 45, 60, 75, 90, 110, 130, 150, 180, 220, 300, 400, 600].map((d) => d * DAY).concat(NO_LIMIT);
const CAPITAL = [1, 2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 500, 1000].map((m) => m * 1e6).concat(NO_LIMIT);
const POWER = [0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 7, 10, 20, 50].map((m) => m * 1e6).concat(NO_LIMIT);

function readLimit(text: string | null): number | null {
  const value = Number(text ?? NaN);
  return Number.isFinite(value) && value > 0 ? value : null;
}

class ExploreController implements PageView {
  readonly element: HTMLElement;
  private text = START_STUDY;
  private limits: Limits = { days: null, capital: null, power: null };
  private result: Exploration | null = null;
  private resultText = "";
  private cloud: [number, number][] = [];
  private running: AbortController | null = null;
  private pause: number | undefined;
  private size: DryRun | null = null;
  private parameters: readonly StudyParameter[] = [];
  private names: { [kind: string]: readonly string[] } = {};
  private keys: readonly Suggestion[] = [];
  private opened = false;
  private readonly sizes: Lane<DryRun>;
  private readonly catalog: Catalog;
  private readonly view = resultView();
  private readonly bar = progressBar();
  private readonly title = el("h1", {}, "Explore");
  private readonly verdict = el("p", { class: "lede", "aria-live": "polite" });
  private readonly run = el("button", { class: "btn primary grow", type: "button" }, "Run");
  private readonly stop = el("button", { class: "btn", type: "button", disabled: true }, "Cancel");
  private readonly save = el("button", { class: "btn small", type: "button", disabled: true }, "Save as a report");
  private readonly refused = el("ul", { class: "list-parts one" });
  private readonly assumed = el("p", { class: "note gap-s" });
  private readonly prices = el("ul", { class: "answers small" });
  private readonly unshown = el("p", { class: "note", hidden: true });
  private readonly form;
  private readonly editor;
  private readonly tabs;
  private readonly sliders;
  private readonly right: HTMLElement;

  constructor(private readonly context: PageContext) {
    this.sizes = new Lane(context.client);
    this.catalog = new Catalog(context.client);
    this.form = studyForm((study, field) => this.changeStudy(study, field));
    this.editor = yamlEditor("Study as YAML", (text) => this.changeText(text, "yaml"), (line, block) => this.suggest(line, block));
    const formPanel = el("div", {}, this.unshown, this.form.element);
    this.tabs = tabList("Edit as", [{ name: "Form", panel: formPanel }, { name: "YAML", panel: this.editor.element }], () => this.showStudy());
    const limit = (key: keyof Limits, label: string, stops: number[], words: (v: number) => string, read: (t: string) => number) =>
      sliderField(label, stops, (value) => this.changeLimit(key, value), (v) => (v >= NO_LIMIT ? "none" : words(v)), read);
    const number = (unit: number) => (words: string): number => (words === "none" ? NO_LIMIT : parseFloat(words.replace(/[$, ]/g, "")) * unit);
    this.sliders = {
      days: limit("days", "Days to train, at most", DAYS, (v) => count(v / DAY), number(DAY)),
      capital: limit("capital", "Capital, at most, M$", CAPITAL, (v) => short(v / 1e6), number(1e6)),
      power: limit("power", "Average power, at most, MW", POWER, (v) => short(v / 1e6), number(1e6)),
    };
    this.run.addEventListener("click", () => void this.start());
    this.stop.addEventListener("click", () => this.cancel());
    this.save.addEventListener("click", () => void this.saveReport());
    const study = card("Study", this.tabs.list, formPanel, this.editor.element, el("div", { class: "buttons gap" }, this.run, this.stop), this.bar.element, this.save);
    study.classList.add("controls");
    const limits = card("Limits", null, Object.values(this.sliders).map((s) => s.element));
    const refused = card("Designs refused", null, this.refused, this.assumed);
    refused.classList.add("end");
    const prices = card("Prices used", null, this.prices);
    prices.classList.add("end");
    this.right = el("div", { class: "grid col-r fades" }, this.view.element);
    this.right.hidden = true;
    this.element = el("div", { class: "explore" }, el("div", { class: "title" }, this.title, this.verdict), el("div", { class: "grid side" }, el("div", { class: "grid col-l" }, limits, study, refused, prices), this.right));
    context.signal.addEventListener("abort", () => {
      clearTimeout(this.pause);
      this.sizes.drop();
      this.running?.abort();
    });
    void this.offer();
  }

  navigate(query: URLSearchParams): void {
    this.text = query.get("study") ?? START_STUDY;
    this.limits = { days: readLimit(query.get("days")), capital: readLimit(query.get("capital")), power: readLimit(query.get("power")) };
    if (query.get("edit") === "yaml") this.tabs.select("YAML");
    this.context.settle(this.query());
    this.showStudy();
    this.showLimits();
    if (this.result !== null && this.resultText === this.text) this.showResult();
    else this.check(this.opened ? 0 : -1);
    this.opened = true;
  }

  private query(): URLSearchParams {
    const query = new URLSearchParams();
    if (this.text !== START_STUDY) query.set("study", this.text);
    for (const [key, value] of Object.entries(this.limits)) if (value !== null) query.set(key, String(value));
    if (this.tabs.selected() === "YAML") query.set("edit", "yaml");
    return query;
  }

  private async offer(): Promise<void> {
    try {
      const [models, clusters, stacks, listed, schema] = await Promise.all([
        this.catalog.names("model"),
        this.catalog.names("cluster"),
        this.catalog.names("stack"),
        this.context.client.request<{ study_parameters: StudyParameter[] }>({ do: "explore", parameters: true }),
        this.context.client.request<{ properties: { [key: string]: { description?: string } } }>({ do: "explore", schema: true }),
      ]);
      this.parameters = listed.study_parameters;
      this.names = { model: models, cluster: clusters, stack: stacks };
      this.keys = Object.entries(schema.properties).map(([text, p]) => ({ text: `${text}:`, meaning: p.description ?? "" }));
      this.form.offer(models, clusters, stacks, this.parameters);
    } catch {
      /* the bar on top says that the server is gone */
    }
  }

  private suggest(line: string, block: string): readonly Suggestion[] {
    const key = /^\s*(?:- )?([A-Za-z.-]+):\s/.exec(line)?.[1] ?? "";
    const plain = (names: readonly string[]): Suggestion[] => names.map((text) => ({ text, meaning: "preset" }));
    if (key in this.names) return plain(this.names[key]!);
    if (/cluster:\s*"?[a-z0-9-]*$/.test(line)) return plain(this.names["cluster"] ?? []);
    if (!/^\s/.test(line) && key === "") return this.keys;
    if (block === "vary" || block === "set" || block === "baseline") return this.parameters.map((p) => ({ text: `${p.parameter}:`, meaning: p.meaning }));
    return [...this.parameters.map((p) => ({ text: p.parameter, meaning: p.meaning }))];
  }

  private showStudy(): void {
    const study = readStudy(this.text);
    this.editor.set(this.text);
    this.unshown.hidden = typeof study !== "string";
    this.form.element.hidden = typeof study === "string";
    if (typeof study === "string") fill(this.unshown, study, " Edit it as YAML.");
    else {
      this.form.show(study);
      fill(this.title, study.description === "" ? `Study ${study.name}` : study.description);
    }
  }

  private changeStudy(study: Study, field: string): void {
    this.text = writeStudy(study);
    this.editor.set(this.text);
    if (field === "description") fill(this.title, study.description);
    this.context.write(this.query(), `study ${field}`);
    this.check(PAUSE_MS);
  }

  private changeText(text: string, gesture: string): void {
    this.text = text;
    this.showStudy();
    this.context.write(this.query(), gesture);
    this.check(PAUSE_MS);
  }

  private changeLimit(key: keyof Limits, value: number): void {
    this.limits = { ...this.limits, [key]: value >= NO_LIMIT ? null : value };
    this.context.write(this.query(), `limit ${key}`);
    this.showResult();
  }

  private showLimits(): void {
    for (const key of ["days", "capital", "power"] as const) this.sliders[key].set(this.limits[key] ?? NO_LIMIT);
  }

  /* Ask how large the study is; errors appear at their line. A quick one runs at once. */
  private check(wait: number): void {
    clearTimeout(this.pause);
    this.cancelQuietly();
    const text = this.text;
    this.pause = window.setTimeout(() => {
      this.sizes.ask(
        { do: "explore", study: text, dry_run: true },
        (size, newest) => newest && this.showSize(size, text),
        (error, newest) => newest && this.showFailure(error),
      );
    }, Math.max(0, wait));
  }

  private showSize(size: DryRun, text: string): void {
    this.size = size;
    this.editor.fail(null);
    this.run.disabled = false;
    fill(this.run, `Run ${plural(size.to_evaluate, "design")}`);
    if (size.time_s <= AUTO_S) void this.start();
    else if (text !== this.resultText) this.bar.end(`Takes about ${time(size.time_s, 2)}.`);
  }

  private showFailure(error: HalleyError | ServerGone): void {
    fade(this.right, true);
    if (error instanceof ServerGone) return;
    const { line, message } = error.failure;
    const words = `${line === undefined ? "" : `Line ${line}: `}${message}`;
    this.editor.fail(words, line);
    this.unshown.hidden = false;
    fill(this.unshown, el("span", { class: "err", role: "alert" }, words));
    this.run.disabled = true;
    fill(this.run, "Run");
  }

  private cancelQuietly(): void {
    this.running?.abort();
    this.running = null;
    this.stop.disabled = true;
  }

  private async start(): Promise<void> {
    this.cancelQuietly();
    const mine = new AbortController();
    this.running = mine;
    const text = this.text;
    const began = performance.now();
    this.run.disabled = true;
    this.bar.start();
    const slow = window.setTimeout(() => {
      this.stop.disabled = false;
      fade(this.right, true);
    }, 150);
    try {
      const store = storeName(text);
      const options = { signal: mine.signal, progress: (p: { what: string; noun: string; done: number; total: number }) => this.bar.show(p) };
      const { result, stored } = await this.explore(text, store, options);
      if (mine.signal.aborted) return;
      this.result = result;
      this.resultText = text;
      this.cloud = [];
      const seconds = (performance.now() - began) / 1000;
      this.bar.end(`${plural(result.evaluated, "design")} in ${time(seconds, 2)}, ${count(result.feasible)} feasible.${stored ? " Stored: the same study goes on where it was." : ""}`);
      fill(this.run, `Run ${plural(this.size?.to_evaluate ?? result.designs, "design")}`);
      this.showResult();
      if (stored) void this.loadCloud(store, result, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) {
        const failure = asFailure(error);
        this.bar.end(failure.message);
        this.showFailure(failure);
      }
    } finally {
      clearTimeout(slow);
      if (this.running === mine) {
        this.running = null;
        this.stop.disabled = true;
        this.run.disabled = false;
        fade(this.right, false);
      }
    }
  }

  /* With a store, so that it can be resumed; without one where the server keeps none. */
  private async explore(text: string, store: string, options: { signal: AbortSignal; progress: (p: { what: string; noun: string; done: number; total: number }) => void }): Promise<{ result: Exploration; stored: boolean }> {
    const request = { do: "explore", study: text, top: 10 };
    try {
      return { result: await this.context.client.request<Exploration>({ ...request, store, resume: true }, options), stored: true };
    } catch (error) {
      const refused = error instanceof HalleyError && ["unsupported", "usage", "not-found", "bad-file"].includes(error.code);
      if (!refused) throw error;
      return { result: await this.context.client.request<Exploration>(request, options), stored: false };
    }
  }

  /* Stop, and say what is kept. */
  private cancel(): void {
    const store = storeName(this.text);
    this.cancelQuietly();
    fade(this.right, false);
    this.run.disabled = false;
    fill(this.run, "Resume");
    this.bar.end("Cancelled.");
    const total = this.size?.to_evaluate ?? 0;
    const ask = (tries: number): void => {
      this.context.client.request<{ evaluated: number; feasible: number }>({ do: "results", store, top: 1 }, { signal: this.context.signal }).then(
        (kept) => this.bar.end(`Cancelled after ${count(kept.evaluated)} of ${plural(total, "design")}. They are kept; Resume goes on from there.`),
        () => {
          if (tries > 0) setTimeout(() => ask(tries - 1), 300);
          else this.bar.end("Cancelled. Nothing was stored yet; Resume starts again.");
        },
      );
    };
    setTimeout(() => ask(3), 200);
  }

  /* The grey cloud: feasible designs of the store, at most a few thousand. */
  private async loadCloud(store: string, e: Exploration, signal: AbortSignal): Promise<void> {
    if (e.feasible > CLOUD_DESIGNS) return;
    const every = Math.max(1, Math.ceil(e.feasible / CLOUD_POINTS));
    const sql = `SELECT train_s, step_s, cost_per_token_usd, train_cost_usd, objective_1${e.objectives.length > 1 ? ", objective_2" : ""} FROM design WHERE rowid % ${every} = 0 LIMIT ${CLOUD_POINTS}`;
    try {
      const { records } = await this.context.client.request<{ records: { [key: string]: number }[] }>({ do: "results", store, sql }, { signal });
      const j = judge(e, this.limits, tokensOf(this.resultText));
      const value = (get: (d: Design) => number, r: { [key: string]: number }): number => get({ results: r, objective_values: [r["objective_1"], r["objective_2"]] } as unknown as Design);
      this.cloud = records.map((r): [number, number] => [value(j.x.get, r), value(j.y.get, r)]).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
      if (!signal.aborted && this.cloud.length > j.rows.length) this.showResult();
    } catch {
      this.cloud = []; /* the figure is complete without it */
    }
  }

  private showResult(): void {
    const e = this.result;
    if (e === null) return;
    this.right.hidden = false;
    fade(this.right, false);
    this.save.disabled = false;
    const study = readStudy(this.resultText);
    const stack = typeof study === "string" ? "" : study.stack;
    const changed = new Set(typeof study === "string" ? [] : study.systems.filter((s) => Object.keys(s.more).length > 0).map((s) => s.name));
    const link = (d: Design): string | null => (changed.has(String(d.varied["system"])) ? null : planLink(d, e.train_tokens, stack));
    const j = judge(e, this.limits, tokensOf(this.resultText));
    fill(this.verdict, verdictSentence(j));
    this.view.show(e, j, this.limits, this.cloud.length > j.rows.length ? this.cloud : [], link);
    fill(this.refused, e.refusals.length === 0 ? el("li", {}, "none") : e.refusals.map((r) => el("li", {}, el("span", {}, r.reason), el("span", { class: "v" }, count(r.designs)))));
    fill(this.prices, (e.prices ?? []).map((p) => el("li", {}, el("strong", {}, p.name), " ", p.words)), e.prices === undefined && el("li", {}, "those of the presets"));
    fill(this.assumed, (e.assumed ?? []).length > 0 && `Assumed: ${e.assumed!.map((a) => a.text).join(", ")}.`, (e.warnings ?? []).map((w) => el("span", {}, ` ${w}`)));
  }

  private async saveReport(): Promise<void> {
    const report = storeName(this.resultText).replace(".db", ".html");
    this.save.disabled = true;
    try {
      await this.context.client.request({ do: "explore", study: this.resultText, report }, { signal: this.context.signal });
      await downloadFile(this.context.client, report, `${this.result?.study ?? "study"}.html`);
    } catch (error) {
      if (!this.context.signal.aborted) this.bar.end(asFailure(error).message);
    } finally {
      this.save.disabled = false;
    }
  }
}

export const explorePage: Page = {
  name: "explore",
  title: "Explore",
  open: (context) => new ExploreController(context),
};

