/* Two recordings: what got slower, per step. */

import type { Client } from "../../api/client.js";
import { type Child, el, fill } from "../../base/dom.js";
import { percent, significant, time } from "../../base/format.js";
import { findKind } from "../../draw/kinds.js";
import { drawWaterfall, type Fall } from "../../draw/waterfall.js";
import { figureBox } from "../../ui/figure.js";
import { table } from "../../ui/table.js";
import { IDLE_WORDS, type Recording, stepTime } from "./recording.js";

interface Row {
  name: string;
  a_s: number;
  b_s: number;
}

const MOST_FALLS = 8;

/* Idle time by cause and kernels by class, of a mean step. */
export function compareRows(a: Recording, b: Recording): Row[] {
  const rows = new Map<string, Row>();
  const add = (which: "a_s" | "b_s", name: string, s: number): void => {
    const row = rows.get(name) ?? { name, a_s: 0, b_s: 0 };
    row[which] += s;
    rows.set(name, row);
  };
  for (const [which, r] of [["a_s", a], ["b_s", b]] as const) {
    const k = r.kernels!;
    const n = stepTime(k).n;
    for (const [cause, words] of IDLE_WORDS) add(which, lower(words), (k.idle[cause] ?? 0) / n);
    for (const [name, c] of Object.entries(k.classes)) add(which, findKind(name).name, c.s / n);
  }
  return [...rows.values()].filter((r) => r.a_s > 0 || r.b_s > 0).sort((x, y) => Math.abs(y.b_s - y.a_s) - Math.abs(x.b_s - x.a_s));
}

function lower(words: string): string {
  return words.charAt(0).toLowerCase() + words.slice(1);
}

export function compareFalls(rows: readonly Row[], a_s: number, b_s: number): Fall[] {
  const falls: Fall[] = rows
    .filter((r) => Math.abs(r.b_s - r.a_s) > 0.002 * Math.max(a_s, b_s))
    .slice(0, MOST_FALLS)
    .map((r) => ({ name: r.name, by_s: r.b_s - r.a_s }));
  const rest = b_s - a_s - falls.reduce((sum, f) => sum + f.by_s, 0);
  return [...falls, { name: "everything else", by_s: rest }];
}

export function compareSentence(a: Recording, b: Recording, rows: readonly Row[]): Child[] {
  const [x, y] = [stepTime(a.kernels!), stepTime(b.kernels!)];
  const change = y.step_s / x.step_s - 1;
  const per = a.kernels!.steps.length > 0 && b.kernels!.steps.length > 0 ? "per step" : "in the window";
  const verb = Math.abs(change) < 0.005 ? "takes as long as A" : change > 0 ? "is slower" : "is faster";
  const head = Math.abs(change) < 0.005 ? [`B ${verb}: `] : ["B is ", el("em", {}, percent(Math.abs(change), change < 0.1 ? 1 : 0)), change > 0 ? " slower: " : " faster: "];
  const worst = rows.find((r) => (r.b_s - r.a_s) * (change >= 0 ? 1 : -1) > 0);
  const against = rows.find((r) => (r.b_s - r.a_s) * (change >= 0 ? 1 : -1) < 0);
  const tell = (r: Row | undefined): string => (r === undefined ? "" : ` ${r.name.charAt(0).toUpperCase()}${r.name.slice(1)}: ${r.b_s > r.a_s ? "+" : "−"}${time(Math.abs(r.b_s - r.a_s))}.`);
  return [...head, `${time(y.step_s)} instead of ${time(x.step_s)} ${per}.`, tell(worst), tell(against)];
}

interface Operator {
  operator: string;
  operator_b: string;
  n_a: number;
  n_b: number;
  host_a_s: number;
  host_b_s: number;
  device_a_s: number;
  device_b_s: number;
  difference_s: number;
}

