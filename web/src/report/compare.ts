/* The report of `trace compare`: how near one set of traces is to another, and what it leaks. */

import { type Child, el } from "../base/dom.js";
import { bytes, count, percent, plural, short, signed, significant, time } from "../base/format.js";
import { drawAuc } from "../draw/auc.js";
import { drawCurves } from "../draw/distributions.js";
import { drawPairedBars, type PairedNames } from "../draw/paired_bars.js";
import { figureBox } from "../ui/figure.js";
import { banner, card, colourKey, fact } from "../ui/parts.js";
import { table } from "../ui/table.js";

interface Spread {
  ks: number;
  wasserstein?: number;
  mean_real?: number;
  mean_synth?: number;
}

interface Times {
  sets_real: number;
  sets_synth: number;
  mean_real_s?: number;
  mean_synth_s?: number;
  sd_real_s?: number;
  sd_synth_s?: number;
  ks: number;
}

interface Verbatim {
  whole: number;
  beyond_repeats: number;
  types_alone: number;
}

interface Auc {
  auc: number;
  low: number;
  high: number;
  members: number;
  others: number;
}

export interface Comparison {
  real: string;
  synth: string;
  sets_real: number;
  sets_synth: number;
  min_support?: number;
  mix: { [name: string]: { total_variation: number } };
  spread: { [name: string]: Spread };
  time?: { [cluster: string]: Times };
  verbatim?: { [length: string]: Verbatim };
  nearest?: { distance?: { median?: number; median_within_real?: number; least?: number } };
  leak?: { names?: { count: number }; numbers?: { count: number; share: number } };
  membership?: { [attack: string]: Auc };
  shares?: { [name: string]: { label: string; real: number; synth: number }[] };
  nearest_sets?: { synth: string; real: string; distance: number; shared_runs: number }[];
  leaked_names?: string[];
  /* of reports only: quantiles of both sides, and why a set could not be simulated */
  quantiles?: { [name: string]: { real?: number[]; synth?: number[] } };
  not_simulated?: string;
}

const SHARES: PairedNames = { a: "real", b: "synth", words: (v) => percent(v, 1), tick: (v) => percent(v) };
const TIMES: PairedNames = { a: "real", b: "synth", words: (v) => time(v), tick: (v) => time(v, 2) };
const MOST_BARS = 12;

/* Name and meaning of a mix, name of a quantity and of an attack; other keys speak for themselves. */
const MIXES: { [key: string]: [string, string] } = {
  kinds: ["Operator kinds", "Node types, collectives, and whether they run on the host."],
  names: ["Operator names", "Names of nodes, numbers in them left out. Hidden names have none in common."],
  edges: ["Dependencies", "Kinds of the two ends of each dependency."],
  volume: ["Communication volume", "Bytes by type of communication."],
};
const ATTACKS: { [key: string]: string } = {
  "likelihood-conditions": "likelihood of conditions",
  "likelihood-programs": "likelihood of programs",
  "likelihood-numbers": "likelihood of numbers",
  "likelihood-network": "likelihood by network",
  "likelihood-network-programs": "network: operators, edges",
  "likelihood-network-numbers": "network: numbers, loop counts",
  scores: "given scores",
};

const QUANTITIES: { [key: string]: string } = {
  duration_s: "Compute durations",
  traffic_bytes: "Memory traffic",
  message_bytes: "Message sizes",
  in_degree: "In-degrees",
  out_degree: "Out-degrees",
  width: "Level widths",
  depth: "Depths",
  nodes: "Nodes of a rank",
  critical_s: "Critical paths",
};

