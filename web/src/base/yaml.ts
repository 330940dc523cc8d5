/* The part of YAML that study files use: block maps and lists, flow maps and lists, plain and quoted
 * scalars, comments. It lets the form and the text show the same study; what it cannot read
 * (anchors, block scalars, tags) it says, and the engine, which reads all of it, decides. */

export type Yaml = string | number | boolean | null | Yaml[] | { [key: string]: Yaml };
export type YamlMap = { [key: string]: Yaml };

export class YamlError extends Error {
  constructor(readonly line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = "YamlError";
  }
}

interface Line {
  indent: number;
  text: string;
  number: number;
}

/* Where a comment begins, outside of quotes. */
function stripComment(text: string): string {
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== "") {
      if (c === "\\" && quote === '"') i += 1;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "#" && (i === 0 || /\s/.test(text[i - 1]!))) return text.slice(0, i);
  }
  return text;
}

function depthOf(text: string): number {
  let depth = 0;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== "") {
      if (c === "\\" && quote === '"') i += 1;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "{" || c === "[") depth += 1;
    else if (c === "}" || c === "]") depth -= 1;
  }
  return depth;
}

/* Lines without comments; a flow value that goes on is joined to its first line. */
function splitLines(source: string): Line[] {
  const lines: Line[] = [];
  let open: Line | null = null;
  source.split("\n").forEach((raw, i) => {
    const text = stripComment(raw.replace(/\r$/, "")).trimEnd();
    if (text.trim() === "") return;
    if (/^\t/.test(text)) throw new YamlError(i + 1, "a tab at the start of a line; use spaces");
    if (open !== null) open.text += ` ${text.trim()}`;
    else lines.push((open = { indent: text.length - text.trimStart().length, text: text.trim(), number: i + 1 }));
    if (depthOf(open.text) <= 0) open = null;
  });
  if (open !== null) throw new YamlError((open as Line).number, "a { or [ is not closed");
  return lines;
}

class Reader {
  private at = 0;
  constructor(private readonly lines: Line[]) {}

  private peek(): Line | undefined {
    return this.lines[this.at];
  }

  readBlock(indent: number): Yaml {
    const line = this.peek();
    if (line === undefined || line.indent < indent) return null;
    return line.text.startsWith("- ") || line.text === "-" ? this.readList(line.indent) : this.readMap(line.indent);
  }

