/* Presets: accelerators, clusters, links, fabrics, models and software side by side, every number with
 * its source. */

import { asFailure } from "../../api/client.js";
import { type Child, el, fill } from "../../base/dom.js";
import { plural } from "../../base/format.js";
import { card, copyButton } from "../../ui/parts.js";
import { type Column, type Table, table } from "../../ui/table.js";
import { tabList } from "../../ui/tabs.js";
import type { Page, PageContext, PageView } from "../page.js";
import { KINDS, type PresetKind, type Quantity, say, sayCell, sayValue } from "./kinds.js";
import { countRuns, loadPresets, Preset, type PresetValue, standing, STANDINGS } from "./values.js";

const MOST = 4;

interface PresetsState {
  kind: string;
  picked: string[];
  filter: string;
  /* the preset whose file is open, or "" */
  file: string;
  /* the number whose source is open: preset and key */
  source: string;
}

function sign(source: string | undefined): HTMLElement {
  const s = STANDINGS.find((x) => x.key === standing(source))!;
  return el("span", { class: `standing ${s.key}` }, el("span", { "aria-hidden": "true" }, s.sign), el("span", { class: "sr" }, `${s.words}: `));
}

class PresetsController implements PageView {
  readonly element: HTMLElement;
  private state: PresetsState = { kind: "npu", picked: [], filter: "", file: "", source: "" };
  private readonly lists = new Map<string, Preset[]>();
  private readonly side = el("div");
  private readonly sideNote = el("span", { class: "note" });
  private readonly source = el("p", { class: "note source", role: "status", "aria-live": "polite" });
  private readonly tables = new Map<string, Table<Preset>>();
  private readonly panels = new Map<string, HTMLElement>();
  private readonly none = el("p", { class: "note", hidden: true });
  private readonly search = el("input", { type: "search", class: "filter", placeholder: "filter by name or value", "aria-label": "Filter presets", autocomplete: "off", spellcheck: "false" });
  private readonly tabs;
  private readonly fileTitle = el("span");
  private readonly fileBody = el("div");
  private readonly fileCard: HTMLElement;

  constructor(private readonly context: PageContext) {
    for (const kind of KINDS) {
      const made = this.makeTable(kind);
      this.tables.set(kind.kind, made);
      this.panels.set(kind.kind, el("div", {}, made.element));
    }
    this.tabs = tabList("Kind of preset", KINDS.map((k) => ({ name: k.tab, panel: this.panels.get(k.kind)! })), (name) => {
      const kind = KINDS.find((k) => k.tab === name)!;
      this.change({ kind: kind.kind, picked: [], file: "", source: "" }, `kind ${kind.kind}`);
    });
    this.search.addEventListener("input", () => this.change({ filter: this.search.value }, "filter"));
    const key = el("p", { class: "lede" }, "A number opens its source. ", STANDINGS.map((s) => [" ", el("span", { class: "nowrap standing-key" }, el("span", { class: `standing ${s.key}`, "aria-hidden": "true" }, s.sign), ` ${s.words}`)]));
    this.fileCard = card(this.fileTitle, null, this.fileBody);
    this.fileCard.classList.add("preset-file");
    const list = el("section", { class: "card", "aria-label": "All presets" }, el("div", { class: "head" }, this.tabs.list, el("span", { class: "push" }, this.search)), [...this.panels.values()], this.none);
    this.element = el("div", { class: "presets" }, el("div", { class: "title" }, el("h1", {}, "Presets: what is compiled in, and where each number comes from"), key), el("div", { class: "grid" }, card("Side by side", this.sideNote, this.side, this.source), list, this.fileCard));
  }

  navigate(query: URLSearchParams): void {
    const kind = KINDS.find((k) => k.kind === query.get("kind")) ?? KINDS[0]!;
    this.state = {
      kind: kind.kind,
      picked: (query.get("pick") ?? "").split(",").filter((n) => n !== "").slice(0, MOST),
      filter: query.get("filter") ?? "", file: query.get("file") ?? "", source: query.get("source") ?? "",
    };
    if (!query.has("pick")) this.state.picked = [...kind.start];
    void this.load();
  }

  private change(patch: Partial<PresetsState>, gesture: string): void {
    const kind = this.kind(patch.kind ?? this.state.kind);
    this.state = { ...this.state, ...patch };
    if (patch.kind !== undefined && patch.picked?.length === 0) this.state.picked = [...kind.start];
    const s = this.state;
    const query = new URLSearchParams({ kind: s.kind });
    if (s.picked.join() !== kind.start.join()) query.set("pick", s.picked.join(","));
    if (s.filter !== "") query.set("filter", s.filter);
    if (s.file !== "") query.set("file", s.file);
    if (s.source !== "") query.set("source", s.source);
    this.context.write(query, gesture);
    void this.load();
  }

