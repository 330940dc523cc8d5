/* The cards of one recording. */

import { type Child, el, fill } from "../../base/dom.js";
import { bytes, count, percent, plural, si, time } from "../../base/format.js";
import { chart, hatchFill, rect, text, textWidth } from "../../draw/chart.js";
import { findKind } from "../../draw/kinds.js";
import { chip, colourKey } from "../../ui/parts.js";
import { table } from "../../ui/table.js";
import { type Check, type Finding, IDLE_WORDS, type Kernels, listTalk, type Recording, stepTime, type Talk, type TopKernel } from "./recording.js";

/* Compute, exposed communication, idle: parts of the window of the device. */
export function windowParts(r: Recording): { name: string; s: number; colour: string; tone: "dark" | "light"; hatched: boolean }[] {
  const k = r.kernels!;
  const exposed = r.columns !== null ? listTalk(r.columns).reduce((sum, t) => sum + t.exposed_s, 0) / Math.max(1, r.columns.ranks.length) : 0;
  const shown = Math.min(k.device_busy_s, exposed);
  return [
    { name: "Kernels and copies", s: k.device_busy_s - shown, colour: "--t-matmul", tone: "dark" as const, hatched: false },
    { name: "Exposed communication", s: shown, colour: "--t-ep", tone: "light" as const, hatched: false },
    { name: "Idle", s: k.idle["s"] ?? 0, colour: "--t-bubble", tone: "light" as const, hatched: true },
  ].filter((p) => p.s > 0);
}

export function drawWindow(r: Recording, width: number): SVGElement {
  const parts = windowParts(r);
  const total = parts.reduce((sum, p) => sum + p.s, 0);
  let x = 0;
  const marks: Child[] = parts.map((p) => {
    const w = (p.s / total) * width;
    const share = percent(p.s / total);
    const words = [`${p.name} ${share}`, share].find((l) => textWidth(l) + 10 <= w) ?? "";
    const mark: Child[] = [rect(x, 0, Math.max(1, w - 1), 36, `var(${p.colour})`, { tip: `${p.name}: ${time(p.s)}, ${share}` }), p.hatched && rect(x, 0, Math.max(1, w - 1), 36, hatchFill("down")), words !== "" && p.hatched && rect(x + w / 2 - textWidth(words) / 2 - 5, 8, textWidth(words) + 10, 20, `var(${p.colour})`), words !== "" && text(x + w / 2, 23, words, { anchor: "middle", kind: `${p.tone === "dark" ? "on-dark" : "on-light"} label` }), w > 56 && text(x + 1, 52, time(p.s), { kind: "quiet" })];
    x += w;
    return mark;
  });
  return chart(width, 58, `Time of the device: ${parts.map((p) => `${p.name} ${time(p.s)}, ${percent(p.s / total)}`).join("; ")}`, marks);
}

export function factChips(r: Recording): HTMLElement {
  const k = r.kernels;
  const say = (strong: string, rest: string): HTMLElement => el("span", { class: "chip" }, el("b", {}, strong), ` ${rest}`);
  if (k === null) return el("div", { class: "chips" }, say(r.info.form, ""), say(plural(r.info.n_ranks, "rank"), r.info.n_distinct < r.info.n_ranks ? `${r.info.n_distinct} different` : ""), say(plural(r.info.nodes, "node"), ""), say(time(r.info.critical_path_s), "critical path by recorded durations"));
  const steps = stepTime(k);
  return el(
    "div",
    { class: "chips" },
    say(KIND_WORDS[k.kind] ?? k.kind, ""),
    say(k.device ?? "unknown device", k.devices > 1 ? `× ${k.devices}` : ""),
    k.rank !== null && say(`rank ${k.rank}`, k.world === null ? "" : `of ${k.world}`),
    r.info.n_ranks > 1 && say(plural(r.info.n_ranks, "rank"), ""),
    k.steps.length > 0 ? say(plural(k.steps.length, "step"), `mean ${time(steps.step_s)}`) : say("no steps", "marked"),
    say(count(k.device_events), `device events${k.launch_in_window === k.device_events ? ", all with their launch" : `, ${count(k.launch_in_window)} with their launch`}`),
    say(time(k.device_span_s), "window"),
  );
}

