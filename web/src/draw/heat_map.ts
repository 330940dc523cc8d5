/* A heat map: the value in each cell, seven steps of colour with round edges above it, names of the
 * axes with arrows, a solid frame for the best, dotted ones for ties, and the cell as built. */

import { type Child, svg } from "../base/dom.js";
import { percent, short, significant } from "../base/format.js";
import { chart, hatchFill, rect, text, textWidth } from "./chart.js";

export interface HeatAxis {
  name: string;
  values: readonly string[];
  /* index of the value as built, or -1 */
  built: number;
}

export interface Heat {
  rows: HeatAxis;
  columns: HeatAxis;
  /* [row][column]; null = nothing feasible */
  values: readonly (readonly (number | null)[])[];
  /* what the numbers are: "step, s" */
  unit: string;
  divide: number;
  /* relative difference below which cells tie */
  tie: number;
  smaller_is_better: boolean;
}

const STEPS = 7;

interface Colours {
  from: number;
  step: number;
}

/* Round edges for seven steps. */
export function chooseColours(low: number, high: number): Colours {
  if (!(high > low)) return { from: low, step: Math.max(Math.abs(low) * 0.1, 1e-12) };
  const span = high - low;
  for (let power = 10 ** Math.floor(Math.log10(span / STEPS)); ; power *= 10) {
    for (const m of [1, 2, 2.5, 5]) {
      const step = m * power;
      const from = Math.floor(low / step + 1e-9) * step;
      if (from + STEPS * step >= high) return { from, step };
    }
  }
}

function colourOf(value: number, c: Colours): number {
  return Math.max(0, Math.min(STEPS - 1, Math.floor((value - c.from) / c.step)));
}

export function drawHeatMap(data: Heat, width: number): SVGElement {
  const numbers = data.values.flat().filter((v): v is number => v !== null).map((v) => v / data.divide);
  if (numbers.length === 0) return chart(width, 40, "No cell is feasible", text(0, 20, "No cell is feasible."));
  const best = data.smaller_is_better ? Math.min(...numbers) : Math.max(...numbers);
  const colours = chooseColours(Math.min(...numbers), Math.max(...numbers));
  const [n, m] = [data.columns.values.length, data.rows.values.length];
  const left = Math.min(width / 3, Math.max(...data.rows.values.map((v) => textWidth(v, 12, 400))) + 14);
  const top = 58;
  const cw = (width - left - 2) / n;
  const ch = Math.max(22, Math.min(40, 400 / m));
  const marks: Child[] = [drawScale(data, colours, left, width)];
  data.values.forEach((row, i) => row.forEach((value, j) => marks.push(drawCell(data, { value, i, j, best, colours, x: left + j * cw, y: top + (m - 1 - i) * ch, cw, ch }))));
  data.rows.values.forEach((v, i) => marks.push(text(left - 8, top + (m - 1 - i) * ch + ch / 2 + 4, v, { anchor: "end" })));
  const every = Math.ceil(Math.max(...data.columns.values.map((v) => textWidth(v, 12, 400) + 8)) / cw);
  data.columns.values.forEach((v, j) => j % every === 0 && marks.push(text(left + j * cw + cw / 2, top + m * ch + 16, v, { anchor: "middle" })));
  marks.push(text(0, top - 8, `${data.rows.name} ↑`, { kind: "quiet" }), text(width - 2, top + m * ch + 33, `${data.columns.name} →`, { anchor: "end", kind: "quiet" }));
  return chart(width, top + m * ch + 40, `Heat map of ${data.unit}, ${data.rows.name} by ${data.columns.name}; best ${significant(best)}`, marks);
}

function drawScale(data: Heat, c: Colours, left: number, width: number): Child[] {
  const marks: Child[] = [text(left - 8, 23, data.unit, { anchor: textWidth(data.unit) > left - 8 ? "start" : "end", ...(textWidth(data.unit) > left - 8 ? { x: 0, y: 8 } : {}) })];
  const w = Math.min(44, (width - left) / (STEPS + 1));
  for (let i = 0; i < STEPS; i++) marks.push(rect(left + i * w, 14, w, 10, `var(--q${i})`, { class: "scale" }));
  const every = Math.ceil((textWidth(short(c.from + STEPS * c.step), 12, 400) + 6) / w);
  for (let i = 0; i <= STEPS; i += every) marks.push(text(left + i * w, 36, short(Number((c.from + i * c.step).toPrecision(6)), 4), { anchor: "middle", kind: "quiet" }));
  return marks;
}

interface Cell {
  value: number | null;
  i: number;
  j: number;
  best: number;
  colours: Colours;
  x: number;
  y: number;
  cw: number;
  ch: number;
}

function drawCell(data: Heat, cell: Cell): SVGElement {
  const { x, y, cw, ch, i, j } = cell;
  const where = `${data.rows.name} ${data.rows.values[i]}, ${data.columns.name} ${data.columns.values[j]}`;
  if (cell.value === null) {
    const tip = `${where}\nnothing feasible`;
    return svg("g", { class: "mark", role: "img", "aria-label": tip.replace("\n", ": "), tip }, rect(x + 0.5, y + 0.5, cw - 1, ch - 1, hatchFill("ink")));
  }
  const value = cell.value / data.divide;
  const step = colourOf(value, cell.colours);
  const tone = step < 4 ? "heat-low" : "heat-high";
  const off = Math.abs(value / cell.best - 1);
  const built = data.rows.built === i && data.columns.built === j;
  const words = textWidth(significant(value)) + 6 <= cw ? significant(value) : textWidth(short(value, 2)) + 2 <= cw ? short(value, 2) : "";
  const tip = `${where}\n${data.unit.split(",")[0]} ${significant(value)}, ${off === 0 ? "best" : `${percent(off, 1)} from the best`}${off > 0 && off <= data.tie ? ", a tie" : ""}${built ? ", as built" : ""}`;
  const roomy = built && ch >= 34 && cw > 50;
  return svg(
    "g",
    { class: `mark ${tone}`, tabindex: data.rows.values.length * data.columns.values.length <= 48 ? 0 : null, role: "img", "aria-label": tip.replaceAll("\n", ": "), tip },
    rect(x + 0.5, y + 0.5, cw - 1, ch - 1, `var(--q${step})`),
    off === 0 && rect(x + 2, y + 2, cw - 4, ch - 4, "none", { class: "heat-frame" }),
    off > 0 && off <= data.tie && rect(x + 3, y + 3, cw - 6, ch - 6, "none", { class: "heat-frame tie" }),
    words !== "" && text(x + cw / 2, y + ch / 2 + (roomy ? -1 : 4), words, { anchor: "middle", kind: "heat-value" }),
    roomy && text(x + cw / 2, y + ch / 2 + 12, "as built", { anchor: "middle", kind: "heat-value small" }),
  );
}

