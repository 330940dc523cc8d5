/* Files that are dropped anywhere on a page, or chosen with a button. */

import { el } from "../base/dom.js";

/* Call `take` with dropped files until the signal aborts. */
export function acceptDrops(take: (files: File[]) => void, signal: AbortSignal): void {
  let depth = 0;
  const paint = (): void => void document.body.classList.toggle("dropping", depth > 0);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const options = { signal };
  document.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    paint();
  }, options);
  document.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    paint();
  }, options);
  document.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  }, options);
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    paint();
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) take(files);
  }, options);
  signal.addEventListener("abort", () => document.body.classList.remove("dropping"));
}

/* A button that opens the file chooser. */
export function fileButton(label: string, take: (files: File[]) => void, multiple = false): HTMLElement {
  const input = el("input", { type: "file", class: "sr", multiple, tabindex: -1, "aria-label": label });
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    input.value = "";
    if (files.length > 0) take(files);
  });
  return el("span", {}, el("button", { class: "btn small", type: "button", on: { click: () => input.click() } }, label), input);
}
