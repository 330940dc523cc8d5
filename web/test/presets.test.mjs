// The page Presets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expectAccessible, expectCalm, expectHarmless, HOSTILE, importModule, openPage, request, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const shown = (page) => page.waitForFunction(() => document.querySelectorAll(".side-table tbody tr").length > 2);
const rows = (page) => page.locator("[role=tabpanel]:visible tbody tr");

test("every preset of every kind is listed, with the numbers of its file", async () => {
  const page = await openPage(browser, server, "#/presets");
  await shown(page);
  for (const [tab, kind] of [["Accelerators", "npus"], ["Clusters", "clusters"], ["Links", "links"], ["Fabrics", "fabrics"], ["Models", "models"], ["Software", "stacks"]]) {
    await page.getByRole("tab", { name: tab }).click();
    const all = request({ do: "presets", name: kind }).result.presets;
    await page.waitForFunction((n) => document.querySelectorAll("[role=tabpanel]:not([hidden]) tbody tr").length === n, all.length);
    assert.doesNotMatch(await page.locator("main").textContent(), /NaN|undefined|Infinity/, tab);
  }
  await page.getByRole("tab", { name: "Accelerators" }).click();
  const h100 = rows(page).filter({ hasText: "H100-SXM-80GB" });
  assert.match(await h100.textContent(), /989.*1,979.*85\.47.*3\.35.*87 %.*700.*28,000/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a number opens its source", async () => {
  const page = await openPage(browser, server, "#/presets");
  await shown(page);
  await page.getByRole("button", { name: /^H100-SXM-80GB, Price/ }).first().click();
  await page.waitForFunction(() => /H100-SXM-80GB, price: \$28,000.*quoting Raymond James and SemiAnalysis/.test(document.querySelector(".source").textContent));
  await page.getByRole("button", { name: /^H100-SXM-80GB, Matmul/ }).first().focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /gemm\.efficiency.*aiconfigurator measurements/.test(document.querySelector(".source").textContent));
  await page.reload();
  await page.waitForFunction(() => /gemm\.efficiency/.test(document.querySelector(".source")?.textContent ?? ""));
  await expectCalm(page, assert);
  await page.context().close();
});

test("four at a time side by side; the fifth replaces the first; Back undoes it", async () => {
  const page = await openPage(browser, server, "#/presets");
  await shown(page);
  await page.getByRole("checkbox", { name: "Compare A100-SXM4-40GB" }).check();
  await page.waitForFunction(() => [...document.querySelectorAll(".side-table thead th")].some((h) => h.textContent === "A100-SXM4-40GB"));
  assert.equal(await page.locator(".side-table thead th").count(), 5);
  await page.goBack();
  await page.waitForFunction(() => ![...document.querySelectorAll(".side-table thead th")].some((h) => h.textContent === "A100-SXM4-40GB"));
  for (const name of ["H100-SXM-80GB", "GB200-186GB", "MI300X", "TPU-v5p"]) await page.getByRole("checkbox", { name: `Compare ${name}` }).uncheck();
  await page.getByText("Nothing is chosen.").waitFor();
  await page.context().close();
});

test("filter and sort", async () => {
  const page = await openPage(browser, server, "#/presets");
  await shown(page);
  await page.getByLabel("Filter presets").fill("tpu");
  await page.waitForFunction(() => document.querySelectorAll("[role=tabpanel]:not([hidden]) tbody tr").length === 6);
  await page.getByLabel("Filter presets").fill("abacus");
  await page.getByText(/matches “abacus”/).waitFor();
  await page.getByLabel("Filter presets").fill("");
  await page.getByRole("button", { name: "bf16, TFLOP/s" }).click();
  await page.getByRole("button", { name: "bf16, TFLOP/s" }).click();
  assert.match(await rows(page).first().textContent(), /WSE-3/);
  await page.context().close();
});

test("a file is shown with every value, and a preset opens in Plan", async () => {
  const page = await openPage(browser, server, "#/presets?kind=cluster");
  await shown(page);
  await page.getByRole("button", { name: "dgx-h200", exact: true }).click();
  const values = request({ do: "presets", name: "dgx-h200", values: true }).result.presets.find((p) => p.kind === "cluster").values;
  assert.equal(await page.locator(".preset-file tbody tr").count(), values.length - 1);
  await page.getByRole("button", { name: "Open dgx-h200 in Plan" }).first().click();
  await page.waitForFunction(() => /#\/plan\?.*cluster=dgx-h200/.test(location.hash));
  await page.waitForFunction(() => /answered/.test(document.querySelector(".live")?.textContent ?? ""));
  await page.goBack();
  await shown(page);
  await expectCalm(page, assert);
  await page.context().close();
});

test("sources say how sure they are", async () => {
  const { standing } = await importModule("pages/presets/values.ts");
  assert.equal(standing(undefined), "unsourced");
  assert.equal(standing("ballpark; vendors publish none"), "assumed");
  assert.equal(standing("as H100 SXM; not measured"), "assumed");
  assert.equal(standing("NVIDIA aiconfigurator measurements (Apache-2.0), fit of cost/gemm.c"), "measured");
  assert.equal(standing("github jax-ml/scaling-book tpus.md; docs.cloud.google.com/tpu"), "stated");
  for (const kind of ["npus", "clusters", "links", "fabrics", "models"])
    for (const p of request({ do: "presets", name: kind, values: true }).result.presets)
      for (const v of p.values) assert.ok(["measured", "stated", "assumed", "unsourced"].includes(standing(v.source)), `${p.name} ${v.key}`);
});

test("hostile words in the address and the filter never become markup", async () => {
  const page = await openPage(browser, server, "#/presets");
  await shown(page);
  for (const words of HOSTILE) {
    await page.evaluate((hash) => (location.hash = hash), `#/presets?${new URLSearchParams({ kind: words, pick: `${words},h100-sxm-80gb`, filter: words, file: words, source: `${words} ${words}` })}`);
    await page.waitForTimeout(120);
    await expectHarmless(page, assert, words);
    await page.getByLabel("Filter presets").fill(words.replaceAll("\u0000", ""));
    await page.waitForTimeout(60);
    await expectHarmless(page, assert, `filter ${words}`);
  }
  assert.deepEqual(page.trouble, []);
  await page.context().close();
});

test("no rule of axe is broken and nothing overflows, wide, narrow, light and dark", async () => {
  for (const hash of ["#/presets", "#/presets?kind=model&file=llama3-8b", "#/presets?kind=cluster"]) {
    const page = await openPage(browser, server, hash);
    await shown(page);
    await expectAccessible(page, assert, hash);
    await page.context().close();
  }
});
