/* The answers of an exploration: scatter, comparison of systems, heat maps, sensitivities,
 * break-even, what was refused. */

import type { Design, Exploration } from "../../api/explore_types.js";
import { type Child, el, fill } from "../../base/dom.js";
import { bytes, count, dollars, errorShare, percent, plural, si, significant, time } from "../../base/format.js";
import { placeLink } from "../../base/url_state.js";
import { drawHeatMap, type Heat } from "../../draw/heat_map.js";
import { shortName, valueWords } from "../../draw/parameters.js";
import { drawScatter, type ScatterPoint } from "../../draw/scatter.js";
import { drawSensitivities } from "../../draw/sensitivity.js";
import { figureBox } from "../../ui/figure.js";
import { selectField } from "../../ui/fields.js";
import { card, chip } from "../../ui/parts.js";
import { type Column, table } from "../../ui/table.js";
import { essentialPlan } from "../plan/state.js";
import { designCards } from "./designs.js";
import { type Judged, type Judgement, type Limits, refusedWords } from "./judge.js";
import { measureOf } from "./measures.js";

/* The Plan page with this design, where the preset alone describes its hardware. */
export function planLink(d: Design, tokens: number, stack: string): string | null {
  if (Object.keys(d.varied).some((p) => /^(cluster\.(?!npus$)|model\.|stack\.)/.test(p))) return null;
  const query = new URLSearchParams({ model: d.model, cluster: d.cluster, npus: String(d.results["npus"] ?? 64) });
  if (stack !== "") query.set("stack", stack);
  for (const [key, value] of Object.entries(essentialPlan(d.plan, { global_batch: 0, tp: 0, pp: 0, zero: 0 }))) query.set(key, String(value));
  query.set("tokens", String(tokens));
  return placeLink("plan", query);
}

export interface ResultView {
  element: HTMLElement;
  show(e: Exploration, j: Judgement, limits: Limits, cloud: readonly (readonly [number, number])[], link: (d: Design) => string | null): void;
}

function planWords(d: Design): string {
  const p = d.plan;
  const words = [`tp ${String(p["tp"])}`, `pp ${String(p["pp"])}`];
  if (p["virtual"] !== 1) words.push(`v ${String(p["virtual"])}`);
  for (const key of ["cp", "ep"]) if (p[key] !== undefined && p[key] !== 1) words.push(`${key} ${String(p[key])}`);
  words.push(`mb ${String(p["micro_batch"])}`);
  if (p["recompute"] !== "none") words.push(`recompute ${String(p["recompute"])}`);
  return words.join(" ");
}

function memoryChip(d: Design): HTMLElement {
  const spilled = d.spilled_bytes ?? 0;
  const full = (Number(d.results["device_bytes"]) - spilled) / d.capacity_bytes;
  if (!d.fits) return chip("over", percent(full));
  if (spilled > 0) return chip("fits", `${percent(full)} + ${bytes(spilled)} outer`);
  return chip(full > 0.9 ? "tight" : "fits", percent(full));
}

function pointTip(r: Judged, j: Judgement): string {
  const bar = r.design.error_bar;
  const error = !j.x.with_time || bar === undefined ? "" : bar.measured === false ? " (no published run)" : ` ± ${errorShare(bar.typical)}`;
  const lines = [`${r.name}: ${j.x.words(r.x)}${error}, ${j.y.words(r.y)}`, `capital ${dollars(Number(r.design.results["capital_usd"]))}, nameplate ${si(Number(r.design.results["nameplate_W"]), "W")}`];
  if (r.design.limit !== undefined) lines.push(r.design.limit);
  if (r.over.length > 0) lines.push(`refused: ${r.over.map((o) => `${o.what} ${o.words}`).join(", ")}`);
  return lines.join("\n");
}

export function scatterPoints(j: Judgement, link: (d: Design) => string | null): ScatterPoint[] {
  return j.rows.map((r) => ({
    name: r.label,
    x: r.x,
    y: r.y,
    kind: r.over.length > 0 ? "refused" : r.front ? "front" : "open",
    error: j.x.with_time && r.design.error_bar !== undefined ? r.design.error_bar : null,
    tip: pointTip(r, j),
    href: link(r.design),
  }));
}