const KIND_WORDS: { [kind: string]: string } = { kineto: "Kineto (PyTorch profiler)", nsys: "Nsight Systems", xplane: "xplane (JAX)" };

export function checkChip(c: Check): HTMLElement {
  if (c.n_errors > 0) return chip("over", `${plural(c.n_errors, "error")} found`);
  if (c.n_warnings > 0) return chip("tight", plural(c.n_warnings, "warning"));
  return chip("fits", "checked, no errors");
}

/* "void at::native::kernel<4, …>(int, …)" without its arguments. */
export function shortKernel(name: string): string {
  const plain = name.replace(/^void\s+/, "").replace(/\(anonymous namespace\)::/g, "");
  let depth = 0;
  let out = "";
  for (const c of plain) {
    if (c === "(" && depth === 0 && out !== "") break;
    if (c === "<") depth += 1;
    if (depth === 0) out += c;
    if (c === ">" && depth > 0) depth -= 1;
  }
  return out.trim() === "" ? name : out.trim();
}

function topOf(k: Kernels, name: string): { name: string; s: number }[] {
  const sums = new Map<string, number>();
  for (const t of k.top.filter((kernel: TopKernel) => kernel.class === name)) sums.set(shortKernel(t.name), (sums.get(shortKernel(t.name)) ?? 0) + t.s);
  return [...sums].map(([kernel, s]) => ({ name: kernel, s })).sort((a, b) => b.s - a.s).slice(0, 2);
}

export function classList(k: Kernels): HTMLElement {
  const classes = Object.entries(k.classes).sort((a, b) => b[1].s - a[1].s);
  const most = classes[0]?.[1].s ?? 1;
  const item = ([name, c]: [string, Kernels["classes"][string]], i: number): HTMLElement => {
    const kind = findKind(name);
    const rate = [c.flops_per_s !== null && c.flops_per_s > 1e9 && `${si(c.flops_per_s, "FLOP/s")}`, c.bytes_per_s !== null && c.bytes_per_s > 1e9 && `${si(c.bytes_per_s, "B/s")}`].filter((w) => w !== false);
    const more = i < 3 ? el("p", { class: "note" }, `${plural(c.n, "kernel")}, mean ${time(c.s / c.n)}${rate.length > 0 ? `, ${rate.join(", ")}` : ""}. Longest: `, topOf(k, name).map((t, j) => [j > 0 && ", ", el("code", { class: "kernel-name" }, t.name), ` ${time(t.s)}`])) : null;
    return el("li", {}, el("div", { class: "class-row" }, el("span", {}, colourKey(kind.colour, null), kind.name), el("span", { class: "class-bar" }, el("i", { "aria-hidden": "true", css: { width: `${(100 * c.s) / most}%`, background: `var(${kind.colour})` } })), el("strong", {}, time(c.s)), el("span", { class: "muted" }, percent(c.s / k.device_span_s))), more);
  };
  return el("ul", { class: "class-list" }, classes.map(item));
}

export function idleList(k: Kernels): HTMLElement {
  const most = Math.max(...IDLE_WORDS.map(([key]) => k.idle[key] ?? 0), 1e-12);
  const causes = IDLE_WORDS.filter(([key]) => (k.idle[key] ?? 0) > 0).sort((a, b) => (k.idle[b[0]] ?? 0) - (k.idle[a[0]] ?? 0));
  if (causes.length === 0) return el("p", { class: "note" }, "The device was never idle in the window.");
  return el("ul", { class: "class-list" }, causes.map(([key, words, advice]) => el("li", {}, el("div", { class: "idle-row" }, el("span", {}, words), el("strong", {}, time(k.idle[key]!)), el("span", { class: "muted" }, percent(k.idle[key]! / k.device_span_s, 1))), el("span", { class: "class-bar" }, el("i", { "aria-hidden": "true", css: { width: `${(100 * k.idle[key]!) / most}%`, background: "var(--t-bubble)" } })), el("p", { class: "note" }, advice))));
}

interface GroupTalk {
  type: string;
  group: string;
  nodes: number;
  total_bytes: number;
}