function plainName(key: string): string {
  const known = QUANTITIES[key];
  if (known !== undefined) return known;
  const words = key.replace(/_(s|bytes)$/, "").replaceAll(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function valueWords(key: string): (v: number) => string {
  if (key.endsWith("_s")) return (v) => time(v);
  if (key.endsWith("_bytes")) return (v) => bytes(v);
  return (v) => (Math.abs(v) >= 1e5 ? v.toExponential(1) : short(v));
}

const bothKey = (): HTMLElement => el("span", { class: "note" }, colourKey("--s1", null), "real  ", colourKey("--s2", null), "synth");
const orDash = (v: number | undefined, words: (v: number) => string): string => (v === undefined ? "–" : words(v));
const changeOf = (t: Times): number | undefined => (t.mean_real_s === undefined || t.mean_synth_s === undefined || t.mean_real_s === 0 ? undefined : t.mean_synth_s / t.mean_real_s - 1);

function largestChange(c: Comparison): number | undefined {
  return Object.values(c.time ?? {}).map(changeOf).filter((v): v is number => v !== undefined).sort((a, b) => Math.abs(b) - Math.abs(a))[0];
}

/* Runs of at least 64 nodes: longer than what chance makes, shorter than a layer. */
function longRun(c: Comparison): [string, Verbatim] | undefined {
  return Object.entries(c.verbatim ?? {}).find(([length]) => Number(length) >= 64);
}

function summary(c: Comparison): string {
  const change = largestChange(c);
  const run = longRun(c);
  const kinds = c.mix["kinds"];
  return [
    `${plural(c.sets_synth, "set")} against ${plural(c.sets_real, "real set")}.`,
    kinds === undefined ? "" : `${percent(kinds.total_variation, 1)} of the operators would have to be of another kind for the mixes to be the same.`,
    change === undefined ? "" : `The mean simulated time differs by at most ${percent(Math.abs(change), 1)}.`,
    run === undefined ? "" : `${percent(run[1].beyond_repeats, 2)} of the nodes, repeats of layers left aside, stand in runs of ${run[0]} or more copied from the real sets.`,
  ].filter((w) => w !== "").join(" ");
}

function factsCard(c: Comparison): HTMLElement {
  const change = largestChange(c);
  const run = longRun(c);
  const worst = Math.max(...Object.values(c.membership ?? {}).map((a) => a.auc));
  return card("How near", null, el("dl", { class: "facts" },
    Object.entries(c.mix).map(([key, m]) => fact(MIXES[key]?.[0] ?? plainName(key), significant(m.total_variation), "total variation")),
    change !== undefined && fact("Simulated time", signed(change), "largest change"),
    run !== undefined && fact("Copied runs", percent(run[1].beyond_repeats, 2), `of ${run[0]} nodes or more`),
    c.nearest?.distance?.least !== undefined && fact("Nearest set", significant(c.nearest.distance.least), c.nearest.distance.median === undefined ? null : `median ${significant(c.nearest.distance.median)}`),
    c.leak?.names !== undefined && fact("Leaked names", count(c.leak.names.count), c.leak.numbers === undefined ? null : `${plural(c.leak.numbers.count, "number")}, ${percent(c.leak.numbers.share, 1)} of the values`),
    Number.isFinite(worst) && fact("Membership", worst.toFixed(3), "best attack, AUC")));
}

function mixCard(key: string, shares: readonly { label: string; real: number; synth: number }[], c: Comparison): HTMLElement {
  const box = figureBox();
  const rows = shares.slice(0, MOST_BARS).map((s) => ({ name: s.label, a: s.real, b: s.synth }));
  box.draw((width) => drawPairedBars(rows, SHARES, width));
  const [title, below] = MIXES[key] ?? [plainName(key), ""];
  return card(title, bothKey(), el("p", { class: "note" }, `${below} Total variation ${significant(c.mix[key]?.total_variation ?? 0)}; 0 is the same.`), box.element, shares.length > MOST_BARS && el("p", { class: "note" }, `and ${count(shares.length - MOST_BARS)} more`));
}

function distributionCard(c: Comparison): HTMLElement {
  const figures = Object.entries(c.quantiles ?? {}).map(([key, q]) => {
    const box = figureBox();
    const spread = c.spread[key];
    box.draw((width) => drawCurves({ name: plainName(key), a: q.real ?? [], b: q.synth ?? [], words: valueWords(key) }, width));
    const words = spread === undefined ? "" : `KS ${significant(spread.ks)}${spread.wasserstein === undefined ? "" : `, W ${significant(spread.wasserstein)}`}`;
    return el("div", {}, el("h3", {}, plainName(key), " ", el("span", { class: "note" }, words)), box.element);
  });
  const list = table<[string, Spread]>([
    { name: "Quantity", heading: true, cell: ([name]) => plainName(name) },
    { name: "KS", right: true, cell: ([, s]) => el("strong", {}, significant(s.ks)), by: ([, s]) => -s.ks },
    { name: "Wasserstein", right: true, cell: ([, s]) => orDash(s.wasserstein, significant), by: ([, s]) => -(s.wasserstein ?? 0) },
    { name: "Mean, real", right: true, cell: ([name, s]) => orDash(s.mean_real, valueWords(name)) },
    { name: "Mean, synth", right: true, cell: ([name, s]) => orDash(s.mean_synth, valueWords(name)) },
  ], { label: "Distances of distributions, scrolls sideways" });
  list.show(Object.entries(c.spread));
  return card("Distributions", bothKey(), el("p", { class: "note" }, "Share of values up to a size; where the curves coincide, both sides are alike. KS is the largest gap between them, W the area between them over the mean of the real sets."), figures.length > 0 && el("div", { class: "curves" }, figures), list.element);
}

function timeCard(times: readonly [string, Times][]): HTMLElement {
  const box = figureBox();
  const drawn = times.filter(([, t]) => t.mean_real_s !== undefined && t.mean_synth_s !== undefined).map(([name, t]) => ({ name, a: t.mean_real_s!, b: t.mean_synth_s! }));
  if (drawn.length > 0) box.draw((width) => drawPairedBars(drawn, TIMES, width));
  const seconds = (v: number | undefined): string => orDash(v, (s) => time(s));
  const list = table<[string, Times]>([
    { name: "Cluster", heading: true, cell: ([name]) => name },
    { name: "Sets", right: true, cell: ([, t]) => `${count(t.sets_real)}, ${count(t.sets_synth)}` },
    { name: "Mean, real", right: true, cell: ([, t]) => seconds(t.mean_real_s) },
    { name: "Synth", right: true, cell: ([, t]) => seconds(t.mean_synth_s) },
    { name: "Change", right: true, cell: ([, t]) => el("strong", {}, orDash(changeOf(t), (v) => signed(v, 2))) },
    { name: "Spread, real", right: true, cell: ([, t]) => seconds(t.sd_real_s) },
    { name: "Synth", right: true, cell: ([, t]) => seconds(t.sd_synth_s) },
    { name: "KS", right: true, cell: ([, t]) => significant(t.ks) },
  ], { label: "Simulated times, scrolls sideways" });
  list.show(times);
  return card("Simulated time", bothKey(), el("p", { class: "note" }, "Mean and standard deviation over the sets, on clusters of as many accelerators as a set has ranks."), box.element, list.element);
}

function copiedCard(runs: readonly [string, Verbatim][]): HTMLElement {
  const list = table<[string, Verbatim]>([
    { name: "Nodes in a row", heading: true, cell: ([length]) => length },
    { name: "As they are", right: true, cell: ([, v]) => percent(v.whole, 2) },
    { name: "Beyond repeats", right: true, cell: ([, v]) => el("strong", {}, percent(v.beyond_repeats, 2)) },
    { name: "Types alone", right: true, cell: ([, v]) => percent(v.types_alone, 2) },
  ], { label: "Copied runs by length" });
  list.show(runs);
  return card("Copied runs", null, el("p", { class: "note" }, "Share of the nodes of the synthetic sets that stand in the real ones in a run of at least that many nodes with the same types, values and relative dependencies. Beyond repeats: without what a trace repeats of itself (layers, micro-batches)."), list.element);
}

function nearestCard(c: Comparison): HTMLElement {
  const list = table<NonNullable<Comparison["nearest_sets"]>[number]>([
    { name: "Synth", heading: true, cell: (n) => n.synth },
    { name: "Nearest real set", cell: (n) => n.real },
    { name: "Distance", right: true, cell: (n) => significant(n.distance), by: (n) => n.distance },
    { name: "Runs of four shared", right: true, cell: (n) => percent(n.shared_runs, 1), by: (n) => -n.shared_runs },
  ], { label: "Nearest real sets, scrolls sideways" });
  list.show((c.nearest_sets ?? []).slice(0, 10));
  const d = c.nearest?.distance;
  const median = d?.median === undefined ? "" : ` Median distance to the nearest real set: ${significant(d.median)}${d.median_within_real === undefined ? "" : `, among the real sets: ${significant(d.median_within_real)}`}.`;
  return card("Nearest real sets", null, el("p", { class: "note" }, `By features of the whole set, in standard deviations of the real sets.${median}`), list.element);
}

function leakCard(c: Comparison): HTMLElement {
  const support = c.min_support === undefined ? "few" : `fewer than ${count(c.min_support)}`;
  const names = c.leaked_names ?? [];
  return card("Names and numbers that show up again", null,
    el("p", { class: "note" }, `In ${support} real sets, and in the synthetic ones: ${plural(c.leak?.names?.count ?? 0, "name")} and ${plural(c.leak?.numbers?.count ?? 0, "number")}${c.leak?.numbers === undefined ? "" : ` (${percent(c.leak.numbers.share, 1)} of the numbers)`}. What so few sets have points at them.`),
    names.length > 0 && el("ul", { class: "leaked" }, names.map((name) => el("li", {}, name))));
}

function memberCard(attacks: readonly [string, Auc][]): HTMLElement {
  const box = figureBox();
  const rows = attacks.map(([key, a]) => ({ ...a, name: ATTACKS[key] ?? key.replaceAll("-", " ") }));
  box.draw((width) => drawAuc(rows, Math.min(width, 640)));
  const first = attacks[0]![1];
  return card("Who was in the training data?", `${plural(first.members, "member")}, ${plural(first.others, "other")}`, el("p", { class: "note" }, "Area under the curve of attacks that tell members from others by the synthetic sets or, the likelihoods, by the model itself, with the 95 % interval. The line at 0.5 is a coin."), box.element);
}

export function compareReport(c: Comparison): HTMLElement[] {
  const [times, runs, attacks] = [Object.entries(c.time ?? {}), Object.entries(c.verbatim ?? {}), Object.entries(c.membership ?? {})];
  const mixes = Object.entries(c.shares ?? {}).filter(([, shares]) => shares.length > 0);
  const cards: Child[] = [
    factsCard(c),
    mixes.map(([key, shares]) => mixCard(key, shares, c)),
    distributionCard(c),
    times.length > 0 && timeCard(times),
    runs.length > 0 && copiedCard(runs),
    (c.nearest_sets ?? []).length > 0 && nearestCard(c),
    c.leak !== undefined && leakCard(c),
    attacks.length > 0 && memberCard(attacks),
  ];
  return [
    el("div", { class: "title" }, el("h1", {}, `${c.synth} against ${c.real}`), el("p", { class: "lede" }, summary(c))),
    ...(c.not_simulated === undefined ? [] : [banner("tight", "A set cannot be simulated: ", c.not_simulated)]),
    el("div", { class: "grid" }, cards),
  ];
}
