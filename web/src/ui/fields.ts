/* Fields of forms: each is a labelled element with set() and a place for its error. `changed` is
 * called while a slider moves or a text is typed; endGesture() closes the entry of the history. */

import { el, fill, uniqueId } from "../base/dom.js";
import { count } from "../base/format.js";
import { endGesture } from "../base/url_state.js";

export interface Field<V> {
  element: HTMLElement;
  get(): V;
  set(value: V): void;
  /* Show a sentence under the field, with a button that repairs it; null takes it away. */
  fail(message: string | null, repair?: Repair): void;
  show(visible: boolean): void;
}

export interface Repair {
  label: string;
  apply: () => void;
}

type Changed<V> = (value: V) => void;

interface Frame {
  element: HTMLElement;
  id: string;
  fail: Field<unknown>["fail"];
  show: Field<unknown>["show"];
}

/* The element around a field: label, control, hint, error. */
function frameField(label: string, extra: Node | null, control: HTMLElement, hint: string | null): Frame {
  const id = uniqueId("field");
  control.id = id;
  const error = el("div", { class: "err", id: `${id}-error`, role: "alert", hidden: true });
  const described = hint === null ? `${id}-error` : `${id}-hint ${id}-error`;
  control.setAttribute("aria-describedby", described);
  const group = control.getAttribute("role") === "radiogroup";
  const name = group
    ? el("span", { class: "label", id: `${id}-label` }, label, extra)
    : el("span", { class: "label" }, el("label", { for: id }, label), extra);
  if (group) control.setAttribute("aria-labelledby", `${id}-label`);
  const element = el("div", { class: "field" }, name, control, hint !== null && el("span", { class: "hint", id: `${id}-hint` }, hint), error);
  return {
    element,
    id,
    fail(message, repair) {
      if (message === null && error.hidden) return;
      element.classList.toggle("bad", message !== null);
      if (message === null) control.removeAttribute("aria-invalid");
      else control.setAttribute("aria-invalid", "true");
      error.hidden = message === null;
      const button = repair && el("button", { class: "btn small", type: "button", on: { click: repair.apply } }, repair.label);
      fill(error, message, button && " ", button);
    },
    show(visible) {
      element.hidden = !visible;
    },
  };
}

export interface Choice {
  value: string;
  label: string;
  group?: string;
}

export interface SelectField extends Field<string> {
  offer(choices: readonly Choice[]): void;
}

export function selectField(label: string, choices: readonly Choice[], changed: Changed<string>, hint: string | null = null): SelectField {
  const control = el("select");
  const offer = (list: readonly Choice[]): void => {
    const groups = new Map<string, Choice[]>();
    for (const choice of list) groups.set(choice.group ?? "", [...(groups.get(choice.group ?? "") ?? []), choice]);
    const options = (some: Choice[]): HTMLElement[] => some.map((c) => el("option", { value: c.value }, c.label));
    fill(control, [...groups].map(([name, some]) => (name === "" ? options(some) : el("optgroup", { label: name }, options(some)))));
  };
  offer(choices);
  control.addEventListener("change", () => {
    changed(control.value);
    endGesture();
  });
  const frame = frameField(label, null, control, hint);
  return {
    ...frame,
    offer,
    get: () => control.value,
    set(value) {
      if (![...control.options].some((o) => o.value === value)) control.append(el("option", { value }, value));
      control.value = value;
    },
  };
}

export interface SliderField extends Field<number> {
  /* Offer these stops, ascending; the value stays. */
  offer(stops: readonly number[]): void;
  disable(disabled: boolean): void;
}

