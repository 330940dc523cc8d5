/* Elements of HTML and SVG. Text becomes a text node, never markup, and style goes through the
 * CSSOM: names from files cannot inject anything, and the pages work under a policy that
 * forbids inline script and style. */

export type Child = Node | string | number | null | undefined | false | Child[];

export interface Attributes {
  [name: string]: unknown;
  /* listeners by event */
  on?: { [event: string]: (event: never) => void };
  /* CSS properties, custom ones included */
  css?: { [property: string]: string | number };
  /* text of the tooltip; see ui/tip.ts */
  tip?: string | null | undefined;
}

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(
  "svg g rect path line circle text tspan pattern defs polyline polygon title clipPath marker".split(" "),
);

/* An element with its attributes and children; null, undefined and false attributes are left out
 * (but aria-* keeps false). A tag "svg:a" is a link inside a figure. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Attributes, ...children: Child[]): HTMLElementTagNameMap[K];
export function el(tag: string, attributes?: Attributes, ...children: Child[]): HTMLElement;
export function el(tag: string, attributes: Attributes = {}, ...children: Child[]): Element {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  appendChildren(element, children);
  return element;
}

/* The same for the elements of SVG. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const name = tag === "svg:a" ? "a" : tag;
  if (tag !== "svg:a" && !SVG_TAGS.has(tag)) throw new Error(`no SVG element ${tag}`);
  const element = document.createElementNS(SVG, name) as SVGElement;
  setAttributes(element, attributes);
  appendChildren(element, children);
  return element;
}

function setAttributes(element: HTMLElement | SVGElement, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value as object)) element.addEventListener(event, listener);
    } else if (name === "css") {
      for (const [property, text] of Object.entries(value as object)) element.style.setProperty(property, String(text));
    } else if (name === "tip") {
      element.dataset["tip"] = String(value);
    } else if (name.startsWith("aria-")) {
      element.setAttribute(name, String(value));
    } else if (value !== false) {
      if (name === "style" || name.startsWith("on")) throw new Error(`attribute ${name} is inline code`);
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

export function appendChildren(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) appendChildren(element, child);
    else element.append(typeof child === "number" ? String(child) : child);
  }
}

/* Replace what `element` holds. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  appendChildren(element, children);
}

let lastId = 0;
/* A name that no other element has, for labels and descriptions. */
export function uniqueId(prefix: string): string {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
