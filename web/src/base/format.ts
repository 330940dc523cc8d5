/* Numbers as people say them: three digits, SI units, GB = 10^9. */

const formats = new Map<number, Intl.NumberFormat>();

function fixed(x: number, digits: number): string {
  let format = formats.get(digits);
  if (format === undefined) {
    format = new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    formats.set(digits, format);
  }
  return format.format(x);
}

/* `digits` significant digits; never more than 12 after the point. */
export function significant(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const rounded = Number(x.toPrecision(digits));
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(rounded)) + 1e-9);
  return fixed(x, Math.min(12, Math.max(0, decimals)));
}

/* The same without zeros at the end, for ticks: "0.5", "2". */
export function short(x: number, digits = 3): string {
  const text = significant(x, digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function count(n: number): string {
  return fixed(Math.round(n), 0);
}

/* "1 design", "2 designs" */
export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

interface Scale {
  readonly below: number;
  readonly divide: number;
  readonly unit: string;
}

function scaled(x: number, scales: readonly Scale[], digits: number): string {
  const size = Math.abs(x);
  const scale = scales.find((s) => size < s.below) ?? scales[scales.length - 1]!;
  return `${significant(x / scale.divide, digits)} ${scale.unit}`;
}

const TIMES: readonly Scale[] = [
  { below: 0.9995e-6, divide: 1e-9, unit: "ns" },
  { below: 0.9995e-3, divide: 1e-6, unit: "µs" },
  { below: 0.9995, divide: 1e-3, unit: "ms" },
  { below: 120, divide: 1, unit: "s" },
  { below: 7200, divide: 60, unit: "min" },
  { below: 172800, divide: 3600, unit: "h" },
  { below: Infinity, divide: 86400, unit: "days" },
];

export function time(seconds: number, digits = 3): string {
  return Math.abs(seconds) < 1e-12 ? "0 s" : scaled(seconds, TIMES, digits);
}

const BYTES: readonly Scale[] = [
  { below: 999.5, divide: 1, unit: "B" },
  { below: 999.5e3, divide: 1e3, unit: "kB" },
  { below: 999.5e6, divide: 1e6, unit: "MB" },
  { below: 999.5e9, divide: 1e9, unit: "GB" },
  { below: 999.5e12, divide: 1e12, unit: "TB" },
  { below: Infinity, divide: 1e15, unit: "PB" },
];

export function bytes(n: number, digits = 3): string {
  return n === 0 ? "0 GB" : scaled(n, BYTES, digits);
}

const PLAIN: readonly Scale[] = [
  { below: 9999.5, divide: 1, unit: "" },
  { below: 999.5e3, divide: 1e3, unit: "k" },
  { below: 999.5e6, divide: 1e6, unit: "M" },
  { below: 999.5e9, divide: 1e9, unit: "B" },
  { below: Infinity, divide: 1e12, unit: "T" },
];

/* Counts of parameters and tokens: 70.6 B, 15 T. */
export function big(n: number, digits = 3): string {
  return scaled(n, PLAIN, digits).trim();
}

const SI: readonly Scale[] = [
  { below: 0.9995e-6, divide: 1e-9, unit: "n" },
  { below: 0.9995e-3, divide: 1e-6, unit: "µ" },
  { below: 0.9995, divide: 1e-3, unit: "m" },
  { below: 999.5, divide: 1, unit: "" },
  { below: 999.5e3, divide: 1e3, unit: "k" },
  { below: 999.5e6, divide: 1e6, unit: "M" },
  { below: 999.5e9, divide: 1e9, unit: "G" },
  { below: 999.5e12, divide: 1e12, unit: "T" },
  { below: 999.5e15, divide: 1e15, unit: "P" },
  { below: Infinity, divide: 1e18, unit: "E" },
];

/* A quantity in a base unit: si(9.89e14, "FLOP/s") is "989 TFLOP/s". */
export function si(x: number, unit: string, digits = 3): string {
  return x === 0 ? `0 ${unit}` : `${scaled(x, SI, digits)}${unit}`;
}

export function dollars(d: number, digits = 3): string {
  const size = Math.abs(d);
  if (size >= 999.5e6) return `$${significant(d / 1e9, digits)} bn`;
  if (size >= 999.5e3) return `$${significant(d / 1e6, digits)} M`;
  if (size >= 1e4) return `$${significant(d / 1e3, digits)} k`;
  return `$${significant(d, digits)}`;
}

export function energy(joules: number): string {
  const wh = joules / 3600;
  return si(wh, "Wh");
}

export function percent(share: number, decimals = 0): string {
  return `${fixed(share * 100, decimals)} %`;
}

/* 5.2 %, 12 %: two digits. */
export function errorShare(share: number): string {
  return `${significant(share * 100, share < 0.1 ? 2 : 2)} %`;
}

/* With its sign, for changes: "+3.8 %", "−0.8 %". */
export function signed(share: number, decimals = 1): string {
  const text = `${fixed(Math.abs(share) * 100, decimals)} %`;
  return share < 0 ? `−${text}` : `+${text}`;
}

/* The name of a preset as people write it: the file's own words, without loss. */
export function shorten(name: string, length: number): string {
  if (name.length <= length) return name;
  const head = Math.ceil((length - 1) / 2);
  return `${name.slice(0, head)}…${name.slice(name.length - (length - 1 - head))}`;
}
