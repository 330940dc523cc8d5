// Static reports: the same drawings from a file, without a server, with hostile names in the data.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build, findAxe, halley, hasOverflow, HOSTILE, importModule, request, root, startBrowser } from "./harness.mjs";

const DESIGN = { model: "llama3-70b", cluster: "dgx-h100:64", stack: "nemo-25", plan: { tp: 8, pp: 2, global_batch: 128 } };
const UNFIT = { ...DESIGN, plan: { tp: 4, pp: 4, micro_batch: 2, global_batch: 128 } };
let browser, folder, css, script, data;

before(async () => {
  browser = await startBrowser();
  folder = mkdtempSync(join(tmpdir(), "halley-report-"));
  css = readFileSync(join(build, "web/app.css"), "utf8");
  script = readFileSync(join(build, "web/report.js"), "utf8");
  const ask = (document) => {
    const reply = request(document, folder);
    assert.equal(reply.ok, true, JSON.stringify(reply.error));
    return reply.result;
  };
  for (const [name, tp] of [["a", 1], ["b", 2]]) ask({ do: "estimate", model: "gpt-1.7b", cluster: "dgx-a100:4", plan: { tp, global_batch: 8 }, trace: name });
  const { START_STUDY } = await importModule("pages/explore/study.ts");
  data = {
    estimate: ask({ do: "estimate", ...DESIGN, explain: true }),
    unfit: ask({ do: "estimate", ...UNFIT }),
    plan: ask({ do: "plan", ...DESIGN, plan: { global_batch: 128 } }),
    explore: { ...ask({ do: "explore", study: START_STUDY }), study_text: START_STUDY, prices: [{ name: "dgx-h100", words: "node 60,000 USD" }] },
    sim: ask({ do: "sim", ...DESIGN }),
    traces: ask({ do: "sim", trace: "a", cluster: "dgx-a100:4" }),
    compare: ask({ do: "trace.compare", real: "a", synth: "b" }),
  };
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const KIND = { unfit: "estimate", traces: "sim" };

async function openReport(name, result, width = 1400) {
  const file = join(folder, `${name}.html`);
  const json = JSON.stringify(result).replaceAll("<", "\\u003c");
  writeFileSync(file, `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>halley report</title><style>${css}</style></head><body><main id="r"></main><script>${script}</script><script type="application/json" id="d">${json}</script><script>halleyReport("${KIND[name] ?? name}", JSON.parse(document.getElementById("d").textContent), document.getElementById("r"))</script></body></html>`);
  const context = await browser.newContext({ viewport: { width, height: 1000 }, offline: true, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.trouble = [];
  page.on("pageerror", (error) => page.trouble.push(error.message));
  page.on("request", (r) => r.url().startsWith("file:") || r.url().startsWith("data:") || page.trouble.push(r.url()));
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => document.querySelector("#r h1") !== null);
  await page.waitForTimeout(200);
  return page;
}

for (const name of ["estimate", "unfit", "plan", "explore", "sim", "traces", "compare"]) {
  test(`report of ${name}: drawn offline, wide and narrow, without a breach of axe`, async () => {
    const page = await openReport(name, data[name]);
    assert.deepEqual(page.trouble, []);
    assert.ok((await page.locator("#r").textContent()).length > 200);
    if (name !== "traces") assert.ok((await page.locator("svg.chart").count()) > 0, "no figure");
    assert.deepEqual(await findAxe(page), []);
    await page.setViewportSize({ width: 420, height: 900 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForTimeout(150);
    assert.equal(await hasOverflow(page), 0);
    assert.ok(!/NaN|undefined|Infinity/.test(await page.locator("#r").innerText()), "a number is missing");
    if (process.env.HALLEY_PICTURES) {
      await page.setViewportSize({ width: 1400, height: 1000 });
      await page.emulateMedia({ colorScheme: "light" });
      await page.waitForTimeout(200);
      await page.screenshot({ path: join(process.env.HALLEY_PICTURES, `report-${name}.png`), fullPage: true });
    }
    await page.context().close();
  });
}

test("the pages that the program writes are drawn offline", async () => {
  const words = { estimate: ["--tp", "8", "--pp", "2"], plan: [], sim: ["--tp", "8", "--pp", "2"] };
  for (const [command, more] of Object.entries(words)) {
    const file = join(folder, `${command}-cli.html`);
    const done = spawnSync(halley, [command, "-m", "llama3-70b", "-c", "dgx-h100:64", "--global-batch", "128", ...more, "--report", file]);
    assert.equal(done.status, 0, done.stderr.toString());
    await expectPage(file, /llama3-70b on 64/, async (page) => {
      if (command !== "sim") return;
      assert.match(await page.locator(".timeline-said").textContent(), /boxes/);
      const drawn = await page.waitForFunction(() => {
        const canvas = document.querySelector("canvas.timeline");
        const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(Array.from({ length: bytes.length / 4 }, (_, i) => `${bytes[4 * i]},${bytes[4 * i + 1]},${bytes[4 * i + 2]}`)).size > 8;
      });
      assert.ok(drawn);
    });
  }
  const file = join(folder, "explore-cli.html");
  const done = spawnSync(halley, ["explore", join(root, "studies/roofline.yaml"), "--report", file]);
  assert.equal(done.status, 0, done.stderr.toString());
  await expectPage(file, /./, async (page) => {
    // one roof per bandwidth, one point per operator under each
    const study = JSON.parse(await page.locator("#data").textContent());
    const roofs = study.slices[0].roofline;
    assert.equal(await page.locator(".roof").count(), roofs.length);
    assert.equal(await page.locator(".roof-dot").count(), roofs.reduce((n, r) => n + r.operators.length, 0));
    assert.equal(await page.locator("details.design").count(), study.best.length);
  });
});

test("the page of trace compare has a curve per quantity, and both sides in it", async () => {
  const file = join(folder, "compare-cli.html");
  const done = spawnSync(halley, ["trace", "compare", "a", "b", "--train", "a", "--holdout", "b", "--html", file], { cwd: folder });
  assert.equal(done.status, 0, done.stderr.toString());
  await expectPage(file, /b against a/, async (page) => {
    const result = JSON.parse(await page.locator("#data").textContent());
    const sides = Object.values(result.quantiles).reduce((n, q) => n + ("real" in q) + ("synth" in q), 0);
    assert.ok(sides > 6);
    assert.equal(await page.locator(".curve").count(), sides);
    assert.equal(await page.locator(".auc-dot").count(), Object.keys(result.membership).length);
  });
});

async function expectPage(file, title, more = async () => undefined) {
  const context = await browser.newContext({ viewport: { width: 420, height: 900 }, offline: true });
  const page = await context.newPage();
  const trouble = [];
  page.on("pageerror", (error) => trouble.push(error.message));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (r) => /^(file|data):/.test(r.url()) || trouble.push(r.url()));
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => document.querySelector("h1") !== null && document.querySelector("svg.chart") !== null);
  assert.match(await page.locator("h1").first().textContent(), title);
  await more(page);
  assert.equal(await hasOverflow(page), 0);
  assert.deepEqual(trouble, []);
  await context.close();
}

// Every text of a result, replaced.
function poison(value, words) {
  if (typeof value === "string") return words;
  if (Array.isArray(value)) return value.map((v) => poison(v, words));
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === "fit" ? v : poison(v, words)]));
  return value;
}

test("hostile texts in every place of every result stay texts", async () => {
  for (const name of Object.keys(data)) {
    const page = await openReport(name, data[name]);
    for (const words of HOSTILE.slice(0, 4)) {
      await page.evaluate(([kind, result]) => window.halleyReport(kind, result, document.getElementById("r")), [KIND[name] ?? name, poison(data[name], words)]);
      await page.waitForTimeout(50);
      assert.equal(await page.evaluate(() => window.pwned), undefined, `${name} ${words}`);
      const strange = await page.evaluate(() => document.querySelectorAll("#r img, #r script, #r iframe, #r [onload], #r [onerror], #r a[href^='javascript:']").length);
      assert.equal(strange, 0, `${name} ${words}`);
    }
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  }
});
