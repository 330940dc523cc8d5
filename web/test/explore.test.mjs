// The Explore page, as a person uses it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expectCalm, hasOverflow, openPage, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const ran = (page) => page.waitForFunction(() => document.querySelectorAll(".explore tbody tr").length > 1 && document.querySelector(".col-r.faded") === null);
const verdict = (page) => page.locator(".lede").first().textContent();

// Half a million designs: seconds, so that there is time to cancel.
const LONG = `name: long
model: gpt3-175b
cluster: "dgx-a100:1024"
plan: {global-batch: 1536, sequence-parallel: yes}
vary:
  plan.tp: [1, 2, 4, 8]
  plan.pp: [1, 2, 4, 8, 16, 32]
  plan.virtual: [1, 2, 3]
  plan.micro-batch: [1, 2, 4, 8]
  plan.recompute: [none, selective, full]
  plan.zero: [0, 1, 2, 3]
  cluster.network.bandwidth: {from: 5 GB/s, to: 200 GB/s, points: 50}
  cluster.npu.memory.hbm.bandwidth: {from: 1 TB/s, to: 8 TB/s, points: 30}
objective: {minimize: step-time}
`;

test("a quick study runs by itself: sentence, named points, comparison", async () => {
  const page = await openPage(browser, server, "#/explore");
  await ran(page);
  assert.match(await verdict(page), /is the fastest: .* days .* is the cheapest/);
  assert.equal(await page.locator(".explore tbody tr").count(), 11);
  for (const name of ["H100", "B200", "TPU v6e", "MI355X"]) assert.ok(await page.locator("svg.chart text", { hasText: name }).first().isVisible(), name);
  await expectCalm(page, assert);
  await page.context().close();
});

test("limits refuse systems at once and say by how much", async () => {
  const page = await openPage(browser, server, "#/explore");
  await ran(page);
  await page.getByLabel("Capital, at most, M$, value").fill("60");
  await page.locator("tr.refused").first().waitFor();
  assert.match(await page.locator("tr.refused .bad").first().textContent(), /over by \$/);
  assert.match(await verdict(page), /refused/);
  await page.keyboard.press("Tab");
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("tr.refused").length === 0);
  await page.goForward();
  await page.locator("tr.refused").first().waitFor();
  await page.reload();
  await page.locator("tr.refused").first().waitFor();
  await expectCalm(page, assert);
  await page.context().close();
});

test("a point opens its plan, and Back comes back", async () => {
  const page = await openPage(browser, server, "#/explore");
  await ran(page);
  await page.locator("svg a.mark").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /#\/plan/.test(location.hash) && /answered/.test(document.querySelector(".live")?.textContent ?? ""));
  assert.match(await page.locator("h1").textContent(), /llama3-70b on 2,048/);
  await page.goBack();
  await ran(page);
  await expectCalm(page, assert);
  await page.context().close();
});

test("form and YAML are the same study", async () => {
  const page = await openPage(browser, server, "#/explore");
  await ran(page);
  await page.getByRole("button", { name: "Leave out TPU v6e" }).click();
  await page.getByLabel("Accelerators", { exact: true }).fill("1024");
  await page.getByRole("tab", { name: "YAML" }).click();
  const text = await page.getByLabel("Study as YAML").inputValue();
  assert.ok(text.includes("dgx-h100:1024") && !text.includes("tpu-v6e"));
  await page.getByLabel("Study as YAML").fill(text.replace("llama3-70b", "llama3-8b"));
  await page.getByRole("tab", { name: "Form" }).click();
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "llama3-8b");
  await page.waitForFunction(() => document.querySelectorAll(".explore tbody tr").length === 10);
  await expectCalm(page, assert);
  await page.context().close();
});

test("an error in YAML names its line and the key that was meant; completion helps", async () => {
  const page = await openPage(browser, server, "#/explore?edit=yaml");
  await ran(page);
  const area = page.getByLabel("Study as YAML");
  const text = await area.inputValue();
  await area.fill(text.replace("\nobjective:", "\nobjectiv:"));
  const error = page.locator(".editor .err");
  await page.waitForFunction(() => /did you mean/.test(document.querySelector(".editor .err").textContent));
  assert.match(await error.textContent(), /^Line 2\d: unknown key "objectiv"; did you mean "objective"\?/);
  assert.ok(await page.getByRole("button", { name: /^Run/ }).isDisabled());
  assert.equal(await page.locator(".gutter .bad").count(), 1);
  await area.fill("name: x\nmodel: llama3-8b\ncluster: \"dgx-h100:8\"\nplan: {global-batch: 8}\nvary:\n  plan.t");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Control+Space");
  await page.getByRole("option", { name: /plan\.tp/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type(" [1, 2, 4]\n");
  await page.waitForFunction(() => /Run 3 designs/.test(document.body.textContent));
  await expectCalm(page, assert);
  await page.context().close();
});

test("a long study reports progress, is cancelled, kept, and resumed", async () => {
  const page = await openPage(browser, server, `#/explore?${new URLSearchParams({ study: LONG })}`);
  const run = page.getByRole("button", { name: /^(Run|Resume)/ });
  await page.waitForFunction(() => /Run [\d,]+ designs/.test(document.body.textContent));
  await run.click();
  await page.locator(".progress:not([hidden])").waitFor();
  await page.waitForFunction(() => /per second/.test(document.body.textContent));
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/^Cancelled/).waitFor();
  await page.waitForFunction(() => /They are kept|Nothing was stored/.test(document.body.textContent));
  const kept = Number(/Cancelled after ([\d,]+) of/.exec(await page.locator(".explore").textContent())?.[1].replaceAll(",", "") ?? 0);
  console.log(`  cancelled after ${kept} designs`);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.waitForFunction(() => /per second/.test(document.body.textContent));
  await page.getByRole("link", { name: "Plan" }).click();
  await page.waitForFunction(() => /answered/.test(document.querySelector(".live")?.textContent ?? ""));
  await expectCalm(page, assert);
  await page.context().close();
});

test("a report of the study is saved", async () => {
  const page = await openPage(browser, server, "#/explore");
  await ran(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as a report" }).click()]);
  assert.equal(download.suggestedFilename(), "buy-70b.html");
  await page.context().close();
});

test("on a narrow screen the answer comes first and nothing overflows", async () => {
  const page = await openPage(browser, server, "#/explore", { width: 420, height: 900 });
  await ran(page);
  assert.equal(await hasOverflow(page), 0);
  const top = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().top);
  assert.ok((await top("svg.chart")) < (await top(".controls")));
  await page.context().close();
});