  private kind(name: string): PresetKind {
    return KINDS.find((k) => k.kind === name) ?? KINDS[0]!;
  }

  private async load(): Promise<void> {
    const kind = this.kind(this.state.kind);
    if (!this.lists.has(kind.kind)) {
      try {
        this.lists.set(kind.kind, await loadPresets(this.context.client, kind.kind));
      } catch (error) {
        if (!this.context.signal.aborted) fill(this.side, el("p", { class: "err" }, asFailure(error).message));
        return;
      }
    }
    if (this.context.signal.aborted) return;
    this.show();
    if (kind.kind === "npu" && this.lists.get("npu")!.some((p) => p.runs === null)) void this.addRuns();
  }

  private async addRuns(): Promise<void> {
    try {
      const runs = await countRuns(this.context.client);
      for (const p of this.lists.get("npu") ?? []) p.runs = runs.get(p.title.toLowerCase()) ?? 0;
      if (!this.context.signal.aborted && this.state.kind === "npu") this.show();
    } catch {
      /* the table does without the count */
    }
  }

  private makeTable(kind: PresetKind): Table<Preset> {
    const columns: Column<Preset>[] = [
      { name: "Compare", hidden_name: true, kind: "pick", cell: (p) => this.pickBox(kind, p) },
      { name: kind.noun.charAt(0).toUpperCase() + kind.noun.slice(1), heading: true, kind: "nowrap", cell: (p) => el("button", { class: "num", type: "button", "aria-expanded": String(this.state.file === p.file.name), on: { click: () => this.openFile(p) } }, p.title), by: (p) => p.title.toLowerCase() },
      ...kind.quantities.map((q): Column<Preset> => ({
        name: q.column, right: q.text !== true, ...(q.text ? { kind: "nowrap" } : {}),
        cell: (p) => this.numberButton(p, q, sayCell(q, p)),
        by: (p) => {
          const v = q.get(p);
          return q.text ? (v?.words ?? "~").toLowerCase() : (v?.value ?? -Infinity);
        },
      })),
    ];
    if (kind.open !== null) columns.push({ name: "Open in Plan", hidden_name: true, kind: "stick", cell: (p) => this.planButton(kind, p) });
    return table<Preset>(columns, { label: `${kind.tab}, scrolls sideways`, selected: (p) => this.state.picked.includes(p.file.name) });
  }

