/* A timeline to move about in: wheel and drag, keys, search, the critical path, messages, a cursor that
 * other figures share. */

import type { Columns } from "../api/columns.js";
import { el, fill, uniqueId } from "../base/dom.js";
import { count, plural, time } from "../base/format.js";
import { findKind } from "../draw/kinds.js";
import { AXIS, boxSentence, type Look, TimelinePainter } from "../draw/timeline.js";
import { TimelineData, type ViewRow } from "../draw/timeline_rows.js";
import { colourKey } from "./parts.js";

export interface TimelineState {
  t0: number;
  t1: number;
  cursor_s: number;
  all: boolean;
  path: boolean;
  arrows: boolean;
  search: string;
}

export interface TimelineEvents {
  cursor(time_s: number): void;
  /* the user moved, searched or chose rows: the address may hold it */
  moved(state: TimelineState, gesture: string): void;
}

export interface TimelineView {
  element: HTMLElement;
  show(columns: Columns, state: Partial<TimelineState>): void;
  setCursor(time_s: number): void;
  state(): TimelineState;
  data(): TimelineData | null;
  clear(): void;
}

const MAX_HEIGHT = 560;
const SLOWEST_ZOOM = 1e-10;

function button(words: string, label: string, press: () => void, pressed?: boolean): HTMLButtonElement {
  return el("button", { class: "btn small", type: "button", "aria-label": label === words ? null : label, "aria-pressed": pressed, on: { click: press } }, words);
}

