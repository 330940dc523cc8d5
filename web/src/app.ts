/* The shell of the pages: token, navigation, theme, the bar that says when the server is gone. */

import { Client, type ServerGone, keepToken, takeToken } from "./api/client.js";
import { el, fill, svg } from "./base/dom.js";
import { chooseTheme, currentTheme, startTheme } from "./base/theme.js";
import { dropPlace, endGesture, placeLink, readPlace, settlePlace, writePlace } from "./base/url_state.js";
import type { Page, PageView } from "./pages/page.js";
import { PAGES } from "./pages/pages.js";
import { startTips } from "./ui/tip.js";

const RETRY_MS = 2000;

function drawBrand(): HTMLElement {
  const comet = svg(
    "svg",
    { width: 22, height: 22, viewBox: "0 0 22 22", "aria-hidden": "true" },
    svg("circle", { cx: 15.5, cy: 6.5, r: 4.5, css: { fill: "var(--accent)" } }),
    svg("path", { d: "M1 21 L12 10 M3 13 L10 8 M9 19 L14 12", css: { stroke: "var(--accent)", "stroke-width": 2, "stroke-linecap": "round", fill: "none" } }),
  );
  return el("a", { class: "brand", href: placeLink(PAGES[0]!.name) }, comet, "halley");
}

function themeButton(): HTMLElement {
  const button = el("button", { class: "btn small theme", type: "button" });
  const paint = (): void => {
    const dark = currentTheme() === "dark";
    button.textContent = dark ? "☾ Dark" : "☀ Light";
    button.setAttribute("aria-label", `Theme: ${dark ? "dark" : "light"}. Switch to ${dark ? "light" : "dark"}`);
  };
  button.addEventListener("click", () => {
    chooseTheme(currentTheme() === "dark" ? "light" : "dark");
    paint();
  });
  startTheme(paint);
  return button;
}

class Shell {
  private readonly links = new Map<string, HTMLElement>();
  private readonly main = el("main", { id: "main", tabindex: -1 });
  private readonly gone = el("div", { class: "gone", role: "status", hidden: true });
  private view: PageView | null = null;
  private page: Page | null = null;
  private leave = new AbortController();
  private retry: number | undefined;

  constructor(private readonly client: Client) {
    const items = PAGES.map((page) => {
      const link = el("a", { href: placeLink(page.name) }, page.title);
      this.links.set(page.name, link);
      return el("li", {}, link);
    });
    const bar = el("header", { class: "bar" }, el("div", {}, drawBrand(), el("nav", { "aria-label": "Pages" }, el("ul", {}, items)), themeButton()), this.gone);
    const skip = el("button", { class: "skip", type: "button", on: { click: () => this.main.focus() } }, "Skip to content");
    const footer = el("footer", {}, "Every number on these pages is an estimate; its expected error is shown next to it.");
    document.body.append(skip, bar, this.main, footer);
    client.onState((trouble) => this.showTrouble(trouble));
    addEventListener("popstate", () => this.follow());
    addEventListener("pagehide", () => this.leave.abort());
    addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
    this.follow();
    void client.request<{ version: string }>({ do: "version" }).then(
      (v) => fill(footer, `halley ${v.version} · every number on these pages is an estimate; its expected error is shown next to it`),
      () => undefined,
    );
  }

  /* Show what the address says. */
  private follow(): void {
    dropPlace();
    const place = readPlace();
    const page = PAGES.find((p) => p.name === place.page) ?? PAGES[0]!;
    if (page !== this.page) this.open(page);
    this.view?.navigate(place.query);
  }

  private open(page: Page): void {
    this.leave.abort();
    this.leave = new AbortController();
    const first = this.page === null;
    this.page = page;
    for (const [name, link] of this.links) {
      if (name === page.name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.links.get(page.name)?.scrollIntoView({ block: "nearest", inline: "center" });
    document.title = `halley · ${page.title}`;
    this.view = page.open({
      client: this.client,
      signal: this.leave.signal,
      write: (query, gesture) => writePlace(page.name, query, gesture),
      settle: (query) => settlePlace(page.name, query),
      go: (name, query) => {
        endGesture();
        history.pushState(null, "", placeLink(name, query));
        scrollTo(0, 0);
        this.follow();
      },
    });
    fill(this.main, this.view.element);
    if (!first) this.main.focus({ preventScroll: true });
  }

  private showTrouble(trouble: ServerGone | null): void {
    clearTimeout(this.retry);
    this.gone.hidden = trouble === null;
    if (trouble === null) {
      this.view?.navigate(readPlace().query);
      return;
    }
    if (trouble.why === "token") {
      askToken(this.client, () => this.view?.navigate(readPlace().query), trouble.message);
      return;
    }
    const again = (): void => void this.client.request({ do: "version" }).catch(() => undefined);
    fill(this.gone, `${trouble.message} Start it again with halley serve; what you entered stays.`, el("button", { class: "btn small", type: "button", on: { click: again } }, "Retry"));
    this.retry = window.setTimeout(again, RETRY_MS);
  }
}

/* Ask for the address that halley serve printed, and go on with its token. */
function askToken(client: Client | null, done: (token: string) => void, why = ""): void {
  document.querySelector(".ask-place")?.remove();
  const input = el("input", { type: "text", id: "address", autocomplete: "off", spellcheck: "false", placeholder: "http://127.0.0.1:8080/?token=…", "aria-describedby": "address-error" });
  const error = el("p", { class: "err", id: "address-error", role: "alert" }, why);
  const form = el(
    "form",
    { class: "card ask" },
    el("h1", {}, "Which server?"),
    el("p", { class: "lede" }, "halley serve prints an address with a token as its first line. Paste it here, or open it in this tab."),
    el("div", { class: "field gap" }, el("span", { class: "label" }, el("label", { for: "address" }, "Address of halley serve")), input, error),
    el("button", { class: "btn primary", type: "submit" }, "Open"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const token = readToken(input.value.trim());
    if (token === null) {
      error.textContent = "The address contains no token; it should end in ?token= and the token.";
      return;
    }
    keepToken(token);
    client?.setToken(token);
    document.querySelector(".ask-place")?.remove();
    done(token);
  });
  const place = document.querySelector("main") === null ? el("main", { class: "ask-place" }, form) : el("div", { class: "ask-place", role: "dialog", "aria-label": "Which server?" }, form);
  document.body.prepend(place);
  input.focus();
}

/* The token of an address, or the token itself. */
function readToken(words: string): string | null {
  const given = /[?&]token=([^&#\s]+)/.exec(words)?.[1];
  if (given !== undefined) return decodeURIComponent(given);
  return /^[0-9a-f]{16,}$/i.test(words) ? words : null;
}

function start(): void {
  startTips();
  const token = takeToken();
  if (token !== null) {
    new Shell(new Client(token));
    return;
  }
  startTheme(() => undefined);
  askToken(null, (given) => new Shell(new Client(given)));
}

start();