  private pickBox(kind: PresetKind, p: Preset): HTMLElement {
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${p.title}` });
    box.checked = this.state.picked.includes(p.file.name);
    box.addEventListener("change", () => {
      const rest = this.state.picked.filter((n) => n !== p.file.name);
      const picked = box.checked ? [...rest, p.file.name].slice(-MOST) : rest;
      this.change({ picked }, `pick ${kind.kind}`);
      this.panels.get(kind.kind)?.querySelector<HTMLElement>(`input[aria-label="${CSS.escape(`Compare ${p.title}`)}"]`)?.focus();
    });
    return box;
  }

  private planButton(kind: PresetKind, p: Preset): HTMLElement {
    return el("button", { class: "btn small", type: "button", "aria-label": `Open ${p.title} in Plan`, on: { click: () => this.context.go("plan", new URLSearchParams(kind.open!(p))) } }, "Plan");
  }

  /* A number with the sign of its standing; it opens its source. */
  private numberButton(p: Preset, q: Quantity, words: string): Child {
    const v = q.get(p);
    if (v === undefined) return "–";
    const name = `${p.title}, ${q.name}`;
    return el("span", { class: "nowrap" }, sign(v.source), el("button", { class: "num", type: "button", "aria-label": `${name}: ${words}. Show its source`, on: { click: () => this.openSource(p, v) } }, words));
  }

  private openSource(p: Preset, v: PresetValue): void {
    this.change({ source: `${p.file.name} ${v.key}` }, `source ${p.file.name} ${v.key}`);
  }

  private openFile(p: Preset): void {
    this.change({ file: this.state.file === p.file.name ? "" : p.file.name }, `file ${p.file.name}`);
    if (this.state.file !== "") this.fileCard.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  private show(): void {
    const kind = this.kind(this.state.kind);
    const all = this.lists.get(kind.kind) ?? [];
    this.tabs.select(kind.tab);
    const tab = this.tabs.list.querySelector<HTMLElement>("[aria-selected=true]");
    if (tab !== null) this.tabs.list.scrollLeft = Math.max(0, tab.offsetLeft + tab.offsetWidth - this.tabs.list.clientWidth);
    if (document.activeElement !== this.search) this.search.value = this.state.filter;
    const words = this.state.filter.toLowerCase().split(/\s+/).filter((w) => w !== "");
    const text = (p: Preset): string => `${p.title} ${p.file.name} ${kind.quantities.map((q) => say(q, p)).join(" ")}`.toLowerCase();
    const rows = all.filter((p) => words.every((w) => text(p).includes(w)));
    this.tables.get(kind.kind)!.show(rows);
    this.none.hidden = rows.length > 0;
    fill(this.none, `None of ${plural(all.length, kind.noun)} matches “${this.state.filter}”. Clear the filter, or write a file of your own: halley help ${kind.kind === "model" ? "model" : "cluster"}.`);
    fill(this.sideNote, `tick up to four below, of ${plural(all.length, kind.noun)}`);
    this.showSide(kind, all.filter((p) => this.state.picked.includes(p.file.name)));
    this.showSource(all);
    this.showFile(kind, all.find((p) => p.file.name === this.state.file));
  }

  private showSide(kind: PresetKind, chosen: readonly Preset[]): void {
    if (chosen.length === 0) {
      fill(this.side, el("p", { class: "note" }, `Nothing is chosen. Tick ${kind.noun}s in the table to compare them.`));
      return;
    }
    const row = (q: Quantity): HTMLElement => {
      const numbers = chosen.map((p) => q.get(p)?.value ?? 0);
      const most = Math.max(...numbers, 0);
      return el("tr", {}, el("th", { scope: "row" }, q.name), chosen.map((p, i) => {
        const bar = q.text !== true && most > 0 && q.get(p) !== undefined && el("i", { "aria-hidden": "true", css: { width: `${(100 * Math.max(0, numbers[i]!)) / most}%`, background: `var(--s${i + 1})` } });
        return el("td", {}, el("div", { class: "bar-cell" }, this.numberButton(p, q, say(q, p)), bar));
      }));
    };
    const head = el("tr", {}, el("th", { scope: "col" }, el("span", { class: "sr" }, "quantity")), chosen.map((p) => el("th", { scope: "col" }, p.title)));
    fill(this.side, el("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table: side by side, scrolls sideways" }, el("table", { class: "side-table" }, el("thead", {}, head), el("tbody", {}, kind.quantities.map(row)))));
  }

  private showSource(all: readonly Preset[]): void {
    const [name = "", key = ""] = this.state.source.split(" ");
    const p = all.find((x) => x.file.name === name);
    const v = p === undefined ? undefined : (p.get(key) ?? this.kind(this.state.kind).quantities.map((q) => q.get(p)).find((x) => x?.key === key));
    if (p === undefined || v === undefined) {
      fill(this.source, "Press a number to see where it is from.");
      return;
    }
    fill(this.source, el("strong", {}, `${p.title}, ${v.key}: ${sayValue(v)}. `), sign(v.source), v.source === undefined ? "The preset states no source for it." : `Source: ${v.source.replace(/\.$/, "")}.`);
  }

  /* Every value of a file with its source. */
  private showFile(kind: PresetKind, p: Preset | undefined): void {
    this.fileCard.hidden = p === undefined;
    if (p === undefined) return;
    fill(this.fileTitle, p.title);
    const rows = table<PresetValue>([
      { name: "Key", heading: true, cell: (v) => el("code", {}, v.key) },
      { name: "Value", right: true, cell: sayValue },
      { name: "Source", kind: "source-cell", cell: (v) => [sign(v.source), v.source ?? "not stated"] },
    ], { label: `Values of ${p.title}, scrolls sideways` });
    rows.show(p.file.values.filter((v) => v.key !== "name"));
    const command = `halley presets ${p.file.name}`;
    fill(this.fileBody, el("p", { class: "file-line" }, el("code", {}, command), " ", copyButton(() => command), kind.open !== null && [" ", this.planButton(kind, p)], " ", el("button", { class: "btn small", type: "button", on: { click: () => this.change({ file: "" }, "close") } }, "Close")), el("p", { class: "note" }, "A preset is a YAML file: copy what the command prints, change a number, and give the file instead of the name."), rows.element);
  }
}

export const presetsPage: Page = {
  name: "presets",
  title: "Presets",
  open: (context) => new PresetsController(context),
};