  private readList(indent: number): Yaml[] {
    const out: Yaml[] = [];
    for (let line = this.peek(); line !== undefined && line.indent === indent && /^-( |$)/.test(line.text); line = this.peek()) {
      const rest = line.text.slice(1).trim();
      if (rest === "") {
        this.at += 1;
        out.push(this.readBlock(indent + 1));
      } else if (findColon(rest) >= 0 && !/^[{["']/.test(rest)) {
        const inner = line.text.length - rest.length + indent;
        this.lines[this.at] = { indent: inner, text: rest, number: line.number };
        out.push(this.readMap(inner));
      } else {
        this.at += 1;
        out.push(readScalar(rest, line.number));
      }
    }
    return out;
  }

  private readMap(indent: number): YamlMap {
    const out: YamlMap = {};
    for (let line = this.peek(); line !== undefined && line.indent === indent; line = this.peek()) {
      const colon = findColon(line.text);
      if (colon < 0) throw new YamlError(line.number, `expected "key: value", found "${line.text}"`);
      const key = String(readScalar(line.text.slice(0, colon).trim(), line.number));
      const rest = line.text.slice(colon + 1).trim();
      if (key in out) throw new YamlError(line.number, `"${key}" is there twice`);
      this.at += 1;
      out[key] = rest === "" ? this.readNested(indent) : readScalar(rest, line.number);
    }
    const next = this.peek();
    if (next !== undefined && next.indent > indent) throw new YamlError(next.number, "this line is indented too far");
    return out;
  }

  /* What follows "key:": deeper lines, or a list at the same depth. */
  private readNested(indent: number): Yaml {
    const next = this.peek();
    if (next !== undefined && next.indent === indent && /^-( |$)/.test(next.text)) return this.readList(indent);
    return this.readBlock(indent + 1);
  }

  end(): void {
    const line = this.peek();
    if (line !== undefined) throw new YamlError(line.number, `"${line.text}" is not in its place`);
  }
}

/* The colon that ends a key, outside of quotes and brackets. */
function findColon(text: string): number {
  let quote = "";
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== "") {
      if (c === "\\" && quote === '"') i += 1;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "{" || c === "[") depth += 1;
    else if (c === "}" || c === "]") depth -= 1;
    else if (c === ":" && depth === 0 && (i + 1 === text.length || text[i + 1] === " ")) return i;
  }
  return -1;
}

/* Parts of a flow value between commas. */
function splitFlow(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let quote = "";
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== "") {
      if (c === "\\" && quote === '"') i += 1;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if (c === "{" || c === "[") depth += 1;
    else if (c === "}" || c === "]") depth -= 1;
    else if (c === "," && depth === 0) {
      parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = text.slice(from).trim();
  if (last !== "") parts.push(last);
  return parts;
}

function readScalar(text: string, line: number): Yaml {
  if (/^[&*!|>]/.test(text)) throw new YamlError(line, `"${text}" is YAML that the form does not know`);
  if (text.startsWith("{")) return readFlowMap(text, line);
  if (text.startsWith("[")) {
    if (!text.endsWith("]")) throw new YamlError(line, `"${text}" does not end with ]`);
    return splitFlow(text.slice(1, -1)).map((part) => readScalar(part, line));
  }
  if (text.startsWith('"')) return readQuoted(text, line);
  if (text.startsWith("'")) return text.endsWith("'") && text.length > 1 ? text.slice(1, -1).replaceAll("''", "'") : text;
  if (text === "true" || text === "yes") return true;
  if (text === "false" || text === "no") return false;
  if (text === "null" || text === "~") return null;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}

function readQuoted(text: string, line: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new YamlError(line, `${text} is not a text in quotes`);
  }
}

function readFlowMap(text: string, line: number): YamlMap {
  if (!text.endsWith("}")) throw new YamlError(line, `"${text}" does not end with }`);
  const out: YamlMap = {};
  for (const part of splitFlow(text.slice(1, -1))) {
    const colon = findColon(part);
    if (colon < 0) throw new YamlError(line, `expected "key: value", found "${part}"`);
    out[String(readScalar(part.slice(0, colon).trim(), line))] = readScalar(part.slice(colon + 1).trim(), line);
  }
  return out;
}

export function parseYaml(source: string): Yaml {
  const reader = new Reader(splitLines(source));
  const value = reader.readBlock(0);
  reader.end();
  return value;
}

function printScalar(value: string | number | boolean | null): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "string") return String(value);
  const plain = /^[A-Za-z0-9_/(][A-Za-z0-9_ ./()+*<>=%$-]*$/.test(value) && !/\s$/.test(value) && typeof readScalar(value, 0) === "string";
  return plain ? value : JSON.stringify(value);
}

/* On one line. */
export function printFlow(value: Yaml): string {
  if (Array.isArray(value)) return `[${value.map(printFlow).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${printScalar(k)}: ${printFlow(v)}`).join(", ")}}`;
  return printScalar(value);
}

/* Maps at the top in block form, what is inside on one line where it is short. */
export function printYaml(value: YamlMap, indent = ""): string {
  return Object.entries(value).map(([key, inner]) => {
    const name = `${indent}${printScalar(key)}:`;
    const flow = printFlow(inner);
    if (flow.length + name.length < 90 || inner === null || typeof inner !== "object") return `${name} ${flow}\n`;
    if (Array.isArray(inner)) return `${name}\n${inner.map((v) => `${indent}  - ${printFlow(v)}\n`).join("")}`;
    return `${name}\n${printYaml(inner, `${indent}  `)}`;
  }).join("");
}
