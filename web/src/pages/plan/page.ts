/* The Plan page: one design, answered while the sliders move. */

import { Catalog, deviceWord, type ModelFacts } from "../../api/catalog.js";
import { asFailure, type Client, HalleyError, Lane, ServerGone } from "../../api/client.js";
import { uploadFile } from "../../api/files.js";
import type { Change, Estimate, Explanation, FoundPlan, ImportReport, Plan, PlanSearch } from "../../api/types.js";
import { el, fill } from "../../base/dom.js";
import { big, count, significant } from "../../base/format.js";
import { acceptDrops } from "../../ui/drop.js";
import { fade } from "../../ui/parts.js";
import type { Page, PageContext, PageView } from "../page.js";
import { type Answer, type BestPlan, type Neighbour, planAnswer } from "./answer.js";
import { type BestCard, bestCard } from "./best.js";
import { copyCard } from "./copy.js";
import { askNeighbours, findRepair, neighbourSteps } from "./follow_up.js";
import { type PlanForm, planForm } from "./form.js";
import { importCard } from "./import_card.js";
import { runCard } from "./run.js";
import { placeLink } from "../../base/url_state.js";
import { essentialPlan, estimateDocument, type PlanState, readPlanValue, readState, searchDocument, START, writeState } from "./state.js";
import { whyCard } from "./why.js";

/* After that long without an answer the numbers fade. */
const FADE_MS = 150;
/* After that long without a change the page asks what is not needed at once. */
const QUIET_MS = 120;

const NO_FACTS: ModelFacts = { layers: null, experts: null, seq: null, heads: null };

function planWords(plan: Plan): string {
  const degrees = ["tp", "pp", "dp", "cp", "ep", "virtual"].filter((key) => ["tp", "pp", "dp"].includes(key) || (plan[key] ?? 1) !== 1);
  const words = degrees.map((key) => `${key} ${String(plan[key] ?? 1)}`);
  words.push(`micro-batch ${String(plan["micro_batch"] ?? 1)}`);
  words.push(plan["recompute"] === "none" || plan["recompute"] === undefined ? "no recomputation" : `${String(plan["recompute"])} recomputation`);
  words.push(plan["fsdp"] !== undefined && plan["fsdp"] !== 0 ? "FSDP" : `ZeRO ${String(plan["zero"] ?? 1)}`);
  if (plan["sequence_parallel"] === true && plan["tp"] !== 1) words.push("sequence parallel");
  return words.join(", ");
}

