/* The report of `trace compare`: how near one set of traces is to another, and what it leaks. */

import { type Child, el } from "../base/dom.js";
import { count, percent, plural, significant, time } from "../base/format.js";
import { drawPairedBars, type PairedNames } from "../draw/paired_bars.js";
import { figureBox } from "../ui/figure.js";
import { card, colourKey, fact } from "../ui/parts.js";
import { table } from "../ui/table.js";

interface Spread {
  ks: number;
  wasserstein: number;
  mean_real: number;
  mean_synth: number;
}

export interface Comparison {
  real: string;
  synth: string;
  sets_real: number;
  sets_synth: number;
  mix: { [name: string]: { total_variation: number } };
  spread: { [name: string]: Spread };
  time?: { [cluster: string]: { mean_real_s: number; mean_synth_s: number; ks: number } };
  verbatim?: { [length: string]: { whole: number; beyond_repeats: number; types_alone: number } };
  nearest?: { distance?: { median: number; least: number } };
  leak?: { names?: { count: number }; numbers?: { count: number; share: number } };
  shares?: { [name: string]: { label: string; real: number; synth: number }[] };
  nearest_sets?: { synth: string; real: string; distance: number; shared_runs: number }[];
  leaked_names?: string[];
}

const SHARES: PairedNames = { a: "real", b: "synth", words: (v) => percent(v, 1), tick: (v) => percent(v) };
const TIMES: PairedNames = { a: "real", b: "synth", words: (v) => time(v), tick: (v) => time(v, 2) };

function pairedCard(title: string, rows: { name: string; a: number; b: number }[], names: PairedNames): HTMLElement {
  const box = figureBox();
  box.draw((width) => drawPairedBars(rows, names, width));
  return card(title, el("span", { class: "note" }, colourKey("--s1", null), "real  ", colourKey("--s2", null), "synth"), box.element);
}

function spreadCard(spread: { [name: string]: Spread }): HTMLElement {
  const list = table<[string, Spread]>([
    { name: "Quantity", heading: true, cell: ([name]) => name.replaceAll("_", " ") },
    { name: "KS distance", right: true, cell: ([, s]) => el("strong", {}, significant(s.ks)), by: ([, s]) => -s.ks },
    { name: "Wasserstein", right: true, cell: ([, s]) => significant(s.wasserstein), by: ([, s]) => -s.wasserstein },
    { name: "Mean, real", right: true, cell: ([, s]) => significant(s.mean_real) },
    { name: "Mean, synth", right: true, cell: ([, s]) => significant(s.mean_synth) },
  ], { label: "Distances of distributions, scrolls sideways" });
  list.show(Object.entries(spread));
  return card("Distributions", "0 = the same", list.element);
}

export function compareReport(c: Comparison): HTMLElement[] {
  const cards: Child[] = [];
  const mix = Object.entries(c.mix).map(([name, m]) => fact(`Mix of ${name}`, significant(m.total_variation), "total variation"));
  const nearest = c.nearest?.distance === undefined ? null : fact("Nearest set", significant(c.nearest.distance.least), `median ${significant(c.nearest.distance.median)}`);
  const leaked = c.leak?.names === undefined ? null : fact("Leaked names", count(c.leak.names.count), c.leak.numbers === undefined ? null : `${plural(c.leak.numbers.count, "number")}, ${percent(c.leak.numbers.share, 1)} of the values`);
  cards.push(card("How near", null, el("dl", { class: "facts" }, mix, nearest, leaked)));
  for (const [name, shares] of Object.entries(c.shares ?? {})) {
    if (shares.length > 0) cards.push(pairedCard(`Shares of ${name}`, shares.slice(0, 16).map((s) => ({ name: s.label, a: s.real, b: s.synth })), SHARES));
  }
  const times = Object.entries(c.time ?? {});
  if (times.length > 0) cards.push(pairedCard("Simulated time", times.map(([name, t]) => ({ name, a: t.mean_real_s, b: t.mean_synth_s })), TIMES));
  cards.push(spreadCard(c.spread));
  if (c.leaked_names !== undefined && c.leaked_names.length > 0) cards.push(card("Names that few real sets have", plural(c.leaked_names.length, "name"), el("p", { class: "note" }, c.leaked_names.join(", "))));
  return [el("div", { class: "title" }, el("h1", {}, `${c.synth} against ${c.real}`), el("p", { class: "lede" }, `${plural(c.sets_synth, "set")} against ${plural(c.sets_real, "real set")}.`)), el("div", { class: "grid" }, cards)];
}
