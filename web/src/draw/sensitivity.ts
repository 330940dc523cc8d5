/* How much the objective gets worse when one parameter goes from its best to its worst value. The
 * band is what the error cannot tell apart; a bar that is cut says so. */

import { type Child, svg } from "../base/dom.js";
import { percent, significant } from "../base/format.js";
import { chart, fitText, line, path, rect, text, textWidth, ticks } from "./chart.js";

export interface SensitivityRow {
  name: string;
  from: string;
  to: string;
  /* relative slowdown */
  worse: number;
  elasticity: number | null;
}

const ROW = 52;

export function drawSensitivities(rows: readonly SensitivityRow[], band: number, width: number): SVGElement {
  const sizes = rows.map((r) => r.worse).sort((a, b) => b - a);
  /* one giant bar must not flatten the rest */
  const second = sizes.find((s) => s < (sizes[0] ?? 0)) ?? 0;
  const longest = sizes[0] ?? 0.1;
  const high = Math.max(band * 1.5, longest > 4 * second && second > 0.05 ? second * 2 : longest, 0.01);
  const X = (v: number): number => (Math.min(v, high) / high) * (width - 70);
  const bottom = rows.length * ROW;
  const marks: Child[] = [rect(0, 0, X(band), bottom, "var(--sunken)")];
  for (const v of ticks(0, high * 100, width > 300 ? 5 : 3)) {
    marks.push(line(X(v / 100), 0, X(v / 100), bottom, "grid"), text(X(v / 100), bottom + 14, v === 0 ? "0 %" : `+${v}`, { anchor: v === 0 ? "start" : "middle", kind: "quiet" }));
  }
  rows.forEach((row, i) => {
    const y = i * ROW;
    const cut = row.worse > high;
    const name = fitText(row.name, width - 8);
    const change = fitText(`${row.from} → ${row.to}`, width - textWidth(name) - 12);
    const tip = `${row.name} from ${row.from} to ${row.to}: +${percent(row.worse, 1)}` + (row.elasticity === null ? "" : `\nelasticity at the best: ${significant(row.elasticity, 2)}`) + (cut ? "\nthe bar is cut" : "");
    marks.push(
      text(0, y + 16, name, { kind: "strong halo" }),
      text(textWidth(name) + 8, y + 16, change, { kind: "quiet halo" }),
      svg(
        "g",
        { tabindex: 0, class: "mark", role: "img", "aria-label": tip.replaceAll("\n", ", "), tip },
        rect(0, y + 23, Math.max(1, X(row.worse)), 18, "var(--t-matmul)", { rx: 2 }),
        cut && path(`M${X(high) - 16} ${y + 19}l6 26m4-26l6 26`, "cut"),
        text(X(row.worse) + 6, y + 36, `+${percent(row.worse, 1)}`, { kind: "strong" }),
      ),
    );
  });
  marks.push(line(0, 0, 0, bottom, "axis"));
  return chart(width, bottom + 20, `Sensitivities: ${rows.map((r) => `${r.name} +${percent(r.worse, 1)}`).join(", ")}`, marks);
}
