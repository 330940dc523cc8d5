/* The explanation of a number: name, formula with numbers, origin of constants, value. */

import type { Explanation } from "../api/types.js";
import { type Child, el, fill } from "../base/dom.js";
import { bytes, dollars, energy, percent, short, si, significant, time } from "../base/format.js";

export function quantity(value: number | undefined, unit: string | undefined): string {
  if (value === undefined) return "";
  switch (unit) {
    case "s":
      return time(value);
    case "B":
      return Math.abs(value) < 1000 ? `${short(value)} B` : bytes(value);
    case undefined:
    case "":
      return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : significant(value, 4);
    case "USD":
      return dollars(value);
    case "J":
      return energy(value);
    case "share":
      return percent(value, 1);
    default:
      return si(value, unit);
  }
}

function describeNode(node: Explanation): Child[] {
  return [
    el("span", {}, node.name),
    node.formula !== undefined && node.formula !== "" && el("span", { class: "f" }, node.formula.replaceAll(" x ", " × ")),
    node.origin !== undefined && el("span", { class: "src" }, node.origin),
    el("span", { class: "v" }, quantity(node.value, node.unit)),
  ];
}

/* Pairs such as forward and backward are said in the row of their parent. */
function isPair(children: readonly Explanation[]): boolean {
  return children.length === 2 && children.every((c) => c.children === undefined && c.formula === undefined);
}

function treeNode(node: Explanation, open: number): HTMLElement {
  const children = node.children ?? [];
  if (children.length === 0) return el("li", {}, el("div", { class: "leaf" }, describeNode(node)));
  if (isPair(children)) {
    const pair = children.map((c) => `${quantity(c.value, c.unit)} ${c.name}`).join(" + ");
    const words = describeNode(node);
    words.splice(3, 0, el("span", { class: "src" }, pair));
    return el("li", {}, el("div", { class: "leaf" }, words));
  }
  const list = el("ul");
  const details = el("details", {}, el("summary", {}, describeNode(node)), list);
  const build = (): void => {
    if (list.childElementCount === 0) fill(list, children.map((c) => treeNode(c, open - 1)));
  };
  details.open = open > 0;
  if (details.open) build();
  details.addEventListener("toggle", build);
  return el("li", {}, details);
}

/* The tree with its first `open` levels open; deeper levels are made when they are opened. */
export function explainTree(root: Explanation, open = 2): HTMLElement {
  return el("div", { class: "tree" }, el("ul", { class: "root" }, treeNode(root, open)));
}