/* Rows of the engine by name: what was not aligned has one of them empty. */
function sumOperators(rows: readonly Operator[]): Operator[] {
  const sums = new Map<string, Operator>();
  for (const row of rows) {
    const name = row.operator || row.operator_b;
    const sum = sums.get(name) ?? { operator: name, operator_b: name, n_a: 0, n_b: 0, host_a_s: 0, host_b_s: 0, device_a_s: 0, device_b_s: 0, difference_s: 0 };
    for (const key of ["n_a", "n_b", "host_a_s", "host_b_s", "device_a_s", "device_b_s", "difference_s"] as const) sum[key] += row[key];
    sums.set(name, sum);
  }
  return [...sums.values()].sort((x, y) => Math.abs(y.difference_s) - Math.abs(x.difference_s));
}

async function showOperators(client: Client, a: Recording, b: Recording, to: HTMLElement, signal: AbortSignal): Promise<void> {
  const diff = await client.request<{ by_operator?: Operator[] }>({ do: "trace.diff", a: a.paths[0]!, b: b.paths[0]!, all: true }, { signal });
  const rows = sumOperators(diff.by_operator ?? []).slice(0, 12);
  if (rows.length === 0 || signal.aborted) return;
  const list = table<Operator>([
    { name: "Operator, whole recording", heading: true, cell: (r) => el("span", { class: "mono kernel-name" }, r.operator) },
    { name: "Calls A", right: true, kind: "wide", cell: (r) => r.n_a },
    { name: "Calls B", right: true, kind: "wide", cell: (r) => r.n_b },
    { name: "Device A", right: true, cell: (r) => time(r.device_a_s) },
    { name: "Device B", right: true, cell: (r) => time(r.device_b_s) },
    { name: "Host A", right: true, kind: "wide", cell: (r) => time(r.host_a_s) },
    { name: "Host B", right: true, kind: "wide", cell: (r) => time(r.host_b_s) },
    { name: "Change", right: true, cell: (r) => el("strong", {}, `${r.difference_s > 0 ? "+" : "−"}${time(Math.abs(r.difference_s))}`), by: (r) => -Math.abs(r.difference_s) },
  ], { label: "Operators that changed most, scrolls sideways" });
  list.show(rows);
  fill(to, el("h3", {}, "Which operators"), list.element, el("p", { class: "note" }, "Host and device time of the operator itself, without what it calls; the change is the sum of both."));
}

/* The card's content for A and B. */
export function compareView(client: Client, a: Recording, b: Recording, signal: AbortSignal): HTMLElement {
  if (a.kernels === null || b.kernels === null) return el("p", { class: "note" }, "Only recordings of profilers can be compared by time; these traces have no kernels with times.");
  const rows = compareRows(a, b);
  const [x, y] = [stepTime(a.kernels), stepTime(b.kernels)];
  const falls = compareFalls(rows, x.step_s, y.step_s);
  const figure = figureBox();
  const unit = Math.max(x.step_s, y.step_s) >= 2 ? 1 : 1e-3;
  const ms = (s: number): string => (s === 0 ? "0" : significant(s / unit));
  const list = table<Row>([
    { name: unit === 1 ? "s per step" : "ms per step", heading: true, cell: (r) => r.name },
    { name: "A", right: true, cell: (r) => ms(r.a_s), by: (r) => -r.a_s },
    { name: "B", right: true, cell: (r) => ms(r.b_s), by: (r) => -r.b_s },
    { name: "change", right: true, cell: (r) => el("strong", {}, r.b_s === r.a_s ? "0" : `${r.b_s > r.a_s ? "+" : "−"}${ms(Math.abs(r.b_s - r.a_s))}`), by: (r) => -Math.abs(r.b_s - r.a_s) },
  ], { label: "Parts of a step in both recordings, scrolls sideways" });
  list.show(rows.slice(0, 14));
  const operators = el("div", { class: "gap" });
  showOperators(client, a, b, operators, signal).catch(() => undefined);
  const view = el("div", {}, el("p", { class: "verdict small-verdict", "aria-live": "polite" }, compareSentence(a, b, rows)), el("div", { class: "grid two-one-even" }, figure.element, list.element), el("p", { class: "note" }, "Kernels of different streams overlap, so their sum may exceed the step; “everything else” is what they leave of the difference."), operators);
  queueMicrotask(() => figure.draw((width) => drawWaterfall([`A, ${a.name}`, `B, ${b.name}`], x.step_s, y.step_s, falls, width)));
  return view;
}