function verdictCell(r: Judged): Child {
  if (r.over.length > 0) return r.over.map((o) => el("div", { class: "bad wrap" }, `${o.words}${o.within_error ? ", less than the error" : ""}`));
  return r.front ? chip("fits", "Pareto-optimal") : el("span", { class: "muted" }, r.beaten_by === null ? "beaten" : `beaten by ${r.beaten_by}`);
}

interface TableRow {
  judged: Judged | null;
  name: string;
  refused: string | null;
}

function compareColumns(j: Judgement, timed: boolean, most: number, link: (d: Design) => string | null): Column<TableRow>[] {
  const number = (key: string, words: (v: number) => string, what?: keyof Limits): Column<TableRow>["cell"] => (r) => {
    if (r.judged === null) return "–";
    const text = words(Number(r.judged.design.results[key]));
    return what !== undefined && r.judged.over.some((o) => o.what === what) ? el("span", { class: "bad" }, text) : text;
  };
  const by = (key: string) => (r: TableRow): number => Number(r.judged?.design.results[key] ?? Infinity);
  const duration: Column<TableRow> = {
    name: timed ? "Time to train" : "Step",
    cell: (r) => {
      if (r.judged === null) return "–";
      const d = r.judged.design;
      const value = Number(d.results[timed ? "train_s" : "step_s"]);
      const error = d.error_bar === undefined || d.error_bar.measured === false ? "± ?" : `± ${time(value * d.error_bar.typical, 2)}`;
      const late = r.judged.over.some((o) => o.what === "days");
      return [el("span", { class: "mini", "aria-hidden": "true", css: { width: `${Math.max(2, (value / most) * 40)}px` } }), late ? el("span", { class: "bad" }, time(value)) : time(value), el("span", { class: "muted" }, ` ${error}`)];
    },
    kind: "nowrap",
    by: by(timed ? "train_s" : "step_s"),
  };
  return [
    {
      name: j.noun === "system" ? "System" : "Design",
      heading: true,
      kind: j.noun === "system" ? "nowrap" : "",
      cell: (r) => {
        const href = r.judged === null ? null : link(r.judged.design);
        const number = r.judged !== null && r.judged.label !== r.name && el("span", { class: "muted" }, `${r.judged.label}  `);
        return [number, href === null ? r.name : el("a", { href }, r.name)];
      },
      by: (r) => r.name,
    },
    { name: "Verdict", kind: "verdict-words", cell: (r) => (r.judged === null ? el("div", { class: "bad wrap" }, r.refused) : verdictCell(r.judged)) },
    duration,
    { name: "$ per M tokens", right: true, cell: number("cost_per_token_usd", (v) => significant(v * 1e6)), by: by("cost_per_token_usd") },
    { name: "Whole run", right: true, cell: number("train_cost_usd", (v) => dollars(v)), by: by("train_cost_usd") },
    { name: "Capital", right: true, cell: number("capital_usd", (v) => dollars(v), "capital"), by: by("capital_usd") },
    { name: "Nameplate", right: true, cell: number("nameplate_W", (v) => si(v, "W"), "power"), by: by("nameplate_W") },
    { name: "Avg. power", right: true, cell: number("power_W", (v) => si(v, "W")), by: by("power_W") },
    { name: "Memory", kind: "nowrap", cell: (r) => (r.judged === null ? "–" : memoryChip(r.judged.design)) },
    { name: "Best plan", kind: "plan-words", cell: (r) => (r.judged === null ? "–" : planWords(r.judged.design)) },
  ];
}