/* A slider over stops, with a number field beside it for values in between. */
export function sliderField(
  label: string,
  stops: readonly number[],
  changed: Changed<number>,
  format: (value: number) => string = count,
  parse: (words: string) => number = (words) => Number(words.replaceAll(",", "")),
): SliderField {
  let list = [...stops];
  let value = list[0] ?? 1;
  const range = el("input", { type: "range", min: 0, max: Math.max(1, list.length - 1), step: 1 });
  const number = el("input", { type: "text", class: "value-input", inputmode: "numeric", "aria-label": `${label}, value` });
  const scale = el("span", { class: "stops", "aria-hidden": "true" });
  const paint = (typing = false): void => {
    const nearest = list.reduce((best, stop, i) => (Math.abs(stop - value) < Math.abs(list[best]! - value) ? i : best), 0);
    range.value = String(nearest);
    range.setAttribute("aria-valuetext", format(value));
    if (!typing) number.value = format(value);
  };
  const paintStops = (): void => {
    range.max = String(Math.max(1, list.length - 1));
    const last = Math.max(1, list.length - 1);
    const shown = list.length <= 6 ? list.map((_, i) => i) : [0, 0.25, 0.5, 0.75, 1].map((p) => Math.round(p * last));
    fill(scale, shown.map((i) => el("span", { css: { left: `${(100 * i) / last}%` } }, format(list[i] ?? 0))));
  };
  range.addEventListener("input", () => {
    value = list[Number(range.value)] ?? value;
    paint();
    changed(value);
  });
  range.addEventListener("change", endGesture);
  number.addEventListener("input", () => {
    const typed = parse(number.value);
    if (!Number.isFinite(typed) || typed <= 0) return;
    value = typed;
    paint(true);
    changed(value);
  });
  number.addEventListener("change", () => {
    paint();
    endGesture();
  });
  const frame = frameField(label, number, range, null);
  range.after(scale);
  paintStops();
  paint();
  return {
    ...frame,
    get: () => value,
    set(next) {
      value = next;
      paint(document.activeElement === number);
    },
    offer(next) {
      if (next.length > 0 && next.join() !== list.join()) {
        list = [...next];
        paintStops();
      }
      paint(document.activeElement === number);
    },
    disable(disabled) {
      range.disabled = disabled;
      number.disabled = disabled;
    },
  };
}

export interface SegmentField extends Field<string> {
  offer(choices: readonly Choice[]): void;
}

/* A few choices side by side: a radio group, moved by arrows. */
export function segmentField(label: string, choices: readonly Choice[], changed: Changed<string>, hint: string | null = null): SegmentField {
  let value = choices[0]?.value ?? "";
  let list = [...choices];
  const group = el("div", { class: "seg wide", role: "radiogroup" });
  const paint = (): void => {
    for (const button of group.children) {
      const chosen = button instanceof HTMLElement && button.dataset["value"] === value;
      button.setAttribute("aria-checked", String(chosen));
      if (button instanceof HTMLElement) button.tabIndex = chosen ? 0 : -1;
    }
    if (group.querySelector("[aria-checked=true]") === null && group.firstElementChild instanceof HTMLElement) group.firstElementChild.tabIndex = 0;
  };
  const choose = (next: string, focus: boolean): void => {
    value = next;
    paint();
    if (focus) group.querySelector<HTMLElement>("[aria-checked=true]")?.focus();
    changed(value);
    endGesture();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = list.findIndex((c) => c.value === value);
    choose(list[(at + step + list.length) % list.length]!.value, true);
  };
  const offer = (next: readonly Choice[]): void => {
    if (group.childElementCount > 0 && next.map((c) => c.value).join() === list.map((c) => c.value).join()) return;
    list = [...next];
    const buttons = list.map((c) =>
      el("button", { type: "button", role: "radio", "data-value": c.value, on: { click: () => choose(c.value, false), keydown: press } }, c.label),
    );
    fill(group, buttons);
    paint();
  };
  offer(choices);
  return {
    ...frameField(label, null, group, hint),
    offer,
    get: () => value,
    set(next) {
      value = next;
      paint();
    },
  };
}

/* A line of text or a number; `changed` gets the text. */
export function textField(label: string, changed: Changed<string>, more: { hint?: string; type?: string; step?: number; min?: number; placeholder?: string } = {}): Field<string> {
  const { hint, ...attributes } = more;
  const control = el("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
  control.addEventListener("input", () => changed(control.value));
  control.addEventListener("change", endGesture);
  return {
    ...frameField(label, null, control, hint ?? null),
    get: () => control.value,
    set(value) {
      if (control.value !== value) control.value = value;
    },
  };
}

export function checkField(label: string, changed: Changed<boolean>): Field<boolean> {
  const control = el("input", { type: "checkbox" });
  control.addEventListener("change", () => {
    changed(control.checked);
    endGesture();
  });
  const frame = frameField(label, null, control, null);
  frame.element.classList.add("check");
  return {
    ...frame,
    get: () => control.checked,
    set(value) {
      control.checked = value;
    },
  };
}
