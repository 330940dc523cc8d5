/* Parameters of studies in words: distinct short names, and values in their units. */

import { bytes, count, short, si, time } from "../base/format.js";

const WORDS: { [path: string]: string } = {
  "cluster.network.bandwidth": "network per accelerator",
  "cluster.nodes.up.bandwidth": "link in the node",
  "cluster.nodes.npus": "accelerators in a node",
  "cluster.npus": "accelerators",
  "cluster.npu.peak": "peak",
  "cluster.npu.memory.hbm.capacity": "HBM capacity",
  "cluster.npu.memory.hbm.bandwidth": "HBM bandwidth",
};

/* The shortest end of the path that no other path of the list has, with at least two words where
 * the last one alone says too little ("bandwidth"). */
export function shortName(path: string, all: readonly string[]): string {
  const known = WORDS[path];
  if (known !== undefined) return known;
  const parts = path.split(".");
  const least = /^(bandwidth|capacity|latency|power|price|npus|factor)$/.test(parts[parts.length - 1]!) ? 2 : 1;
  for (let n = Math.min(least, parts.length); n < parts.length; n++) {
    const end = parts.slice(-n).join(".");
    if (all.filter((other) => other === end || other.endsWith(`.${end}`)).length <= 1) return parts.slice(-n).join(" ").replaceAll("-", " ");
  }
  return parts.join(" ").replaceAll("-", " ");
}

function unitOf(path: string): "B/s" | "B" | "s" | "W" | "USD" | "FLOP/s" | "" {
  if (/bandwidth$/.test(path)) return "B/s";
  if (/(memory\..*\.capacity|on-chip)$/.test(path)) return "B";
  if (/(latency|mtbf|checkpoint|restart)$/.test(path)) return "s";
  if (/\.peak$/.test(path)) return "FLOP/s";
  if (/\.power$/.test(path)) return "W";
  if (/\.(price|cost\.node)$/.test(path)) return "USD";
  return "";
}

/* A value of an axis as a label. */
export function valueWords(path: string, value: string | number | boolean): string {
  if (typeof value !== "number") return String(value);
  switch (unitOf(path)) {
    case "B/s":
      return tidy(si(value, "B/s"));
    case "FLOP/s":
      return tidy(si(value, "FLOP/s"));
    case "W":
      return tidy(si(value, "W"));
    case "B":
      return value === 0 ? "none" : tidy(bytes(value));
    case "s":
      return tidy(time(value));
    case "USD":
      return `$${count(value)}`;
    default:
      return Number.isInteger(value) ? count(value) : short(value);
  }
}

/* 200.0 GB/s is 200 GB/s */
function tidy(words: string): string {
  return words.replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");
}