/* What is worth knowing about the numbers of the table. */
function compareNote(e: Exploration, j: Judgement): string {
  const wanted = j.rows.map((r) => ({ name: r.name, npus: Number(r.design.results["npus"]) }));
  const common = wanted[0]?.npus;
  const other = wanted.filter((w) => w.npus !== common);
  const sizes = other.length > 0 ? `${other.map((o) => `${o.name}: ${count(o.npus)}`).join(", ")}; all others ${count(common ?? 0)} accelerators. ` : "";
  const goodput = j.rows[0]?.design.results["goodput"];
  return `${sizes}Whole hosts and racks are paid for, with network, switches and added memory. Prices are those of the presets, of the years that they state. The limit on power is for nameplate power, with network and building. ` + (typeof goodput === "number" ? `Times of a whole run include failures: goodput is ${percent(goodput, 1)} for ${j.rows[0]!.name}.` : "") + ` Memory leaves ${percent(e.headroom)} free.`;
}

function heatData(e: Exploration, index: number): Heat | null {
  const map = e.heat_maps[index];
  if (map === undefined) return null;
  const paths = e.axes.map((a) => a.parameter);
  const axis = (path: string): Heat["rows"] => {
    const found = e.axes.find((a) => a.parameter === path)!;
    const built = e.baseline?.varied[path];
    return { name: shortName(path, paths), values: found.values.map((v) => valueWords(path, v)), built: built === undefined ? -1 : found.values.indexOf(built) };
  };
  const measure = measureOf(e.objectives[0] ?? { minimize: "step-time" }, 0, null);
  return {
    rows: axis(map.row_parameter),
    columns: axis(map.column_parameter),
    values: map.best_values,
    unit: measure.name.replace(" time", ""),
    divide: measure.scale,
    tie: e.best[0]?.error_bar?.typical ?? 0.05,
    smaller_is_better: e.objectives[0]?.maximize === undefined,
  };
}

