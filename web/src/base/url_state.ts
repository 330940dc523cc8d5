/* The address holds the state of a page: #/plan?tp=8&pp=2. Changes of one gesture (a drag, typing
 * into one field) are one entry of the history, so that Back undoes a decision. */

export interface Place {
  page: string;
  query: URLSearchParams;
}

export function readPlace(): Place {
  const hash = location.hash.replace(/^#\/?/, "");
  const [page = "", query = ""] = splitOnce(hash, "?");
  return { page: decodeURIComponent(page), query: new URLSearchParams(query) };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

export function placeLink(page: string, query?: URLSearchParams): string {
  const text = query?.toString() ?? "";
  return `#/${page}${text === "" ? "" : `?${text}`}`;
}

/* Browsers refuse more than about 200 changes of the address in 30 s: write at most 4 a second. */
const PAUSE_MS = 250;

let lastGesture: string | null = null;
let lastWrite = 0;
let later: number | undefined;
let wanted: string | null = null;

function writeWanted(): void {
  if (wanted === null) return;
  history.replaceState(null, "", wanted);
  wanted = null;
  lastWrite = performance.now();
}

/* Let the address say `query` for the page. A gesture that goes on replaces its own entry. */
export function writePlace(page: string, query: URLSearchParams, gesture: string): void {
  const link = placeLink(page, query);
  if (gesture !== lastGesture) {
    flushPlace();
    lastGesture = gesture;
    if (link === location.hash) return;
    history.pushState(null, "", link);
    lastWrite = performance.now();
    return;
  }
  wanted = link;
  clearTimeout(later);
  later = window.setTimeout(writeWanted, Math.max(0, PAUSE_MS - (performance.now() - lastWrite)));
}

/* Say what the page assumed on opening, without an entry of its own. */
export function settlePlace(page: string, query: URLSearchParams): void {
  flushPlace();
  history.replaceState(null, "", placeLink(page, query));
}

export function flushPlace(): void {
  clearTimeout(later);
  writeWanted();
}

/* The next change starts a new entry (the user let go of the slider, left the field). */
export function endGesture(): void {
  flushPlace();
  lastGesture = null;
}
