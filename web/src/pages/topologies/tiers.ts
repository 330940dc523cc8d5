/* Tiers of a fat tree, from below: name, accelerators under a block, capacity down over up. */

import { el, fill } from "../../base/dom.js";
import { endGesture } from "../../base/url_state.js";
import type { Yaml, YamlMap } from "../../base/yaml.js";

export interface TiersField {
  element: HTMLElement;
  show(value: Yaml | undefined): void;
}

const MOST = 6;

function readTiers(value: Yaml | undefined): YamlMap[] {
  return Array.isArray(value) ? value.filter((t): t is YamlMap => t !== null && typeof t === "object" && !Array.isArray(t)) : [];
}

export function tiersField(changed: (tiers: Yaml | undefined) => void): TiersField {
  let tiers: YamlMap[] = [];
  const body = el("tbody");
  const give = (next: YamlMap[]): void => changed(next.length === 0 ? undefined : next);
  const set = (i: number, key: string, text: string): void => {
    const next = tiers.map((t) => ({ ...t }));
    const words = text.trim();
    if (words === "") delete next[i]![key];
    else next[i]![key] = key !== "name" && Number.isFinite(Number(words)) ? Number(words) : words;
    tiers = next;
    give(next);
  };
  const input = (i: number, key: string, label: string): HTMLInputElement => {
    const field = el("input", { type: "text", autocomplete: "off", spellcheck: "false", "aria-label": `${label} of tier ${i + 1}`, ...(key === "name" ? {} : { inputmode: "decimal" }) });
    field.value = String(tiers[i]?.[key] ?? "");
    field.addEventListener("input", () => set(i, key, field.value));
    field.addEventListener("change", endGesture);
    return field;
  };
  const paint = (): void => {
    fill(body, tiers.map((_, i) => el("tr", {}, el("td", {}, input(i, "name", "Name")), el("td", {}, input(i, "npus", "Accelerators under a block")), el("td", {}, input(i, "oversubscription", "Oversubscription")),
      el("td", {}, el("button", { class: "btn small", type: "button", "aria-label": `Remove tier ${i + 1}`, on: { click: () => give(tiers.filter((_t, k) => k !== i)) } }, "✕")))));
  };
  const head = ["Name", "Under a block", "Down : up", ""].map((h) => el("th", { scope: "col" }, h === "" ? el("span", { class: "sr" }, "Remove") : h));
  const add = el("button", { class: "btn small", type: "button", on: { click: () => tiers.length < MOST && give([...tiers, { name: `tier${tiers.length + 1}` }]) } }, "Add a tier on top");
  const element = el("div", { class: "field tiers", role: "group", "aria-label": "Tiers from below" }, el("span", { class: "label" }, "Tiers, from below"), el("table", {}, el("thead", {}, el("tr", {}, head)), body), el("div", {}, add), el("span", { class: "hint" }, "accelerators under a block of switches; the top tier needs none"));
  return {
    element,
    show(value) {
      const next = readTiers(value);
      if (JSON.stringify(next) === JSON.stringify(tiers) && body.childElementCount === next.length) return;
      tiers = next;
      paint();
    },
  };
}
