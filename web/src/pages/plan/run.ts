/* A whole training run: days, cost, energy; and what renting the accelerators would cost. */

import type { Estimate } from "../../api/types.js";
import { deviceWord } from "../../api/catalog.js";
import { type Child, el, fill } from "../../base/dom.js";
import { big, dollars, energy, percent, si, time } from "../../base/format.js";
import { sliderField, textField } from "../../ui/fields.js";
import { card, explained, fact, refill } from "../../ui/parts.js";

const TOKEN_STOPS = [1e10, 1e11, 3e11, 1e12, 2e12, 5e12, 1e13, 1.5e13, 3e13];

const SUFFIX: { [letter: string]: number } = { k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 };

/* "15 T", "300B" or 1.5e13 */
export function readTokens(words: string): number {
  const match = /^\s*([\d.,]+(?:e\d+)?)\s*([kmbgt]?)\s*$/i.exec(words);
  if (match === null) return NaN;
  return Number(match[1]!.replaceAll(",", "")) * (SUFFIX[match[2]!.toLowerCase()] ?? 1);
}

/* Days, cost and energy of the run, each with its error. */
export function runFacts(e: Estimate, rent: number, explain: ((what: string) => void) | null): Child[] {
  const number = (words: string, label: string, what: string): Child => (explain === null ? words : explained(words, label, () => explain(what)));
  const typical = e.error_bar?.typical ?? 0;
  const within = (words: string): string => `± ${words}`;
  const rented = (e.train_npu_hours ?? 0) * rent;
  const whole = e.train_s ?? 0;
  return [
    fact("Time to train", number(time(whole), "Time to train", "days"), `${within(time(whole * typical, 2))}; goodput ${percent(e.goodput ?? 1, 1)}`),
    e.train_cost_usd !== undefined && fact("Owning", number(dollars(e.train_cost_usd), "Owning", "cost"), within(dollars(e.train_cost_usd * typical, 2))),
    rent > 0 && fact("Renting", number(dollars(rented), "Renting", "rent"), within(dollars(rented * typical, 2))),
    e.train_energy_J !== undefined && fact("Energy", number(energy(e.train_energy_J), "Energy", "energy"), `${si(e.average_W ?? 0, "W")} on average`),
  ];
}

export interface RunEvents {
  tokens(tokens: number): void;
  rent(usd: number): void;
  explain(what: string): void;
}

export interface RunCard {
  element: HTMLElement;
  /* lines of the presets that hold prices */
  showPrices(lines: readonly string[]): void;
  show(e: Estimate, tokens: number, rent: number): void;
}

export function runCard(events: RunEvents): RunCard {
  const tokens = sliderField("Tokens", TOKEN_STOPS, events.tokens, (n) => big(n).replace(/\.0+(?= |$)/, ""), readTokens);
  const rent = textField("Rental price, $ per GPU-hour", (words) => {
    const price = Number(words);
    if (words.trim() !== "" && Number.isFinite(price) && price >= 0) events.rent(price);
  }, { type: "number", step: 0.05, min: 0 });
  const facts = el("dl", { class: "facts two" });
  const note = el("p", { class: "note gap-s" });
  const prices = el("details", { class: "plain", hidden: true });
  const element = card("A whole training run", null, tokens.element, facts, el("div", { class: "gap" }), rent.element, note, prices);
  return {
    element,
    showPrices(lines) {
      prices.hidden = lines.length === 0;
      fill(prices, el("summary", {}, "Prices used"), el("ul", { class: "small" }, lines.map((l) => el("li", {}, el("code", {}, l)))));
    },
    show(e, wanted, price) {
      tokens.set(wanted);
      rent.set(String(price));
      const device = deviceWord(e.cluster);
      rent.element.querySelector("label")!.textContent = `Rental price, $ per ${device}-hour`;
      refill(facts, JSON.stringify([e.train_s, e.train_cost_usd, e.train_energy_J, e.error_bar?.typical, price]), () => runFacts(e, price, events.explain));
      const capital = e.capital_usd === undefined ? "" : `Owning: the share of ${dollars(e.capital_usd)} capital that the run uses up, and energy (prices of the preset ${e.cluster}; ballpark, vendors publish none). `;
      const paid = e.paid_npus !== undefined && e.paid_npus !== e.npus ? `Whole nodes or racks are paid for: ${e.paid_npus} ${device}s. ` : "";
      const plate = e.nameplate_W === undefined ? "" : `Nameplate of the nodes: ${si(e.nameplate_W, "W")}.`;
      fill(note, capital, paid, plate);
    },
  };
}