/* Collectives of all sizes by kind and group. */
function sumGroups(r: Recording): GroupTalk[] {
  const sums = new Map<string, GroupTalk>();
  for (const c of r.info.collectives) {
    const key = `${c.type}\n${c.group}`;
    const sum = sums.get(key) ?? { type: c.type, group: c.group, nodes: 0, total_bytes: 0 };
    sum.nodes += c.nodes;
    sum.total_bytes += c.total_bytes;
    sums.set(key, sum);
  }
  return [...sums.values()].sort((a, b) => b.total_bytes - a.total_bytes);
}

export function talkTable(r: Recording): HTMLElement {
  const rows = r.columns === null ? [] : listTalk(r.columns);
  const groups = sumGroups(r);
  const list = table<Talk>([
    { name: "Kind", heading: true, cell: (t) => [colourKey(findKind(t.kind).colour, null), findKind(t.kind).name] },
    { name: "Stream", right: true, cell: (t) => t.row.replace("stream ", "") },
    { name: "Calls", right: true, cell: (t) => count(t.n) },
    { name: "Time", right: true, cell: (t) => time(t.s), by: (t) => -t.s },
    { name: "Exposed", right: true, cell: (t) => time(t.exposed_s), by: (t) => -t.exposed_s },
    { name: "Hidden", right: true, cell: (t) => percent(t.s > 0 ? 1 - t.exposed_s / t.s : 0) },
  ], { label: "Communication by stream and kind, scrolls sideways" });
  list.show(rows);
  const by_group = table<GroupTalk>([
    { name: "Kind", heading: true, cell: (c) => findKind(c.type).name },
    { name: "Group", right: true, cell: (c) => (c.group === "" || c.group === "0" ? "all ranks" : c.group) },
    { name: "Calls", right: true, cell: (c) => count(c.nodes), by: (c) => -c.nodes },
    { name: "Bytes", right: true, cell: (c) => bytes(c.total_bytes), by: (c) => -c.total_bytes },
  ], { label: "Collectives by group, scrolls sideways" });
  by_group.show(groups.slice(0, 20));
  const none = rows.length === 0 && r.info.collectives.length === 0;
  if (none) return el("p", { class: "note" }, "No kernel or node communicates.");
  const named = groups.some((g) => g.group !== "" && g.group !== "0");
  const world = !named && el("p", { class: "note" }, "No process groups are named; a group is taken to be all ranks.");
  return el("div", {}, rows.length > 0 && list.element, groups.length > 0 && [el("h3", {}, "By group"), by_group.element], world);
}

export function typeTable(r: Recording): HTMLElement {
  const list = table<Recording["info"]["types"][number]>([
    { name: "Nodes of type", heading: true, cell: (t) => t.type },
    { name: "Nodes", right: true, cell: (t) => count(t.nodes), by: (t) => -t.nodes },
    { name: "Time", right: true, cell: (t) => time(t.time_s), by: (t) => -t.time_s },
  ], { label: "Nodes by type" });
  list.show(r.info.types);
  return list.element;
}

export function findingsView(r: Recording): HTMLElement {
  const order = ["error", "warning", "note"];
  const list = table<Finding>([
    { name: "Severity", heading: true, cell: (f) => f.severity },
    { name: "Finding", cell: (f) => [f.sentence, f.remedy !== undefined && f.remedy !== "" && el("span", { class: "muted" }, ` – ${f.remedy}`)] },
    { name: "Node", right: true, kind: "wide", cell: (f) => `${f.node} ${f.name}` },
    { name: "Rank", right: true, kind: "wide", cell: (f) => f.rank },
  ], { label: "Findings, scrolls sideways" });
  const findings = [...r.check.findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity)).slice(0, 30);
  list.show(findings);
  const warnings = [...new Set([...(r.kernels?.warnings ?? []), ...(r.info.warnings ?? [])])];
  const box = el("div");
  fill(box, el("p", {}, `${plural(r.check.n_errors, "error")}, ${plural(r.check.n_warnings, "warning")}, ${plural(r.check.n_notes, "note")} in the graph.`), findings.length > 0 && list.element, warnings.length > 0 && [el("h3", {}, "About the recording"), el("ul", { class: "plain-list" }, warnings.map((w) => el("li", {}, w)))]);
  return box;
}
