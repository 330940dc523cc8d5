/* A text editor for YAML: errors with their line, completion with Ctrl+Space. */

import { el, fill, uniqueId } from "../base/dom.js";

export interface Suggestion {
  text: string;
  meaning: string;
}

export interface Editor {
  element: HTMLElement;
  get(): string;
  set(text: string): void;
  /* Show a sentence under the text; with a line, select it in the margin. */
  fail(message: string | null, line?: number): void;
}

/* `suggest` gets the line up to the caret, and the key of the enclosing block. */
export function yamlEditor(label: string, changed: (text: string) => void, suggest: (before: string, block: string) => readonly Suggestion[]): Editor {
  const id = uniqueId("yaml");
  const area = el("textarea", { id, class: "mono yaml", rows: 24, spellcheck: "false", autocomplete: "off", "aria-describedby": `${id}-error ${id}-hint`, wrap: "off" });
  const error = el("p", { class: "err", id: `${id}-error`, role: "alert" });
  const list = el("ul", { class: "suggestions", role: "listbox", "aria-label": "Completions", id: `${id}-list`, hidden: true });
  const gutter = el("div", { class: "gutter", "aria-hidden": "true" });
  let options: readonly Suggestion[] = [];
  let active = 0;
  let bad = 0;
  const paintGutter = (): void => {
    const lines = area.value.split("\n").length;
    fill(gutter, Array.from({ length: lines }, (_, i) => el("span", { class: i + 1 === bad ? "bad" : null }, String(i + 1))));
    gutter.scrollTop = area.scrollTop;
  };
  const word = (): string => /[A-Za-z0-9_./-]*$/.exec(area.value.slice(0, area.selectionStart))?.[0] ?? "";
  const close = (): void => {
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  };
  const paintList = (): void => {
    list.hidden = options.length === 0;
    fill(list, options.map((o, i) => el("li", { role: "option", id: `${id}-option-${i}`, "aria-selected": String(i === active), on: { pointerdown: (event: PointerEvent) => {
      event.preventDefault();
      take(o);
    } } }, el("code", {}, o.text), " ", el("span", { class: "muted" }, o.meaning))));
    if (options.length > 0) area.setAttribute("aria-activedescendant", `${id}-option-${active}`);
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const open = (): void => {
    const before = area.value.slice(0, area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const block = [...before.matchAll(/^([A-Za-z-]+):/gm)].pop()?.[1] ?? "";
    const typed = word().toLowerCase();
    options = suggest(line, block).filter((s) => s.text.toLowerCase().includes(typed)).slice(0, 40);
    active = 0;
    paintList();
  };
  const take = (s: Suggestion): void => {
    const at = area.selectionStart;
    area.setRangeText(s.text, at - word().length, at, "end");
    close();
    paintGutter();
    changed(area.value);
    area.focus();
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      open();
    } else if (!list.hidden && event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (!list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      active = (active + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
      paintList();
    } else if (!list.hidden && event.key === "Enter") {
      event.preventDefault();
      take(options[active]!);
    }
  });
  area.addEventListener("input", () => {
    paintGutter();
    if (!list.hidden) open();
    changed(area.value);
  });
  area.addEventListener("scroll", () => (gutter.scrollTop = area.scrollTop));
  area.addEventListener("blur", close);
  return {
    element: el(
      "div",
      { class: "editor" },
      el("label", { class: "sr", for: id }, label),
      el("div", { class: "editor-box" }, gutter, area, list),
      error,
      el("p", { class: "hint", id: `${id}-hint` }, "Completion: Ctrl+Space. Tab leaves the text."),
    ),
    get: () => area.value,
    set(text) {
      if (area.value !== text) area.value = text;
      paintGutter();
    },
    fail(message, line) {
      bad = message === null ? 0 : (line ?? 0);
      if (message === null) area.removeAttribute("aria-invalid");
      else area.setAttribute("aria-invalid", "true");
      fill(error, message);
      paintGutter();
    },
  };
}
