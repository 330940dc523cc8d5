/* Systems against limits and against each other: refused and by how much, beaten by whom,
 * Pareto-optimal; and the sentence that opens the page. */

import type { Design, Exploration, RefusedValue } from "../../api/explore_types.js";
import { bytes, dollars, errorShare, plural, si, time } from "../../base/format.js";
import { shortName, valueWords } from "../../draw/parameters.js";
import { COST_PER_TOKEN, type Measure, measureOf } from "./measures.js";

export interface Limits {
  /* seconds, USD, W; null = none */
  days: number | null;
  capital: number | null;
  power: number | null;
}

export interface Over {
  what: keyof Limits;
  words: string;
  /* the error of the time could explain it */
  within_error: boolean;
}

export interface Judged {
  name: string;
  /* what stands at its point: the name of a system, the number of a design */
  label: string;
  design: Design;
  x: number;
  y: number;
  over: Over[];
  front: boolean;
  beaten_by: string | null;
}

export interface Judgement {
  rows: Judged[];
  refused: RefusedValue[];
  x: Measure;
  y: Measure;
  /* what is compared: "system", or the name of the designs */
  noun: string;
  /* the parameter whose values are the systems */
  parameter: string | null;
}

function numberOf(d: Design, key: string): number {
  const value = d.results[key];
  return typeof value === "number" ? value : NaN;
}

/* Money of a design that lacks a price is a lower bound. */
function lacksPrice(d: Design): boolean {
  return d.results["capital_is"] === "lower-bound";
}

function overBy(d: Design, limits: Limits): Over[] {
  const out: Over[] = [];
  const check = (what: keyof Limits, value: number, words: (by: number) => string, share: number): void => {
    const limit = limits[what];
    if (limit === null || !(value > limit)) return;
    out.push({ what, words: `over by ${words(value - limit)}`, within_error: value * (1 - share) <= limit });
  };
  check("days", numberOf(d, "train_s"), (by) => time(by, 2), d.error_bar?.typical ?? 0);
  check("capital", numberOf(d, "capital_usd"), (by) => dollars(by, 2), 0);
  check("power", numberOf(d, "nameplate_W"), (by) => si(by, "W", 2), 0);
  return out;
}

/* The designs that are compared: the best of each system, else the best ones found. */
function chooseDesigns(e: Exploration): { noun: string; designs: { name: string; design: Design }[]; parameter: string | null } {
  const slice = e.slices.find((s) => s.parameter === "system") ?? e.slices.find((s) => s.best.length > 1 && s.best.every((d) => typeof d.varied[s.parameter] === "string" && !s.parameter.startsWith("plan.")));
  if (slice !== undefined) {
    const named = slice.best.map((design) => ({ name: String(design.varied[slice.parameter]), design }));
    return { noun: "system", designs: named, parameter: slice.parameter };
  }
  const all = [...e.front, ...e.best].filter((d, i, list) => list.findIndex((o) => o.id === d.id) === i).slice(0, 12);
  return { noun: "design", designs: all.map((design) => ({ name: describeVaried(design, e, all), design })), parameter: null };
}

/* The values that tell designs of a list apart. */
export function describeVaried(d: Design, e: Exploration, among: readonly Design[]): string {
  const paths = e.axes.map((a) => a.parameter);
  const differ = paths.filter((p) => new Set(among.map((o) => String(o.varied[p]))).size > 1);
  const shown = (differ.length > 0 ? differ : paths).filter((p) => d.varied[p] !== undefined);
  return shown.map((p) => (typeof d.varied[p] === "string" && !p.startsWith("plan.") ? String(d.varied[p]) : `${shortName(p, paths)} ${valueWords(p, d.varied[p]!)}`)).join(", ");
}

