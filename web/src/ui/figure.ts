/* A box that holds a figure and draws it again when its width changes. */

import { el } from "../base/dom.js";
import type { Figure } from "../draw/chart.js";

export interface FigureBox {
  element: HTMLElement;
  draw(figure: Figure): void;
  clear(): void;
}

export function figureBox(kind = ""): FigureBox {
  const element = el("div", { class: `figure ${kind}` });
  let current: Figure | null = null;
  let drawn = 0;
  const redraw = (): void => {
    const width = Math.floor(element.clientWidth);
    if (current === null || width <= 0) return;
    drawn = width;
    replaceKeepingFocus(element, current(width));
  };
  new ResizeObserver(() => {
    if (Math.floor(element.clientWidth) !== drawn) redraw();
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
  if (next instanceof SVGElement) next.focus({ preventScroll: true });
}
