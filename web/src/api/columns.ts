/* A timeline as binary columns (doc/reference/columns.md): typed arrays over the bytes of the file. */

import { type Client, HalleyError, type RequestDocument, type Options } from "./client.js";
import { readFile, uploadFile } from "./files.js";

export interface ColumnRank {
  rank: number;
  alike: number;
  name: number;
  first_level: number;
  levels: number;
}

export interface ColumnRow {
  /* index of `ranks` */
  of: number;
  name: number;
  lane: number;
  first: number;
  n: number;
}

export interface Dimension {
  name: number;
  n: number;
  npus: number;
  bins: number;
  bin_s: number;
  bandwidth_Bps: number;
}

interface Place {
  type: "f64" | "f32" | "u32" | "u8";
  at: number;
  n: number;
}

interface Header {
  what: string;
  n_ranks: number;
  left_out: number;
  npus_per_node: number;
  end_s: number;
  capacity_bytes?: number;
  headroom?: number;
  ranks: ColumnRank[];
  rows: ColumnRow[];
  dimensions: Dimension[];
  names: string[];
  kinds: string[];
  columns: { [name: string]: Place };
}

export const NO_BOX = 0xffffffff;

export interface Columns extends Header {
  start_s: Float64Array;
  length_s: Float32Array;
  bytes: Float32Array;
  name: Uint32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  arrows: Uint32Array;
  path_box: Uint32Array;
  path_s: Float64Array;
  memory: Float64Array;
  use: Float32Array;
}

const MAGIC = "HLYCOL1\n";

export function parseColumns(bytes: ArrayBuffer): Columns {
  const head = new TextDecoder().decode(new Uint8Array(bytes, 0, Math.min(8, bytes.byteLength)));
  if (head !== MAGIC) throw new HalleyError({ code: "bad-file", message: "The server's timeline is not a file of columns." });
  const size = new DataView(bytes).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 16, size))) as Header;
  const base = 16 + size;
  const place = (name: string): Place => header.columns[name] ?? { type: "u8", at: 0, n: 0 };
  const f64 = (name: string): Float64Array => new Float64Array(bytes, base + place(name).at, place(name).n);
  const f32 = (name: string): Float32Array => new Float32Array(bytes, base + place(name).at, place(name).n);
  const u32 = (name: string): Uint32Array => new Uint32Array(bytes, base + place(name).at, place(name).n);
  const u8 = (name: string): Uint8Array => new Uint8Array(bytes, base + place(name).at, place(name).n);
  return {
    ...header,
    start_s: f64("start_s"),
    length_s: f32("length_s"),
    bytes: f32("bytes"),
    name: u32("name"),
    kind: u8("kind"),
    flags: u8("flags"),
    arrows: u32("arrows"),
    path_box: u32("path_box"),
    path_s: f64("path_s"),
    memory: f64("memory"),
    use: f32("use"),
  };
}

/* A place for the file among the uploads, which the server removes at its end; one per tab. */
const places = new Map<string, Promise<string>>();

export function columnsPlace(client: Client, name: string): Promise<string> {
  let place = places.get(name);
  if (place === undefined) {
    place = uploadFile(client, new Blob(["-"]), name);
    places.set(name, place);
    place.catch(() => places.delete(name));
  }
  return place;
}

/* Forget the places: the server was started anew and has removed them. */
export function forgetPlaces(): void {
  places.clear();
}

/* Carry out a request that writes columns with the option `key`; without them where the server
 * is read-only. */
export async function requestColumns<T>(client: Client, document: RequestDocument, key: string, name: string, options: Options): Promise<{ result: T; columns: Columns | null; why: string }> {
  let path: string;
  try {
    path = await columnsPlace(client, name);
  } catch (error) {
    if (!(error instanceof HalleyError)) throw error;
    return { result: await client.request<T>(document, options), columns: null, why: error.message };
  }
  try {
    const result = await client.request<T>({ ...document, [key]: path }, options);
    const response = await readFile(client, path);
    if (!response.ok) throw new HalleyError({ code: "not-found", message: "The timeline is no longer there." });
    return { result, columns: parseColumns(await response.arrayBuffer()), why: "" };
  } catch (error) {
    if (error instanceof HalleyError && /folder it lies in does not exist|is not there|no longer/.test(error.message)) forgetPlaces();
    if (!(error instanceof HalleyError) || !/read-only/.test(error.message)) throw error;
    return { result: await client.request<T>(document, options), columns: null, why: error.message };
  }
}
