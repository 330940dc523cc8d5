/* Small parts of pages: cards, states, keys of colours, lists of parts, banners, facts, numbers
 * that explain themselves, progress. */

import type { Fit } from "../api/types.js";
import type { Progress } from "../api/client.js";
import { type Child, el, fill, uniqueId } from "../base/dom.js";
import { bytes, count, percent, significant, time } from "../base/format.js";
import type { Hatch } from "../draw/chart.js";

/* A card with a heading; `aside` stands at the right of the heading. */
export function card(title: Child, aside: Child, ...children: Child[]): HTMLElement {
  const id = uniqueId("h");
  return el("section", { class: "card", "aria-labelledby": id }, el("div", { class: "head" }, el("h2", { id }, title), aside !== null && el("span", { class: "push" }, aside)), ...children);
}

interface FitState {
  kind: "fits" | "tight" | "over";
  words: string;
}

const FITS: { [fit in Fit]: FitState } = {
  fits: { kind: "fits", words: "fits" },
  tight: { kind: "tight", words: "tight" },
  "may-fit": { kind: "tight", words: "may fit" },
  "may-need-offload": { kind: "tight", words: "may need host offload" },
  "does-not-fit": { kind: "over", words: "does not fit" },
};

export function fitWords(fit: Fit): string {
  return FITS[fit].words;
}

/* What lies on the device, and what of it in outer memory. */
export function memoryWords(device_bytes: number, spilled_bytes = 0): string {
  return spilled_bytes > 0 ? `${bytes(device_bytes - spilled_bytes)} + ${bytes(spilled_bytes)} outer` : bytes(device_bytes);
}

/* Sign, word and colour; "may fit" has a question mark. */
export function stateChip(fit: Fit, more = ""): HTMLElement {
  const state = FITS[fit];
  const unsure = fit === "may-fit" || fit === "may-need-offload" ? " unsure" : "";
  return el("span", { class: `state ${state.kind}${unsure}` }, state.words + more);
}

export function chip(kind: "fits" | "tight" | "over" | "info", words: string): HTMLElement {
  return el("span", { class: `state ${kind}` }, words);
}

const STRIPES: { [hatch in Hatch]: string } = { up: "-45deg", down: "45deg", cross: "90deg", ink: "-45deg" };

/* The square of a colour in a key. */
export function colourKey(colour: string, hatch: Hatch | null): HTMLElement {
  const stripes = hatch && `repeating-linear-gradient(${STRIPES[hatch]}, var(${colour}) 0 3px, color-mix(in srgb, var(${colour}) 45%, var(--surface)) 3px 5px)`;
  return el("span", { class: "key", "aria-hidden": "true", css: { background: stripes ?? `var(${colour})` } });
}

export interface ListedPart {
  name: string;
  colour: string;
  hatch: Hatch | null;
  value: string;
  share: number;
  /* what explains the value, if anything does */
  explain?: () => void;
}

/* Parts with value and share, two columns. */
export function partList(parts: readonly ListedPart[], decimals: number): HTMLElement {
  const item = (p: ListedPart): HTMLElement =>
    el("li", {}, el("span", {}, colourKey(p.colour, p.hatch), p.name), el("span", { class: "v" }, p.explain === undefined ? p.value : explained(p.value, p.name, p.explain)), el("span", { class: "p" }, percent(p.share, decimals)));
  return el("ul", { class: "list-parts" }, parts.map(item));
}

export function banner(kind: "over" | "tight" | "info", title: Child, ...children: Child[]): HTMLElement {
  return el("div", { class: `banner ${kind === "over" ? "" : kind}` }, el("strong", {}, title), ...children);
}

/* A term with its number and a quieter line below. */
export function fact(name: string, value: Child, below: Child = null): HTMLElement {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value, below !== null && el("small", {}, below)));
}

/* A number with a dotted underline that opens its explanation. */
export function explained(words: string, label: string, open: () => void, kind = "num"): HTMLButtonElement {
  return el("button", { class: kind, type: "button", "aria-label": `${label} ${words}: explain`, on: { click: open } }, words);
}

/* Build what `element` holds only when its key changed: buttons keep the focus, and a click that
 * is under way is not lost. */
export function refill(element: HTMLElement, key: string, build: () => Child): void {
  if (element.dataset["key"] === key) return;
  element.dataset["key"] = key;
  const focused = element.contains(document.activeElement) ? [...element.querySelectorAll("button, a")].indexOf(document.activeElement!) : -1;
  fill(element, build());
  const next = focused < 0 ? undefined : element.querySelectorAll<HTMLElement>("button, a")[focused];
  next?.focus({ preventScroll: true });
}

/* Fade what is not the answer to the present question; it stays readable, and says so. Cards of the
 * class "keep" answer for themselves. */
export function fade(element: HTMLElement, faded: boolean): void {
  element.classList.toggle("faded", faded);
  for (const part of element.querySelectorAll(".card:not(.keep)")) {
    if (faded) part.setAttribute("aria-disabled", "true");
    else part.removeAttribute("aria-disabled");
  }
}

export interface ProgressBar {
  element: HTMLElement;
  start(): void;
  show(progress: Progress): void;
  end(words: Child): void;
}

/* Bar, count, rate and time left. */
export function progressBar(): ProgressBar {
  const bar = el("i");
  const track = el("div", { class: "progress", role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100, hidden: true }, bar);
  const words = el("p", { class: "note gap-s", "aria-live": "polite" });
  let began = 0;
  return {
    element: el("div", { class: "gap" }, track, words),
    start() {
      began = performance.now();
      track.hidden = false;
      bar.style.setProperty("width", "0");
      fill(words, "started …");
    },
    show(p) {
      const seconds = (performance.now() - began) / 1000;
      const share = p.total > 0 ? Math.min(1, p.done / p.total) : 0;
      track.hidden = false;
      track.setAttribute("aria-valuenow", String(Math.round(share * 100)));
      bar.style.setProperty("width", `${share * 100}%`);
      const rate = p.done / Math.max(seconds, 1e-3);
      const left = p.total > p.done && rate > 0 ? `, ${time((p.total - p.done) / rate, 2)} left` : "";
      const of = p.total > 0 ? ` of ${count(p.total)}` : "";
      fill(words, `${p.what}: ${count(p.done)}${of} ${p.noun}, ${significant(rate)} per second${left}`);
    },
    end(sentence) {
      track.hidden = true;
      fill(words, sentence);
    },
  };
}

/* Text with a button that copies it. */
export function copyButton(text: () => string): HTMLButtonElement {
  const button = el("button", { class: "btn small", type: "button" }, "Copy");
  button.addEventListener("click", () => {
    void copyText(text()).then((done) => {
      button.textContent = done ? "Copied" : "Select and copy";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  });
  return button;
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; /* not a secure context, or the user refused */
  }
}