export function judge(e: Exploration, limits: Limits, has_tokens: boolean): Judgement {
  const tokens = has_tokens ? e.train_tokens : null;
  const x = measureOf(e.objectives[0] ?? { minimize: "step-time" }, 0, tokens);
  const second = e.objectives[1];
  const y = second === undefined ? COST_PER_TOKEN : measureOf(second, 1, tokens);
  const signs = [e.objectives[0]?.maximize === undefined ? 1 : -1, second?.maximize === undefined ? 1 : -1];
  const { noun, designs, parameter } = chooseDesigns(e);
  const rows: Judged[] = designs.map(({ name, design }) => ({ name, label: name, design, x: x.get(design), y: y.get(design), over: overBy(design, limits), front: false, beaten_by: null }))
    .filter((r) => Number.isFinite(r.x) && Number.isFinite(r.y));
  const allowed = rows.filter((r) => r.over.length === 0);
  const beats = (a: Judged, b: Judged): boolean => {
    const open = Number(lacksPrice(a.design)) - Number(lacksPrice(b.design));
    const difference = (m: Measure, by: number): number => (m.money && open !== 0 ? open : by);
    const [dx, dy] = [difference(x, (a.x - b.x) * signs[0]!), difference(y, (a.y - b.y) * signs[1]!)];
    return dx <= 0 && dy <= 0 && (dx < 0 || dy < 0);
  };
  rows.sort((a, b) => (a.x - b.x) * signs[0]!);
  if (noun === "design") rows.forEach((row, i) => (row.label = String(i + 1)));
  for (const row of allowed) row.front = !allowed.some((other) => beats(other, row));
  for (const row of allowed) row.beaten_by = row.front ? null : (allowed.find((other) => other.front && beats(other, row))?.label ?? null);
  const order = (r: Judged): number => (r.front ? 0 : r.over.length === 0 ? 1 : 2);
  rows.sort((a, b) => order(a) - order(b) || (a.x - b.x) * signs[0]!);
  return { rows, refused: (e.refused_values ?? []).filter((r) => parameter === null || r.parameter === parameter), x, y, noun, parameter };
}

function errorWords(d: Design, value: number): string {
  const bar = d.error_bar;
  return bar === undefined || bar.measured === false ? "error unknown" : `± ${time(value * bar.typical, 2)}`;
}

/* "Within your limits B200 is the fastest: 39 days (± 5.7 days); TPU v6e is the cheapest …" */
export function verdictSentence(j: Judgement): string {
  const front = j.rows.filter((r) => r.front);
  const refused = j.rows.filter((r) => r.over.length > 0).length + j.refused.length;
  const total = j.rows.length + j.refused.length;
  if (total === 0) return "No design meets the conditions of this study.";
  if (front.length === 0) {
    const nearest = [...j.rows].sort((a, b) => a.over.length - b.over.length)[0];
    return `No ${j.noun} meets these limits.` + (nearest === undefined ? "" : ` The nearest: ${nearest.name}, ${nearest.over.map((o) => `${o.what} ${o.words}`).join(", ")}.`);
  }
  const first = front[0]!;
  const last = front[front.length - 1]!;
  const timed = j.x.with_time ? ` (${errorWords(first.design, first.x)})` : "";
  const best = (m: Measure): string => (m.best === undefined ? `the best in ${m.name}` : `the ${m.best}`);
  let words = `${first.name} is ${best(j.x)}: ${j.x.words(first.x)}${timed}`;
  words += last === first ? `, and ${best(j.y)}.` : `; ${last.name} is ${best(j.y)}: ${j.y.words(last.y)}, in ${j.x.words(last.x)}.`;
  const priced = last.design.results["capital_is"];
  if (j.y.money && priced === "imputed") words += ` Its price is imputed: ${last.name} is not sold.`;
  if (j.y.money && priced === "lower-bound") words += ` Its price is a lower bound.`;
  if (refused > 0) words += ` ${refused} of ${plural(total, j.noun)} refused.`;
  const unknown = front.filter((r) => r.design.error_bar?.measured === false).map((r) => r.name);
  if (unknown.length > 0) words += ` No published run exists for ${j.noun === "system" ? unknown.join(", ") : "this hardware"}: treat as unverified.`;
  const close = tieWords(j, first);
  return words + close;
}

/* Systems tie within the larger typical error. */
function tieWords(j: Judgement, first: Judged): string {
  if (!j.x.with_time) return "";
  const tied = j.rows.filter((r) => r !== first && r.over.length === 0).filter((r) => {
    const share = Math.max(r.design.error_bar?.typical ?? 0, first.design.error_bar?.typical ?? 0);
    return r.x <= first.x * (1 + share);
  });
  if (tied.length === 0) return "";
  const share = Math.max(first.design.error_bar?.typical ?? 0, ...tied.map((r) => r.design.error_bar?.typical ?? 0));
  const who = tied.length > 4 || j.noun === "design" ? plural(tied.length, `other ${j.noun}`) : tied.map((r) => r.name).join(", ");
  return ` In time ${who} ${tied.length === 1 ? "ties" : "tie"} with it (within the error of ${errorShare(share)}).`;
}

export function refusedWords(r: RefusedValue): string {
  return r.over_bytes === undefined ? r.reason : `${r.reason}: over by ${bytes(r.over_bytes, 3)}`;
}

export function tokensOf(text: string): boolean {
  return /^tokens:/m.test(text);
}

