/* Tooltips: one element for mouse and keyboard; Escape closes it. They hold nothing that is
 * nowhere else. */

import { el } from "../base/dom.js";

let refocusing = false;

/* Give the focus back to a mark that was drawn anew: a tooltip that was closed stays closed. */
export function refocus(mark: SVGElement): void {
  refocusing = true;
  mark.focus({ preventScroll: true });
  refocusing = false;
}

export function startTips(): void {
  const tip = el("div", { class: "tip", hidden: true, role: "status" });
  document.body.append(tip);
  const show = (words: string, x: number, y: number): void => {
    tip.textContent = words;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.max(6, Math.min(innerWidth - box.width - 6, x - box.width / 2));
    const top = y - box.height - 12 < 4 ? y + 16 : y - box.height - 12;
    tip.style.setProperty("left", `${left}px`);
    tip.style.setProperty("top", `${top}px`);
  };
  const find = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>("[data-tip]") : null;
  document.addEventListener("pointermove", (event) => {
    const mark = find(event.target);
    if (mark === null) tip.hidden = true;
    else show(mark.dataset["tip"] ?? "", event.clientX, event.clientY);
  });
  document.addEventListener("focusin", (event) => {
    if (refocusing && tip.hidden) return;
    const mark = find(event.target);
    if (mark === null || !mark.matches(":focus-visible")) {
      tip.hidden = true;
      return;
    }
    const box = mark.getBoundingClientRect();
    show(mark.dataset["tip"] ?? "", box.left + box.width / 2, box.top);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
}
