/* A study as the form shows it. Everything the form does not show is kept and written back. */

import { parseYaml, printFlow, printYaml, type Yaml, type YamlMap } from "../../base/yaml.js";

export interface System {
  name: string;
  cluster: string;
  /* further keys: a changed memory, a faster link */
  more: YamlMap;
}

export interface VariedRow {
  parameter: string;
  /* values as YAML: [1, 2, 4] or {from: ..., to: ...} */
  values: string;
}

export interface Study {
  name: string;
  description: string;
  model: string;
  stack: string;
  npus: number;
  /* the cluster when no systems are compared */
  cluster: string;
  systems: System[];
  plan: string;
  rows: VariedRow[];
  objectives: string[];
  tokens: string;
  where: string;
  rest: YamlMap;
}

export const START_STUDY = `name: buy-70b
description: Which 2,048-accelerator system trains Llama-3 70B on 15 T tokens soonest, and cheapest?
model: llama3-70b
cluster: "dgx-h100:2048"
plan: {global-batch: 2048, zero: 1, sequence-parallel: yes}
vary:
  system:
    - {name: H100, cluster: "dgx-h100:2048"}
    - {name: H200, cluster: "dgx-h200:2048"}
    - {name: B200, cluster: "dgx-b200:2048"}
    - {name: GB200 NVL72, cluster: "gb200-nvl72:2048"}
    - {name: A100, cluster: "dgx-a100:2048"}
    - {name: MI300X, cluster: "mi300x:2048"}
    - {name: MI355X, cluster: "mi355x:2048"}
    - {name: Gaudi 3, cluster: "gaudi3:2048"}
    - {name: TPU v5p, cluster: "tpu-v5p-pod:2048"}
    - {name: TPU v6e, cluster: "tpu-v6e-pod:2048"}
    - {name: Trainium 2, cluster: "trn2:2048"}
  plan.tp: [1, 2, 4, 8]
  plan.pp: [1, 2, 4, 8]
  plan.virtual: [1, 2, 5]
  plan.micro-batch: [1, 2, 4]
  plan.recompute: [none, selective, full]
where: [fits]
objective: [{minimize: step-time}, {minimize: cost-per-token}]
tokens: 15T
`;

function isMap(value: Yaml | undefined): value is YamlMap {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function readSystem(value: Yaml): System | null {
  if (!isMap(value) || typeof value["name"] !== "string" || typeof value["cluster"] !== "string") return null;
  const { name, cluster, ...more } = value;
  return { name: name as string, cluster: (cluster as string).split(":")[0]!, more };
}

function npusOf(text: Yaml | undefined): number | null {
  const n = typeof text === "string" ? Number(text.split(":")[1]) : NaN;
  return Number.isFinite(n) ? n : null;
}

function readObjectives(value: Yaml | undefined): string[] | null {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  const words = list.map((o) => (isMap(o) && Object.keys(o).length === 1 ? `${Object.keys(o)[0]} ${String(Object.values(o)[0])}` : null));
  return words.includes(null) ? null : (words as string[]);
}

/* The study of the text, or a sentence why the form cannot show it. */
export function readStudy(text: string): Study | string {
  let document: Yaml;
  try {
    document = parseYaml(text);
  } catch (error) {
    return `The form cannot show this study: ${error instanceof Error ? error.message : String(error)}.`;
  }
  if (!isMap(document)) return "A study is a list of keys: name, model, cluster, vary …";
  const { name, description, model, stack, cluster, plan, vary, objective, tokens, where, ...rest } = document;
  const objectives = readObjectives(objective);
  if (typeof model !== "string") return "The form cannot show this study: its model is not a name.";
  if (objectives === null) return "The form cannot show this study: its objectives are not {minimize: …} or {maximize: …}.";
  const varied = isMap(vary) ? vary : {};
  const { system, ...rows } = varied;
  const systems = Array.isArray(system) ? system.map(readSystem) : [];
  if (systems.includes(null)) return "The form cannot show this study: a system is not {name: …, cluster: …}.";
  const first = Array.isArray(system) && isMap(system[0]!) ? npusOf(system[0]!["cluster"]) : null;
  if (cluster !== undefined && typeof cluster !== "string") return "The form cannot show this study: its cluster is not a name.";
  return {
    name: String(name ?? "study"),
    description: String(description ?? ""),
    model,
    stack: typeof stack === "string" ? stack : "",
    npus: first ?? npusOf(cluster) ?? 64,
    cluster: String(cluster ?? "dgx-h100").split(":")[0]!,
    systems: systems as System[],
    plan: isMap(plan) ? printFlow(plan).replace(/^\{|\}$/g, "") : plan === undefined ? "" : String(plan),
    rows: Object.entries(rows).map(([parameter, values]) => ({ parameter, values: printFlow(values) })),
    objectives,
    tokens: tokens === undefined ? "" : String(tokens),
    where: Array.isArray(where) ? where.map(String).join(", ") : where === undefined ? "" : String(where),
    rest,
  };
}

function readFlow(words: string): Yaml {
  try {
    const value = parseYaml(`x: ${words}`);
    return isMap(value) ? value["x"]! : words;
  } catch {
    return words; /* the engine says what is wrong with it */
  }
}

/* The study as text; the engine checks it. */
export function writeStudy(study: Study): string {
  const vary: YamlMap = {};
  if (study.systems.length > 0) vary["system"] = study.systems.map((s) => ({ name: s.name, cluster: `${s.cluster}:${study.npus}`, ...s.more }));
  for (const row of study.rows) if (row.parameter !== "") vary[row.parameter] = readFlow(row.values);
  const objectives = study.objectives.map((words) => {
    const [verb = "minimize", ...expression] = words.split(" ");
    return { [verb]: expression.join(" ") };
  });
  const document: YamlMap = { name: study.name };
  if (study.description !== "") document["description"] = study.description;
  document["model"] = study.model;
  document["cluster"] = `${study.systems[0]?.cluster ?? study.cluster}:${study.npus}`;
  if (study.stack !== "") document["stack"] = study.stack;
  if (study.plan.trim() !== "") document["plan"] = study.plan.includes(":") ? readFlow(`{${study.plan}}`) : study.plan;
  if (Object.keys(vary).length > 0) document["vary"] = vary;
  if (study.where.trim() !== "") document["where"] = study.where.split(/,\s*/).filter((w) => w !== "");
  if (objectives.length > 0) document["objective"] = objectives.length === 1 ? objectives[0]! : objectives;
  if (study.tokens !== "") document["tokens"] = study.tokens;
  return printYaml({ ...document, ...study.rest });
}

/* A name for the store of a study: the same text, the same file. */
export function storeName(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return `explore-${hash.toString(16).padStart(16, "0")}.db`;
}
