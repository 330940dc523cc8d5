/* Tables that scroll in their own box and can be sorted by a column. */

import { type Child, el, fill } from "../base/dom.js";

export interface Column<Row> {
  name: string;
  /* numbers stand at the right */
  right?: boolean;
  /* class of heading and cells: "wide" is left out on narrow screens, "stick" stays visible */
  kind?: string;
  cell: (row: Row, index: number) => Child;
  /* what to sort by; without it the column cannot be sorted */
  by?: (row: Row) => number | string;
  /* the first cell of a row is its heading */
  heading?: boolean;
  hidden_name?: boolean;
}

export interface TableOptions<Row> {
  label: string;
  rowKind?: (row: Row) => string | null;
  selected?: (row: Row) => boolean;
}

export interface Table<Row> {
  element: HTMLElement;
  show(rows: readonly Row[]): void;
}

export function table<Row>(columns: readonly Column<Row>[], options: TableOptions<Row>): Table<Row> {
  const head = el("tr");
  const body = el("tbody");
  const element = el("div", { class: "table", tabindex: 0, role: "region", "aria-label": options.label }, el("table", {}, el("thead", {}, head), body));
  let rows: readonly Row[] = [];
  let sorted: { column: number; down: boolean } | null = null;
  const kind = (c: Column<Row>): string => `${c.right ? "r" : ""} ${c.kind ?? ""}`.trim();
  const heading = (c: Column<Row>, i: number): HTMLElement => {
    const name: Child = c.hidden_name ? el("span", { class: "sr" }, c.name) : c.name;
    if (c.by === undefined) return el("th", { scope: "col", class: kind(c) }, name);
    const sort = sorted?.column === i ? (sorted.down ? "descending" : "ascending") : "none";
    const press = (): void => {
      sorted = sorted?.column === i ? (sorted.down ? null : { column: i, down: true }) : { column: i, down: false };
      paint();
    };
    const sign = sort === "none" ? "" : sort === "ascending" ? " ▲" : " ▼";
    return el("th", { scope: "col", class: kind(c), "aria-sort": sort }, el("button", { type: "button", on: { click: press } }, name, sign));
  };
  const order = (): readonly Row[] => {
    const by = sorted === null ? undefined : columns[sorted.column]?.by;
    if (by === undefined || sorted === null) return rows;
    const sign = sorted.down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      return x === y ? 0 : (x < y ? -1 : 1) * sign;
    });
  };
  const paint = (): void => {
    fill(head, columns.map(heading));
    const line = (row: Row, index: number): HTMLElement =>
      el(
        "tr",
        { class: options.rowKind?.(row) ?? null, "aria-selected": options.selected ? String(options.selected(row)) : null },
        columns.map((c) => (c.heading ? el("th", { scope: "row", class: kind(c) }, c.cell(row, index)) : el("td", { class: kind(c) }, c.cell(row, index)))),
      );
    fill(body, order().map(line));
  };
  return {
    element,
    show(next) {
      rows = next;
      paint();
    },
  };
}