/* The engine's words as a sentence; keys such as tp stay as they are. */
function sentence(words: string): string {
  const first = /^[a-z]{3,}/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

class PlanController implements PageView {
  readonly element: HTMLElement;
  private state: PlanState = START;
  private facts: ModelFacts = NO_FACTS;
  private factsOf = "";
  private pricesOf = "";
  private estimate: Estimate | null = null;
  private explanation: Explanation | null = null;
  private search: { key: string; found: PlanSearch; parts: BestPlan["parts_s"] } | null = null;
  private neighbours: Neighbour[] = [];
  private changed = "model";
  private later = new AbortController();
  private quiet: number | undefined;
  private fade: number | undefined;
  private asked = 0;
  private readonly client: Client;
  private readonly catalog: Catalog;
  private readonly estimates: Lane<Estimate>;
  private readonly explanations: Lane<Estimate>;
  private readonly searches: Lane<PlanSearch>;
  private readonly form: PlanForm;
  private readonly answer: Answer;
  private readonly best: BestCard;
  private readonly why = whyCard();
  private readonly copy = copyCard();
  private readonly imported = importCard();
  private readonly run;
  private readonly title = el("h1");
  private readonly subtitle = el("p", { class: "lede" });
  private readonly right: HTMLElement;

  constructor(private readonly context: PageContext) {
    this.client = context.client;
    this.catalog = new Catalog(this.client);
    this.estimates = new Lane(this.client);
    this.explanations = new Lane(this.client);
    this.searches = new Lane(this.client);
    this.form = planForm({
      change: (patch, gesture) => this.change({ ...this.state, ...patch }, gesture),
      plan: (patch, gesture) => this.change({ ...this.state, plan: { ...this.state.plan, ...patch } }, gesture),
      unset: (key) => this.change({ ...this.state, plan: Object.fromEntries(Object.entries(this.state.plan).filter(([k]) => k !== key)) }, key),
      files: (files) => void this.readFile(files[0]!),
      takeBest: () => this.takeBest(),
    });
    this.answer = planAnswer({ explain: (what) => this.explain(what), apply: (change) => this.applyChange(change) });
    this.best = bestCard((plan) => this.take(plan));
    this.run = runCard({
      tokens: (tokens) => this.change({ ...this.state, tokens }, "tokens"),
      rent: (rent) => this.setRent(rent),
      explain: (what) => this.explain(what),
    });
    this.right = el("div", { class: "grid col-r fades" }, this.answer.hero, this.imported.element, this.answer.time, el("div", { class: "grid mem-cost" }, this.answer.memory, this.run.element), this.best.element, this.why.element);
    this.right.hidden = true;
    this.why.element.classList.add("last");
    this.copy.element.classList.add("end");
    this.element = el("div", { class: "plan" }, el("div", { class: "title" }, this.title, this.subtitle), el("div", { class: "grid side" }, el("div", { class: "grid col-l" }, this.form.element, this.copy.element), this.right));
    acceptDrops((files) => void this.readFile(files[0]!), context.signal);
    context.signal.addEventListener("abort", () => this.leave());
    void this.offerPresets();
  }

  navigate(query: URLSearchParams): void {
    this.state = readState(query);
    this.changed = "model";
    this.context.settle(writeState(this.state));
    void this.loadFacts();
    this.refresh();
  }

  private leave(): void {
    clearTimeout(this.quiet);
    clearTimeout(this.fade);
    this.later.abort();
    this.estimates.drop();
    this.explanations.drop();
    this.searches.drop();
  }

  private async offerPresets(): Promise<void> {
    try {
      const [models, clusters, stacks] = await Promise.all(["model", "cluster", "stack"].map((kind) => this.catalog.names(kind)));
      this.form.offer(models!, clusters!, stacks!);
      this.showForm();
    } catch {
      /* the bar on top says that the server is gone; navigate() comes again when it is back */
    }
  }

  private async loadPrices(): Promise<void> {
    const { cluster } = this.state;
    if (cluster === this.pricesOf) return;
    this.pricesOf = cluster;
    const lines = await this.catalog.priceLines(cluster);
    if (cluster === this.state.cluster) this.run.showPrices(lines);
  }

  private async loadFacts(): Promise<void> {
    void this.loadPrices();
    const model = this.state.model;
    if (model === this.factsOf) return;
    const facts = await this.catalog.modelFacts(model);
    if (model !== this.state.model) return;
    this.factsOf = model;
    this.facts = facts;
    this.showForm();
  }

  private change(next: PlanState, gesture: string): void {
    const model = next.model !== this.state.model;
    const cluster = next.cluster !== this.state.cluster;
    this.state = next;
    this.changed = gesture;
    this.context.write(writeState(next), gesture);
    if (cluster) void this.loadPrices();
    if (model) {
      this.imported.show("", null);
      void this.loadFacts();
    }
    this.refresh();
  }

  private showForm(): void {
    this.form.show(this.state, this.estimate?.plan ?? null, this.facts, deviceWord(this.state.cluster), (this.estimate?.assumed ?? []).map((a) => a.text));
  }

  /* Ask for the numbers of the state. */
  private refresh(): void {
    this.asked = performance.now();
    this.later.abort();
    this.later = new AbortController();
    clearTimeout(this.quiet);
    this.showForm();
    this.copy.show(this.state);
    this.answer.simulate.href = placeLink("simulate", writeState({ ...this.state, why: START.why }));
    this.answer.simulate.hidden = false;
    this.fade ??= window.setTimeout(() => {
      fade(this.right, true);
      this.answer.live.classList.add("busy");
    }, FADE_MS);
    const state = this.state;
    this.estimates.ask(
      estimateDocument(state),
      (estimate, newest) => this.showEstimate(estimate, state, newest),
      (error, newest) => newest && this.showFailure(error, state),
    );
  }

  private stopFading(): void {
    clearTimeout(this.fade);
    this.fade = undefined;
    fade(this.right, false);
    this.answer.live.classList.remove("busy");
  }

  private showEstimate(estimate: Estimate, state: PlanState, newest: boolean): void {
    this.estimate = estimate;
    this.neighbours = [];
    this.right.hidden = false;
    this.stopFading();
    this.form.clear();
    if (estimate.import !== undefined) this.imported.show(state.model.split("/").pop()!, estimate.import);
    this.showNumbers();
    this.showForm();
    fill(this.answer.live, `answered in ${significant(performance.now() - this.asked, 2)} ms`);
    if (!newest) return;
    this.best.busy();
    this.quiet = window.setTimeout(() => this.askRest(estimate, state), QUIET_MS);
  }

  private bestPlan(): BestPlan | null {
    const first = this.search?.key === JSON.stringify(searchDocument(this.state)) ? this.search.found.plans[0] : undefined;
    return first === undefined ? null : { step_s: first.step_s, parts_s: this.search!.parts };
  }

  private showNumbers(): void {
    const e = this.estimate;
    if (e === null) return;
    const device = deviceWord(e.cluster);
    fill(this.title, `${e.model} on ${count(e.npus)} ${device}s (${e.cluster})`);
    const parameters = e.active_parameters < e.parameters ? `${big(e.parameters)} parameters, ${big(e.active_parameters)} active` : `${big(e.parameters)} parameters`;
    const batch = `batch ${count(Number(e.plan["global_batch"]))} × ${count(Number(e.plan["seq"]))} tokens, ${String(e.plan["dtype"])}`;
    fill(this.subtitle, [parameters, planWords(e.plan), batch, e.stack ?? "no software chosen"].join(" · "));
    this.answer.show(e, this.bestPlan(), this.neighbours);
    this.run.show(e, this.state.tokens, this.state.rent);
    this.why.show(this.state.why, e, this.explanation, this.state.rent);
  }

  /* Explanation, neighbours and the five best follow when nothing changed for a while. */
  private askRest(estimate: Estimate, state: PlanState): void {
    const { signal } = this.later;
    this.explanations.ask(
      { ...estimateDocument(state), explain: true },
      (explained) => {
        this.explanation = explained.explain ?? null;
        if (this.estimate !== null && !signal.aborted) this.why.show(this.state.why, this.estimate, this.explanation, this.state.rent);
      },
      () => undefined,
    );
    const steps = neighbourSteps(state, estimate.plan, deviceWord(estimate.cluster));
    askNeighbours(this.client, steps, (step) => this.change(step.state, "neighbour"), signal).then(
      (found) => {
        if (signal.aborted) return;
        this.neighbours = found;
        this.answer.show(estimate, this.bestPlan(), found);
      },
      () => undefined,
    );
    this.askBest(state);
  }

  private askBest(state: PlanState): void {
    const document = searchDocument(state);
    const key = JSON.stringify(document);
    if (this.search?.key === key) {
      this.showBest();
      return;
    }
    this.form.canTakeBest(false);
    this.searches.ask(
      document,
      (found) => void this.keepBest(key, found),
      (error) => this.best.fail(error.message),
      { accepted: () => this.best.searching(null), progress: (p) => this.best.searching(p) },
    );
  }

  private async keepBest(key: string, found: PlanSearch): Promise<void> {
    this.search = { key, found, parts: null };
    this.showBest();
    const first = found.plans[0];
    if (first === undefined) return;
    try {
      const best = await this.client.request<Estimate>(estimateDocument({ ...this.state, plan: first.plan }), { signal: this.context.signal });
      if (this.search?.key === key) {
        this.search.parts = best.parts_s;
        this.showBest();
      }
    } catch {
      /* without its parts the second bar is left out */
    }
  }

  private showBest(): void {
    const e = this.estimate;
    if (e === null || this.search === null || this.search.key !== JSON.stringify(searchDocument(this.state))) return;
    this.form.canTakeBest(this.search.found.plans.length > 0);
    const keys = ["tp", "pp", "dp", "cp", "ep", "virtual", "micro_batch", "zero", "fsdp", "recompute", "recompute_layers"];
    this.best.show(this.search.found, e.step_s, (p) => keys.every((key) => p.plan[key] === e.plan[key]));
    this.answer.show(e, this.bestPlan(), this.neighbours);
  }

  private take(plan: FoundPlan): void {
    this.change({ ...this.state, plan: essentialPlan(plan.plan, this.state.plan) }, `take ${plan.rank}`);
    scrollTo({ top: 0, behavior: "smooth" });
  }

  private takeBest(): void {
    const first = this.search?.found.plans[0];
    if (first !== undefined) this.take(first);
  }

  private applyChange(change: Change): void {
    const value = typeof change.value === "number" ? change.value : readPlanValue(change.value);
    const key = change.key.replaceAll("-", "_");
    if (key === "npus") this.change({ ...this.state, npus: Number(value) }, "apply");
    else this.change({ ...this.state, plan: { ...this.state.plan, [key]: value } }, "apply");
  }

  private setRent(rent: number): void {
    this.state = { ...this.state, rent };
    this.context.write(writeState(this.state), "rent");
    if (this.estimate !== null) this.run.show(this.estimate, this.state.tokens, rent);
  }

  private explain(what: string): void {
    this.state = { ...this.state, why: what };
    this.context.write(writeState(this.state), `why ${what}`);
    if (this.estimate !== null) this.why.show(what, this.estimate, this.explanation, this.state.rent);
    this.why.element.scrollIntoView({ behavior: "smooth", block: "nearest" });
    this.why.element.focus({ preventScroll: true });
  }

  /* The sentence goes under the field that caused it; the figures keep the last valid plan, faded. */
  private showFailure(error: HalleyError | ServerGone, state: PlanState): void {
    this.stopFading();
    if (error instanceof ServerGone) {
      fade(this.right, true);
      return;
    }
    this.form.clear();
    fade(this.right, true);
    fill(this.answer.live, "not this plan: see the field");
    const message = sentence(error.message);
    const key = this.changed;
    this.form.fail(key, message + (error.failure.hint === undefined ? "" : ` ${error.failure.hint}`));
    if (error.code !== "infeasible" && error.code !== "bad-value") return;
    const { signal } = this.later;
    void findRepair(this.client, state, key, this.estimate?.plan ?? {}, signal).then((found) => {
      if (found === null || signal.aborted) return;
      const name = found.key.replaceAll("_", "-");
      this.form.clear();
      this.form.fail(key === "model" ? found.key : key, `${message} Shown: ${this.estimate === null ? "the nearest valid plan" : "the last valid plan"}.`, {
        label: `Set ${name} ${count(found.value)}`,
        apply: () => this.change(found.state, found.key),
      });
      if (this.estimate === null) {
        this.estimate = found.estimate;
        this.right.hidden = false;
        this.showNumbers();
      }
      this.askBest(state);
    });
  }

  /* A dropped file: a model, or a launch file with its plan. */
  private async readFile(file: File): Promise<void> {
    try {
      const path = await uploadFile(this.client, file, file.name, this.context.signal);
      const read = await this.client.request<{ [key: string]: unknown; import?: ImportReport }>({ do: "presets", name: path });
      const launch = typeof read["tp"] === "number" || typeof read["global_batch"] === "number";
      const plan = launch ? {} : this.state.plan;
      const degrees = ["tp", "pp", "cp"].map((key) => Number(read[key] ?? 1)).reduce((a, b) => a * b, 1);
      const npus = launch ? Math.max(degrees, Number(read["npus"] ?? 0) || this.state.npus) : this.state.npus;
      this.change({ ...this.state, model: path, plan, npus: npus % degrees === 0 ? npus : degrees }, "model");
      this.imported.show(file.name, read.import ?? null);
    } catch (error) {
      if (this.context.signal.aborted) return;
      const failure = asFailure(error);
      this.form.fail("model", `${file.name}: ${failure.message}`);
    }
  }
}

export const planPage: Page = {
  name: "plan",
  title: "Plan",
  open: (context) => new PlanController(context),
};
