/* Presets as numbers with sources, and how sure a source makes one. */

import type { Client } from "../../api/client.js";

export interface PresetValue {
  key: string;
  /* as the file writes it */
  words: string;
  value?: number;
  unit?: string;
  source?: string;
}

export interface PresetFile {
  kind: string;
  /* of the file: what a request takes */
  name: string;
  values: PresetValue[];
}

export type Standing = "measured" | "stated" | "assumed" | "unsourced";

export const STANDINGS: readonly { key: Standing; sign: string; words: string }[] = [
  { key: "measured", sign: "●", words: "measured or computed" },
  { key: "stated", sign: "○", words: "data sheet or publication" },
  { key: "assumed", sign: "◇", words: "ballpark or assumed" },
  { key: "unsourced", sign: "?", words: "no source stated" },
];

/* By the words of the source: what says it is assumed counts before what says it is measured. */
export function standing(source: string | undefined): Standing {
  if (source === undefined || source === "") return "unsourced";
  if (/ballpark|assum|general knowledge|rule of|not measured|announced|universal constants|not public|scaled|raised for|lowered for|doubled/i.test(source)) return "assumed";
  if (/measure|fitted|\bfit of\b|\bruns\b|computed|counted|count of|aiconfigurator|calibrat/i.test(source)) return "measured";
  return "stated";
}

/* Files of software stacks say by their sections where a constant is from. */
function stackSource(key: string): { source?: string } {
  if (key.startsWith("fitted.")) return { source: "fitted to the published runs of this stack (halley calibrate)" };
  if (key.startsWith("given.")) return { source: "given in the file: set before the fit, assumed or from notes of the software" };
  if (/^expected|^layouts/.test(key)) return { source: "measured: errors of runs that the fit has not seen (halley score --cross-validate)" };
  return {};
}

/* A preset with its values by key. */
export class Preset {
  readonly title: string;
  /* published runs of a device; null = not counted yet */
  runs: number | null = null;
  private readonly by = new Map<string, PresetValue>();
  constructor(readonly file: PresetFile) {
    if (file.kind === "stack") file.values = file.values.map((v) => ({ ...v, ...stackSource(v.key) }));
    for (const v of file.values) this.by.set(v.key, v);
    this.title = this.by.get("name")?.words ?? file.name;
  }
  get(key: string): PresetValue | undefined {
    return this.by.get(key);
  }
  number(key: string): number | null {
    return this.by.get(key)?.value ?? null;
  }
  words(key: string): string {
    return this.by.get(key)?.words ?? "";
  }
  /* The first value whose key has this form. */
  find(form: RegExp): PresetValue | undefined {
    return this.file.values.find((v) => form.test(v.key));
  }
  count(prefix: string): number {
    return this.file.values.filter((v) => v.key.startsWith(prefix)).length;
  }
}

const kept = new Map<string, Promise<Preset[]>>();

/* All presets of a kind; they do not change while the server lives. */
export function loadPresets(client: Client, kind: string): Promise<Preset[]> {
  let list = kept.get(kind);
  if (list === undefined) {
    list = client.request<{ presets: PresetFile[] }>({ do: "presets", name: `${kind}s`, values: true }).then((r) => r.presets.map((p) => new Preset(p)));
    kept.set(kind, list);
    list.catch(() => kept.delete(kind));
  }
  return list;
}

let counted: Promise<Map<string, number>> | null = null;

/* Published runs by device, lower case. */
export function countRuns(client: Client): Promise<Map<string, number>> {
  counted ??= client.request<{ predictions: { npu: string }[] }>({ do: "score", rows: true }).then((r) => {
    const by = new Map<string, number>();
    for (const p of r.predictions) by.set(p.npu.toLowerCase(), (by.get(p.npu.toLowerCase()) ?? 0) + 1);
    return by;
  });
  counted.catch(() => (counted = null));
  return counted;
}
