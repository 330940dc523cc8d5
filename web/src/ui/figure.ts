/* A box that holds a figure and draws it again when its width changes. */

import { el } from "../base/dom.js";
import type { Figure } from "../draw/chart.js";
import { refocus } from "./tip.js";

export interface FigureBox {
  element: HTMLElement;
  draw(figure: Figure): void;
  clear(): void;
}

export function figureBox(kind = ""): FigureBox {
  const element = el("div", { class: `figure ${kind}` });
  let current: Figure | null = null;
  /* The observer says the width: reading clientWidth here would make the browser lay out the page
   * anew for every figure of every answer. */
  let width = 0;
  const redraw = (): void => {
    if (current !== null && width > 0) replaceKeepingFocus(element, current(width));
  };
  new ResizeObserver((entries) => {
    const next = Math.floor(entries[entries.length - 1]!.contentRect.width);
    if (next === width) return;
    width = next;
    redraw();
  }).observe(element);
  return {
    element,
    draw(figure) {
      current = figure;
      redraw();
    },
    clear() {
      current = null;
      element.replaceChildren();
    },
  };
}

/* A figure that is drawn anew keeps the focus on the mark with the same place in the order. */
function replaceKeepingFocus(box: HTMLElement, figure: SVGElement): void {
  const marks = (root: Element): Element[] => [...root.querySelectorAll("[tabindex], a")];
  const focused = document.activeElement;
  const at = focused !== null && box.contains(focused) ? marks(box).indexOf(focused) : -1;
  box.replaceChildren(figure);
  const next = at < 0 ? undefined : marks(box)[at];
  if (next instanceof SVGElement) refocus(next);
}
