// What the tests share: a server of its own for each file, a browser, pages that record every
// error, every violation of the policy and every request that leaves the server.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, "../..");
// Bars of speed depend on the machine: they are judged with HALLEY_BARS=1 (bench/web), printed else.
export function judge(value, bar, what) {
  if (process.env.HALLEY_BARS === "1" && !(value < bar)) throw new Error(`${what}: ${value.toFixed(1)} ms, the bar is ${bar} ms`);
}
export const build = resolve(process.env.HALLEY_BUILD ?? join(root, "build"));
export const halley = join(build, "halley");

export async function startServer(more = []) {
  const folder = mkdtempSync(join(tmpdir(), "halley-web-"));
  const child = spawn(halley, ["serve", "--folder", folder, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((done, fail) => {
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
      if (text.includes("\n")) done(text.split("\n")[0].trim());
    });
    child.on("exit", (code) => fail(new Error(`halley serve ended with ${code}`)));
  });
  const url = new URL(address);
  return {
    address,
    origin: url.origin,
    port: Number(url.port),
    token: url.searchParams.get("token"),
    folder,
    child,
    async stop() {
      const ended = new Promise((done) => child.on("exit", done));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function startBrowser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

// A page with `trouble`: everything that must not happen. Expected failures can be let through.
export async function openPage(browser, server, hash = "", options = {}) {
  const context = options.context ?? (await browser.newContext({ viewport: { width: options.width ?? 1400, height: options.height ?? 1000 }, colorScheme: options.theme ?? "light", reducedMotion: "reduce", hasTouch: false }));
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.trouble = [];
  page.on("pageerror", (error) => page.trouble.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.trouble.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== server.origin && !["data:", "blob:", "about:"].includes(url.protocol)) page.trouble.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
  });
  await page.goto((options.bare ? `${server.origin}/` : server.address) + hash);
  return page;
}

// Nothing went wrong on the page so far.
export async function expectCalm(page, assert) {
  const violations = await page.evaluate(() => window.violations);
  assert.deepEqual([...page.trouble, ...violations], []);
  const words = await page.evaluate(() => document.body.innerText);
  assert.doesNotMatch(words, /\[object Object\]/, "an object is shown as text");
}

export async function hasOverflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

// Drop a file as a person would, from its bytes.
export async function dropFile(page, name, text) {
  const transfer = await page.evaluateHandle(([n, t]) => {
    const data = new DataTransfer();
    data.items.add(new File([t], n));
    return data;
  }, [name, text]);
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("main", type, { dataTransfer: transfer });
}

// Modules of the pages without a browser, bundled by esbuild.
export async function importModule(path) {
  const out = join(mkdtempSync(join(tmpdir(), "halley-web-unit-")), "module.mjs");
  const done = spawnSync("esbuild", [join(root, "web/src", path), "--bundle", "--format=esm", `--outfile=${out}`, "--log-level=warning"], { stdio: "inherit" });
  if (done.status !== 0) throw new Error(`esbuild failed on ${path}`);
  try {
    return await import(out);
  } finally {
    rmSync(dirname(out), { recursive: true, force: true });
  }
}

export function request(document, cwd = root) {
  const done = spawnSync(halley, ["request"], { input: JSON.stringify(document), cwd, maxBuffer: 1 << 28 });
  return JSON.parse(done.stdout.toString());
}

export const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Violations of accessibility rules, one line each; of all rules, or of those about colour alone.
export async function findAxe(page, colours_only = false) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const found = await page.evaluate((some) => window.axe.run(document, { resultTypes: ["violations"], ...(some ? { runOnly: ["color-contrast", "link-in-text-block"] } : {}) }), colours_only);
  return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(" | ")}`);
}

// The layout of a page has settled: two frames, and what they started.
export async function settle(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))));
}

// No rule is broken and nothing overflows, wide and narrow, light and dark. Colours are judged in
// all four; what no theme can change, once per width.
export async function expectAccessible(page, assert, what) {
  for (const [width, theme, colours_only] of [[1400, "light", false], [1400, "dark", true], [420, "dark", true], [420, "light", false]]) {
    await page.setViewportSize({ width, height: 1000 });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await settle(page);
    assert.deepEqual(await findAxe(page, colours_only), [], `${what} ${width} ${theme}`);
    assert.equal(await hasOverflow(page), 0, `${what} ${width} ${theme} overflows`);
  }
}

export const HOSTILE = [
  `<img src=x onerror="window.pwned=1">`,
  `"><script>window.pwned=1</script>`,
  `'-alert(1)-'`,
  `</textarea><svg onload=window.pwned=1>`,
  `javascript:window.pwned=1`,
  `\u202Eevil\u0000\u001b[31m`,
];

// No text became markup.
export async function expectHarmless(page, assert, words) {
  const [ran, strange] = await page.evaluate(() => [window.pwned, [...document.querySelectorAll("img, iframe, object, embed, body script, [onload], [onerror], a[href^='javascript:']")].map((e) => e.outerHTML.slice(0, 200))]);
  assert.equal(ran ?? undefined, undefined, `script ran: ${words}`);
  assert.deepEqual(strange, [], `markup from ${words}`);
}