class Timeline implements TimelineView {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { class: "timeline", tabindex: 0, role: "application", "aria-roledescription": "timeline" });
  private readonly box = el("div", { class: "timeline-box" }, this.canvas);
  private readonly keys = el("div", { class: "kinds" });
  private readonly said = el("p", { class: "note timeline-said", role: "status" });
  private readonly found = el("span", { class: "note nowrap", role: "status" });
  private readonly input: HTMLInputElement;
  private readonly pathButton: HTMLButtonElement;
  private readonly arrowButton: HTMLButtonElement;
  private readonly rowButton: HTMLButtonElement;
  private painter: TimelinePainter | null = null;
  private rows: ViewRow[] = [];
  private width = 0;
  private dirty = false;
  private scroll = 0;
  private look: TimelineState = { t0: 0, t1: 1, cursor_s: 0, all: false, path: true, arrows: false, search: "" };
  private matches: Uint8Array | null = null;
  private match_count: Uint32Array | null = null;
  private selected = -1;
  private end_s = 1;

  constructor(
    private readonly events: TimelineEvents,
    signal: AbortSignal,
  ) {
    const help = uniqueId("help");
    this.canvas.setAttribute("aria-describedby", help);
    this.input = el("input", { type: "search", class: "timeline-search", placeholder: "search names", "aria-label": "Search names in the timeline" });
    this.pathButton = button("Critical path", "Critical path", () => this.toggle("path"), true);
    this.pathButton.classList.add("path-toggle");
    this.arrowButton = button("Messages", "Messages", () => this.toggle("arrows"), false);
    this.rowButton = button("All rows", "All rows", () => this.toggle("all"), false);
    const zoom = el("span", { class: "seg zoom", role: "group", "aria-label": "Zoom" }, el("button", { type: "button", "aria-label": "Zoom out", on: { click: () => this.zoomBy(2, null) } }, "−"), el("button", { type: "button", "aria-label": "Zoom in", on: { click: () => this.zoomBy(0.5, null) } }, "+"), el("button", { type: "button", on: { click: () => this.fit() } }, "Fit"));
    this.element = el(
      "div",
      { class: "timeline-view" },
      el("div", { class: "timeline-bar" }, this.input, this.found, this.pathButton, this.arrowButton, this.rowButton, zoom),
      this.keys,
      this.box,
      this.said,
      el("p", { class: "sr", id: help }, "Arrow keys move, plus and minus zoom, Home shows everything, Enter puts the cursor on the next box."),
    );
    this.listen(signal);
    new ResizeObserver(() => this.resize()).observe(this.box);
    const theme = new MutationObserver(() => {
      this.painter?.forgetColours();
      this.repaint();
    });
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    signal.addEventListener("abort", () => theme.disconnect());
  }

  show(columns: Columns, state: Partial<TimelineState>): void {
    const context = this.canvas.getContext("2d", { alpha: false });
    if (context === null) return;
    this.painter = new TimelinePainter(context, new TimelineData(columns));
    this.end_s = Math.max(columns.end_s, 1e-9);
    this.look = { t0: 0, t1: this.end_s, cursor_s: this.end_s / 2, all: false, path: true, arrows: false, search: "", ...state };
    if (!(this.look.t1 > this.look.t0)) [this.look.t0, this.look.t1] = [0, this.end_s];
    this.clampView();
    this.selected = -1;
    this.scroll = 0;
    this.input.value = this.look.search;
    this.chooseRows();
    this.find(false);
    const simulated = columns.what === "simulation";
    this.arrowButton.textContent = simulated ? "Messages" : "Launches";
    this.arrowButton.hidden = columns.arrows.length === 0;
    this.pathButton.hidden = columns.path_box.length === 0;
    this.rowButton.hidden = columns.rows.length === this.painter.data.chooseRows(false).length;
    this.paintButtons();
    this.describe();
  }

  clear(): void {
    this.painter = null;
    this.rows = [];
    this.repaint();
  }

  data(): TimelineData | null {
    return this.painter?.data ?? null;
  }

  state(): TimelineState {
    return { ...this.look };
  }

  setCursor(time_s: number): void {
    this.look.cursor_s = Math.min(this.end_s, Math.max(0, time_s));
    this.repaint();
  }

  private describe(): void {
    const data = this.painter!.data;
    const c = data.columns;
    const used = new Set<number>();
    for (const row of this.rows) {
      const step = Math.max(1, Math.floor(row.n / 2000));
      for (let i = row.first; i < row.first + row.n; i += step) used.add(c.kind[i]!);
    }
    /* one key per colour: kinds that share one are named together */
    const kinds = new Map<string, string[]>();
    for (const k of [...used].map((id) => findKind(c.kinds[id] ?? ""))) kinds.set(k.colour, [...new Set([...(kinds.get(k.colour) ?? []), k.name])]);
    fill(
      this.keys,
      [...kinds].map(([colour, names]) => el("span", {}, colourKey(colour, null), `${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`)),
      c.path_box.length > 0 && el("span", {}, el("span", { class: "key on-path", "aria-hidden": "true" }), "on the critical path"),
      el("span", {}, el("span", { class: "key waiting", "aria-hidden": "true" }), c.what === "recording" ? "idle" : "waiting"),
    );
    const label = `Timeline of ${plural(c.start_s.length, "box").replace("boxs", "boxes")} in ${plural(this.rows.length, "row")}, ${time(this.end_s)} long${c.path_box.length > 0 ? `, with a critical path of ${plural(c.path_box.length, "step")}` : ""}`;
    this.canvas.setAttribute("aria-label", label);
    const alike = c.ranks.reduce((sum, r) => sum + r.alike, 0);
    const hidden = [alike > 0 && `${plural(alike, "further rank")} with the same totals ${alike === 1 ? "is" : "are"} not drawn`, c.left_out > 0 && `${plural(c.left_out, "rank")} left out: there is no room for more boxes`].filter((w) => w !== false);
    fill(this.said, `${count(c.start_s.length)} boxes. ${hidden.length > 0 ? `${hidden.join("; ")}. ` : ""}Drag to move, Ctrl and wheel to zoom, click for the cursor.`);
  }

  private chooseRows(): void {
    this.rows = this.painter?.data.chooseRows(this.look.all) ?? [];
    this.resize();
  }

  private toggle(key: "path" | "arrows" | "all"): void {
    this.look[key] = !this.look[key];
    if (key === "all") {
      this.scroll = 0;
      this.chooseRows();
      if (this.painter !== null) this.describe();
    }
    this.paintButtons();
    this.repaint();
    this.events.moved(this.state(), key);
  }

  private paintButtons(): void {
    this.pathButton.setAttribute("aria-pressed", String(this.look.path));
    this.arrowButton.setAttribute("aria-pressed", String(this.look.arrows));
    this.rowButton.setAttribute("aria-pressed", String(this.look.all));
  }

  /* Rows are thin where there are many, and the canvas scrolls where even that is too much. */
  private rowHeight(): number {
    const n = Math.max(1, this.rows.length);
    return Math.max(14, Math.min(26, Math.floor((MAX_HEIGHT - AXIS) / n)));
  }

  private height(): number {
    return Math.min(MAX_HEIGHT, AXIS + Math.max(2, this.rows.length) * this.rowHeight() + 4);
  }

  private resize(): void {
    const width = Math.floor(this.box.clientWidth);
    if (width <= 0) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const height = this.height();
    this.width = width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("height", `${height}px`);
    this.canvas.getContext("2d", { alpha: false })?.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.clampView();
    this.repaint();
  }

  private makeLook(): Look {
    const longest = this.rows.reduce((most, r) => Math.max(most, r.label.length), 0);
    return {
      width: this.width,
      height: this.height(),
      left: Math.min(this.width < 600 ? 84 : 190, 16 + longest * 6.6),
      t0: this.look.t0,
      t1: this.look.t1,
      scroll: this.scroll,
      row_height: this.rowHeight(),
      cursor_s: this.look.cursor_s,
      show_path: this.look.path,
      show_arrows: this.look.arrows,
      matches: this.matches,
      match_count: this.match_count,
      selected: this.selected,
    };
  }

  private repaint(): void {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => {
      this.dirty = false;
      if (this.width > 0) this.painter?.paint(this.rows, this.makeLook());
    });
  }

  private clampView(): void {
    const span = Math.min(this.end_s, Math.max(this.end_s * SLOWEST_ZOOM, 1e-9, this.look.t1 - this.look.t0));
    const t0 = Math.min(this.end_s - span, Math.max(0, this.look.t0));
    [this.look.t0, this.look.t1] = [t0, t0 + span];
    const most = this.rows.length * this.rowHeight() - (this.height() - AXIS);
    this.scroll = Math.max(0, Math.min(most, this.scroll));
  }

  private moveTo(t0: number, t1: number, gesture: string): void {
    [this.look.t0, this.look.t1] = [t0, t1];
    this.clampView();
    this.repaint();
    this.events.moved(this.state(), gesture);
  }

  /* Zoom around a time, or around the cursor if it is in view. */
  private zoomBy(factor: number, around: number | null): void {
    const { t0, t1, cursor_s } = this.look;
    const at = around ?? (cursor_s >= t0 && cursor_s <= t1 ? cursor_s : (t0 + t1) / 2);
    const span = Math.min(this.end_s, Math.max(1e-9, (t1 - t0) * factor));
    const share = (at - t0) / (t1 - t0);
    this.moveTo(at - share * span, at - share * span + span, "zoom");
  }

  private fit(): void {
    this.scroll = 0;
    this.moveTo(0, this.end_s, "zoom");
  }

  private pan(share: number): void {
    const by = (this.look.t1 - this.look.t0) * share;
    this.moveTo(this.look.t0 + by, this.look.t1 + by, "pan");
  }

  private timeAt(x: number): number {
    const look = this.makeLook();
    return look.t0 + ((x - look.left) / (look.width - look.left)) * (look.t1 - look.t0);
  }

  private boxUnder(x: number, y: number): number {
    const look = this.makeLook();
    const index = Math.floor((y - AXIS + this.scroll) / look.row_height);
    const row = this.rows[index];
    if (row === undefined || y < AXIS || x < look.left || this.painter === null) return -1;
    const near = (look.t1 - look.t0) / (look.width - look.left);
    const data = this.painter.data;
    const at = this.timeAt(x);
    const box = data.boxAt(row.first, row.n, at);
    return box >= 0 ? box : data.boxAt(row.first, row.n, at + near);
  }

  private putCursor(time_s: number): void {
    this.setCursor(time_s);
    this.events.cursor(this.look.cursor_s);
    this.events.moved(this.state(), "cursor");
  }

  private select(box: number): void {
    this.selected = box;
    if (box >= 0 && this.painter !== null) fill(this.said, boxSentence(this.painter.data, box));
    this.repaint();
  }

  private listen(signal: AbortSignal): void {
    let drag: { x: number; y: number; t0: number; t1: number; scroll: number; moved: boolean } | null = null;
    const local = (event: MouseEvent): [number, number] => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const options = { signal };
    this.canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, t0: this.look.t0, t1: this.look.t1, scroll: this.scroll, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    }, options);
    this.canvas.addEventListener("pointermove", (event) => {
      if (drag === null) {
        this.hover(...local(event));
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
      if (!drag.moved) return;
      const look = this.makeLook();
      const by = (dx / (look.width - look.left)) * (drag.t1 - drag.t0);
      this.scroll = drag.scroll - dy;
      this.moveTo(drag.t0 - by, drag.t1 - by, "drag");
    }, options);
    this.canvas.addEventListener("pointerup", (event) => {
      const clicked = drag !== null && !drag.moved;
      drag = null;
      if (!clicked) return;
      const [x, y] = local(event);
      this.select(this.boxUnder(x, y));
      this.putCursor(this.timeAt(x));
    }, options);
    this.canvas.addEventListener("pointercancel", () => (drag = null), options);
    this.canvas.addEventListener("pointerleave", () => this.hover(-1, -1), options);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event, local(event)), { signal, passive: false });
    this.canvas.addEventListener("keydown", (event) => this.press(event), options);
    this.input.addEventListener("input", () => {
      this.look.search = this.input.value;
      this.find(false);
      this.events.moved(this.state(), "search");
    }, options);
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.next(event.shiftKey ? -1 : 1);
    }, options);
  }

  private wheel(event: WheelEvent, [x]: [number, number]): void {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoomBy(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.timeAt(x));
      return;
    }
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      this.pan(sideways / Math.max(200, this.width));
      return;
    }
    const before = this.scroll;
    this.scroll += event.deltaY;
    this.clampView();
    if (this.scroll === before) return;
    event.preventDefault();
    this.repaint();
  }

  private press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: { [key: string]: () => void } = {
      ArrowLeft: () => this.pan(-0.1),
      ArrowRight: () => this.pan(0.1),
      ArrowUp: () => this.scrollRows(-1),
      ArrowDown: () => this.scrollRows(1),
      "+": () => this.zoomBy(0.5, null),
      "=": () => this.zoomBy(0.5, null),
      "-": () => this.zoomBy(2, null),
      Home: () => this.fit(),
      Enter: () => this.next(1),
    };
    const act = actions[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  private scrollRows(by: number): void {
    this.scroll += by * this.rowHeight();
    this.clampView();
    this.repaint();
  }

  private hover(x: number, y: number): void {
    const box = x < 0 || this.painter === null ? -1 : this.boxUnder(x, y);
    if (box < 0 || this.painter === null) delete this.canvas.dataset["tip"];
    else this.canvas.dataset["tip"] = boxSentence(this.painter.data, box);
  }

  /* Which names match, and how many boxes; a number matches a whole name. */
  private find(quiet: boolean): void {
    const c = this.painter?.data.columns;
    const words = this.look.search.trim().toLowerCase();
    if (c === undefined || words === "") {
      this.matches = this.match_count = null;
      fill(this.found, "");
      this.repaint();
      return;
    }
    const whole = /^[\d.]+$/.test(words);
    this.matches = Uint8Array.from(c.names, (name) => ((whole ? name === words : name.toLowerCase().includes(words)) ? 1 : 0));
    this.match_count = new Uint32Array(c.name.length + 1);
    for (let i = 0; i < c.name.length; i++) this.match_count[i + 1] = this.match_count[i]! + this.matches[c.name[i]!]!;
    const n = this.rows.reduce((sum, r) => sum + this.match_count![r.first + r.n]! - this.match_count![r.first]!, 0);
    if (!quiet) fill(this.found, n === 0 ? "no box" : n === 1 ? "1 box" : `${count(n)} boxes`);
    this.repaint();
  }

  /* Go to the next box that matches, by time; without a search, the next of the critical path. */
  private next(way: number): void {
    const data = this.painter?.data;
    if (data === undefined) return;
    const c = data.columns;
    const after = this.selected >= 0 ? c.start_s[this.selected]! : this.look.cursor_s;
    let best = -1;
    for (const row of this.rows) {
      for (let i = way > 0 ? data.lowerBound(row.first, row.first + row.n, after + 1e-15) : data.lowerBound(row.first, row.first + row.n, after) - 1; i >= row.first && i < row.first + row.n; i += way) {
        if (this.matches === null ? (data.path[i]! & 1) === 0 : this.matches[c.name[i]!] !== 1) continue;
        if (best < 0 || (c.start_s[i]! - c.start_s[best]!) * way < 0) best = i;
        break;
      }
    }
    if (best < 0) return;
    this.reveal(best);
    this.select(best);
    this.putCursor(c.start_s[best]! + c.length_s[best]! / 2);
  }

  private reveal(box: number): void {
    const c = this.painter!.data.columns;
    const [from, until] = [c.start_s[box]!, c.start_s[box]! + c.length_s[box]!];
    const span = this.look.t1 - this.look.t0;
    if (from < this.look.t0 || until > this.look.t1) [this.look.t0, this.look.t1] = [(from + until - span) / 2, (from + until + span) / 2];
    const index = this.rows.findIndex((r) => box >= r.first && box < r.first + r.n);
    const top = index * this.rowHeight();
    const room = this.height() - AXIS;
    if (top < this.scroll) this.scroll = top;
    else if (top + this.rowHeight() > this.scroll + room) this.scroll = top + this.rowHeight() - room;
    this.clampView();
  }
}

export function timelineView(events: TimelineEvents, signal: AbortSignal): TimelineView {
  return new Timeline(events, signal);
}
