/* What the Topologies page shows, as the address holds it: the network A, the network B it is compared
 * with, the rail and the path in colour. */

import type { RequestDocument } from "../../api/client.js";
import { parseYaml, type Yaml, type YamlMap } from "../../base/yaml.js";

/* A description of halley's own, a preset of a cluster with its size, or the path of an uploaded file of
 * another tool. */
export type NetworkChoice =
  | { kind: "own"; description: YamlMap }
  | { kind: "cluster"; name: string; npus: number }
  | { kind: "file"; path: string; link: string; npus_per_nic: number };

export type Way = "same" | "pxn" | "fabric" | "own";

export interface TopologyState {
  a: NetworkChoice;
  b: NetworkChoice | null;
  rail: number;
  way: Way;
  /* of a path of one's own */
  from: number;
  to: number;
}

/* Worked out from the totals of table 3 of arXiv 2505.09343: 25 k$ a switch, 0.90 and 2.32 k$ a cable. */
export const PRICES: YamlMap = { switch: "25000 USD", copper: "900 USD", optical: "1160 USD" };

const RAILS: YamlMap = {
  topology: "rail-optimised", nodes: 64, npus: 8, "nodes-per-leaf": 32, spines: 8, cables: 4,
  link: "400 Gb/s", latency: "500 ns", "node-link": "450 GB/s", "node-latency": "250 ns", cost: PRICES,
};

export const START: TopologyState = {
  a: { kind: "own", description: RAILS },
  b: { kind: "own", description: { ...RAILS, cables: 1 } },
  rail: 3, way: "same", from: 0, to: 1,
};

function isMap(value: Yaml | undefined): value is YamlMap {
  return value !== undefined && value !== null && typeof value === "object" && !Array.isArray(value);
}

/* The example of a generator, with prices. */
export function readExample(example: string): YamlMap {
  const file = parseYaml(`network: ${example}`);
  const map = isMap(file) ? file["network"] : undefined;
  if (!isMap(map)) return {};
  const said = (v: Yaml): Yaml => (v === "yes" ? true : v === "no" ? false : v);
  return { ...Object.fromEntries(Object.entries(map).map(([k, v]) => [k, said(v)])), cost: PRICES };
}

function readChoice(text: string | null, link: string | null, per_nic: string | null): NetworkChoice | null {
  if (text === null || text === "") return null;
  const cluster = /^([\w.+-]+):(\d{1,8})$/.exec(text);
  if (cluster !== null) return { kind: "cluster", name: cluster[1]!, npus: Math.max(1, Number(cluster[2])) };
  if (!text.startsWith("{")) return { kind: "file", path: text, link: link ?? "", npus_per_nic: Math.max(0, Math.floor(Number(per_nic ?? 0)) || 0) };
  try {
    const map = JSON.parse(text) as Yaml;
    return isMap(map) ? { kind: "own", description: map } : null;
  } catch {
    return null;
  }
}

function readNumber(text: string | null, fallback: number): number {
  const value = Number(text ?? NaN);
  return Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : fallback;
}

export function readState(query: URLSearchParams): TopologyState {
  const a = readChoice(query.get("net"), query.get("link"), query.get("per_nic"));
  const way = query.get("way");
  return {
    a: a ?? START.a,
    b: query.has("b") ? readChoice(query.get("b"), query.get("b_link"), null) : a === null ? START.b : null,
    rail: readNumber(query.get("rail"), START.rail),
    way: way === "pxn" || way === "fabric" || way === "own" ? way : "same",
    from: readNumber(query.get("from"), START.from),
    to: readNumber(query.get("to"), START.to),
  };
}

function choiceText(choice: NetworkChoice): string {
  if (choice.kind === "cluster") return `${choice.name}:${choice.npus}`;
  return choice.kind === "own" ? JSON.stringify(choice.description) : choice.path;
}

export function writeState(s: TopologyState): URLSearchParams {
  const query = new URLSearchParams({ net: choiceText(s.a) });
  if (s.a.kind === "file" && s.a.link !== "") query.set("link", s.a.link);
  if (s.a.kind === "file" && s.a.npus_per_nic > 0) query.set("per_nic", String(s.a.npus_per_nic));
  query.set("b", s.b === null ? "" : choiceText(s.b));
  if (s.b?.kind === "file" && s.b.link !== "") query.set("b_link", s.b.link);
  if (s.rail !== START.rail) query.set("rail", String(s.rail));
  if (s.way !== START.way) query.set("way", s.way);
  if (s.way === "own") {
    query.set("from", String(s.from));
    query.set("to", String(s.to));
  }
  return query;
}

/* The network as a request takes it. */
export function networkDocument(choice: NetworkChoice): RequestDocument {
  if (choice.kind === "own") return { do: "topology.show", topology: choice.description };
  if (choice.kind === "cluster") return { do: "topology.show", topology: `${choice.name}:${choice.npus}` };
  return {
    do: "topology.show", topology: choice.path,
    ...(choice.link === "" ? {} : { link: [choice.link] }),
    ...(choice.npus_per_nic > 0 ? { npus_per_nic: choice.npus_per_nic } : {}),
  };
}

/* The two accelerators of the chosen path. */
export function pathEnds(s: TopologyState, npus: number, per_node: number): [number, number] | null {
  if (npus < 2) return null;
  if (s.way === "own") return s.from < npus && s.to < npus && s.from !== s.to ? [s.from, s.to] : null;
  if (per_node < 2) return [0, npus - 1];
  const rail = s.rail % per_node;
  const last = npus - per_node;
  return [rail, last + (s.way === "same" ? rail : (rail + 2) % per_node)];
}

/* "64 nodes, 8 spines": what tells two descriptions apart; else the name of the file. */
export function choiceName(choice: NetworkChoice, other: NetworkChoice | null): string {
  if (choice.kind === "file") return choice.path.replace(/^.*\//, "");
  if (choice.kind === "cluster") return `${choice.name}:${choice.npus}`;
  const d = choice.description;
  const name = String(d["topology"] ?? "");
  if (other === null || other.kind !== "own" || other.description["topology"] !== d["topology"]) return name;
  const o = other.description;
  const differ = [...new Set([...Object.keys(d), ...Object.keys(o)])].filter((k) => JSON.stringify(d[k]) !== JSON.stringify(o[k]));
  return differ.length === 0 ? name : differ.map((k) => `${k} ${d[k] === undefined ? "default" : typeof d[k] === "object" ? JSON.stringify(d[k]) : String(d[k])}`).join(", ");
}