export function resultView(): ResultView {
  const aside = el("span", { class: "note" });
  const title = el("span");
  const scatter = figureBox();
  const how = el("p", { class: "note gap-s" });
  const scatterCard = card(title, aside, scatter.element, how);
  const compare = el("div");
  const compare_note = el("p", { class: "note gap-s" });
  const compareTitle = el("span");
  const compareCard = card(compareTitle, null, compare, compare_note);
  const heat = figureBox();
  const heat_note = el("p", { class: "note" });
  const sensitive = figureBox("gap-s");
  const sensitive_note = el("p", { class: "note" });
  let current: Exploration | null = null;
  const drawHeat = (): void => {
    const data = current && heatData(current, Number(pair.get()) || 0);
    if (data === null) heat.clear();
    else heat.draw((width) => drawHeatMap(data, width));
    fill(heat_note, data !== null && `Best design in each cell. Solid frame: best. Dotted frame: ties with it (within the error of ${errorShare(data.tie)}). Hatched: nothing feasible.`);
  };
  const pair = selectField("Heat map", [], drawHeat);
  pair.element.classList.add("narrow");
  const heatBox = el("div", {}, pair.element, heat.element, heat_note);
  const sensitiveBox = el("div", {}, el("h3", {}, "What it depends on"), sensitive_note, sensitive.element);
  const heatCard = card("If a parameter changed", null, el("div", { class: "grid heatgrid" }, heatBox, sensitiveBox));
  const evens = el("ul", { class: "answers" });
  const evenCard = card("Break-even and checks", null, evens);
  const designs = designCards();
  const element = el("div", { class: "grid" }, scatterCard, compareCard, heatCard, evenCard, designs.elements);

  const showCompare = (e: Exploration, j: Judgement, link: (d: Design) => string | null): void => {
    const timed = j.x.scale === 86400;
    const rows: TableRow[] = [
      ...j.rows.map((judged) => ({ judged, name: judged.name, refused: null })),
      ...j.refused.map((r) => ({ judged: null, name: String(r.label), refused: refusedWords(r) })),
    ];
    const most = Math.max(...j.rows.map((r) => Number(r.design.results[timed ? "train_s" : "step_s"])), 1e-9);
    const list = table(compareColumns(j, timed, most, link), { label: "Comparison, scrolls sideways", rowKind: (r) => (r.judged === null || r.judged.over.length > 0 ? "refused" : null) });
    list.show(rows);
    fill(compare, list.element);
    fill(compareTitle, j.noun === "system" ? "Systems compared" : "Best designs compared");
    fill(compare_note, compareNote(e, j));
  };
  const showSensitivities = (e: Exploration): void => {
    const paths = e.axes.map((a) => a.parameter);
    const band = e.best[0]?.error_bar?.typical ?? 0.05;
    const rows = e.sensitivities.filter((s) => s.high > s.low && s.parameter !== "system").map((s) => {
      const axis = e.axes.find((a) => a.parameter === s.parameter);
      const ends = axis === undefined ? ["", ""] : endsOf(axis.values, axis.best_values, s.parameter);
      return { name: shortName(s.parameter, paths), from: ends[0]!, to: ends[1]!, worse: s.high / s.low - 1, elasticity: s.elasticity ?? null };
    });
    sensitiveBox.hidden = rows.length === 0;
    if (rows.length > 0) sensitive.draw((width) => drawSensitivities(rows, band, width));
    fill(sensitive_note, `How much worse ${measureOf(e.objectives[0] ?? {}, 0, null).name.split(",")[0]} gets when one parameter goes from its best to its worst value, all else at the best. Grey band: less than the error of ${errorShare(band)}.`);
  };
  return {
    element,
    show(e, j, limits, cloud, link) {
      current = e;
      fill(title, `${capital(j.x.name)} against ${j.y.name}`);
      fill(aside, cloud.length > 0 ? `grey: ${plural(cloud.length, "feasible design")}; named: the best of each ${j.noun}` : `${plural(j.rows.length, j.noun)}`);
      const points = scatterPoints(j, link);
      const x = { name: j.x.name, scale: j.x.scale, ...(j.x.scale === 86400 && limits.days !== null ? { limit: { value: limits.days, label: `limit ${time(limits.days)}` } } : {}) };
      const y = { name: j.y.name, scale: j.y.scale, ...(j.y.prefix === undefined ? {} : { prefix: j.y.prefix }) };
      scatterCard.hidden = points.length === 0;
      if (points.length > 0) scatter.draw((width) => drawScatter({ points, cloud, x, y, ray: j.x.with_time && j.y.with_time }, width));
      fill(how, "Filled: Pareto-optimal within the limits (no other is better in both). Open: beaten by another. Crossed: refused by a limit. " + (j.x.with_time ? `The bar is the typical error of the time${j.y.with_time ? ": a slower step also costs more, so a point moves along its ray" : ""}. Dashed bar: no published run of this chip, error unknown.` : ""));
      showCompare(e, j, link);
      designs.show(e, j);
      heatCard.hidden = e.heat_maps.length === 0 && e.sensitivities.every((s) => s.parameter === "system");
      heatBox.hidden = e.heat_maps.length === 0;
      const paths = e.axes.map((a) => a.parameter);
      const chosen = pair.get();
      pair.offer(e.heat_maps.map((m, i) => ({ value: String(i), label: `${shortName(m.row_parameter, paths)} × ${shortName(m.column_parameter, paths)}` })));
      if (Number(chosen) < e.heat_maps.length && chosen !== "") pair.set(chosen);
      drawHeat();
      showSensitivities(e);
      const answers = [...e.break_even.map((b) => el("li", {}, el("strong", {}, b.question), " ", b.answer)), ...e.verified.map((v) => el("li", {}, `Design ${v.id}: estimated ${time(v.estimated_s)}${v.simulated_s === undefined ? "" : `, simulated ${time(v.simulated_s)}`}${v.note === undefined ? "" : ` (${v.note})`}`))];
      evenCard.hidden = answers.length === 0;
      fill(evens, answers);
    },
  };
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/* From the best to the worst value of an axis, in words. */
function endsOf(values: readonly (string | number | boolean)[], best: readonly (number | null)[], path: string): [string, string] {
  const known = best.map((v, i) => ({ v, i })).filter((o): o is { v: number; i: number } => o.v !== null);
  if (known.length === 0) return ["", ""];
  const least = known.reduce((a, b) => (b.v < a.v ? b : a));
  const most = known.reduce((a, b) => (b.v > a.v ? b : a));
  return [valueWords(path, values[least.i]!), valueWords(path, values[most.i]!)];
}

