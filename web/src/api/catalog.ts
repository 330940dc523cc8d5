/* Presets by kind, and the few facts of a model and a cluster that fields need: layers, experts,
 * sequence; which word people use for the device. */

import type { Client } from "./client.js";
import type { Preset } from "./types.js";

export interface ModelFacts {
  layers: number | null;
  experts: number | null;
  seq: number | null;
  heads: number | null;
}

const NO_FACTS: ModelFacts = { layers: null, experts: null, seq: null, heads: null };

export class Catalog {
  private readonly lists = new Map<string, Promise<Preset[]>>();
  private readonly texts = new Map<string, Promise<string>>();
  constructor(private readonly client: Client) {}

  /* Names of a kind: model, cluster, npu, link, fabric, stack. */
  async names(kind: string): Promise<string[]> {
    let list = this.lists.get("all");
    if (list === undefined) {
      list = this.client.request<{ presets: Preset[] }>({ do: "presets" }).then((r) => r.presets);
      this.lists.set("all", list);
      list.catch(() => this.lists.delete("all"));
    }
    return (await list).filter((p) => p.kind === kind).map((p) => p.name);
  }

  /* The file of a preset. */
  text(name: string): Promise<string> {
    let text = this.texts.get(name);
    if (text === undefined) {
      text = this.client.request<{ presets?: Preset[] }>({ do: "presets", name }).then((r) => r.presets?.[0]?.text ?? "");
      this.texts.set(name, text);
      text.catch(() => this.texts.delete(name));
    }
    return text;
  }

  /* Lines of a cluster's preset, and of its device's, that hold prices. */
  async priceLines(cluster: string): Promise<string[]> {
    try {
      const text = await this.text(cluster);
      const device = /^npu:\s*([\w.-]+)/m.exec(text)?.[1];
      const npu = device === undefined ? "" : await this.text(device.toLowerCase());
      const lines = (source: string, name: string): string[] => source.split("\n").filter((l) => /^(cost|price|power):/.test(l)).map((l) => `${name}: ${l}`);
      return [...lines(npu, device ?? ""), ...lines(text, cluster)];
    } catch {
      return []; /* a cluster of one's own file */
    }
  }

  async modelFacts(name: string): Promise<ModelFacts> {
    try {
      const result = await this.client.request<{ presets?: Preset[] } & { [key: string]: unknown }>({ do: "presets", name });
      const text = result.presets?.[0]?.text;
      if (text !== undefined) return readFacts((key) => Number(new RegExp(`^${key}:\\s*(\\d+)`, "m").exec(text)?.[1] ?? NaN));
      const model = (typeof result["model"] === "object" ? result["model"] : result) as { [key: string]: unknown };
      return readFacts((key) => Number(model[key] ?? NaN));
    } catch {
      return NO_FACTS; /* the estimate itself says what is wrong with the model */
    }
  }
}

function readFacts(get: (key: string) => number): ModelFacts {
  const number = (key: string): number | null => {
    const value = get(key);
    return Number.isFinite(value) && value > 0 ? value : null;
  };
  return { layers: number("layers"), experts: number("experts"), seq: number("seq"), heads: number("heads") };
}

/* GPU, chip or accelerator, by the cluster's name. */
export function deviceWord(cluster: string): string {
  if (/tpu/i.test(cluster)) return "chip";
  if (/dgx|hgx|h100|h200|h800|h20|a100|b200|b300|gb\d00|gh200|mi\d{3}|rubin|frontier|jean-zay/i.test(cluster)) return "GPU";
  return "accelerator";
}
