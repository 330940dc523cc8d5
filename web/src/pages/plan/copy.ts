/* The question of the page as a command, a request and a Python call. */

import type { PlanState } from "./state.js";
import { designDocument, estimateDocument } from "./state.js";
import { el, fill } from "../../base/dom.js";
import { card, copyButton } from "../../ui/parts.js";
import { tabList } from "../../ui/tabs.js";

/* Quote a word for the shell. */
function quote(word: string): string {
  return /^[A-Za-z0-9_.,:/=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function asCommand(state: PlanState): string {
  const words = ["halley", "estimate", "-m", quote(state.model), "-c", quote(`${state.cluster}:${state.npus}`)];
  if (state.stack !== "") words.push("-s", quote(state.stack));
  for (const [key, value] of Object.entries(state.plan)) {
    const name = `--${key.replaceAll("_", "-")}`;
    if (value === true) words.push(name);
    else if (value === false) words.push(key === "sequence_parallel" ? "--no-sequence-parallel" : "");
    else words.push(name, quote(String(value)));
  }
  if (state.headroom !== null) words.push("--headroom", String(state.headroom));
  words.push("--tokens", String(state.tokens).replace("+", ""));
  return words.filter((w) => w !== "").join(" ");
}

function pythonValue(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  return JSON.stringify(value);
}

export function asPython(state: PlanState): string {
  const { model, cluster, ...rest } = designDocument(state);
  const named = Object.entries({ ...rest, ...state.plan }).map(([key, value]) => `${key}=${pythonValue(value)}`);
  return `import halley as hl\ne = hl.estimate(${pythonValue(model)}, ${pythonValue(cluster)},\n                ${named.join(", ")})\ne.step_s, e.mfu, e.fits, e.error_bar`;
}

export interface CopyCard {
  element: HTMLElement;
  show(state: PlanState): void;
}

export function copyCard(): CopyCard {
  const panels = { Command: el("pre"), JSON: el("pre"), Python: el("pre") };
  const tabs = tabList("Form", Object.entries(panels).map(([name, panel]) => ({ name, panel })));
  const copy = copyButton(() => panels[tabs.selected() as keyof typeof panels].textContent ?? "");
  const element = card(
    "Take it with you",
    null,
    el("div", { class: "head" }, tabs.list, el("span", { class: "push" }, copy)),
    Object.values(panels),
    el("p", { class: "note gap-s" }, "The address of this page holds the same plan: send it, reload it, go back to it."),
  );
  return {
    element,
    show(state) {
      fill(panels.Command, asCommand(state));
      fill(panels.JSON, JSON.stringify(estimateDocument(state), null, 2));
      fill(panels.Python, asPython(state));
    },
  };
}
