// The page How good is it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { dropFile, expectCalm, hasOverflow, openPage, request, root, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const scored = (page) => page.waitForFunction(() => document.querySelector(".verdict em") !== null);

test("the sentence says what the rows of score say", async () => {
  const rows = request({ do: "score", rows: true }).result.predictions.filter((r) => r.measured_s > 0 && r.predicted_s > 0);
  const errors = rows.map((r) => Math.abs(r.predicted_s / r.measured_s - 1)).sort((a, b) => a - b);
  const half = errors[Math.ceil(errors.length * 0.5) - 1];
  const nine = errors[Math.ceil(errors.length * 0.9) - 1];
  const page = await openPage(browser, server, "#/accuracy");
  await scored(page);
  const shown = await page.locator(".verdict em").allTextContents();
  assert.deepEqual(shown, [half, nine].map((e) => `${(e * 100).toFixed(1)} %`));
  assert.equal(await page.locator(".runs g").count(), rows.length);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a click on a set shows its runs alone; Back and the keyboard undo it", async () => {
  const page = await openPage(browser, server, "#/accuracy");
  await scored(page);
  await page.getByRole("button", { name: /^mbridge-moe:/ }).click();
  await page.waitForFunction(() => /set=mbridge-moe/.test(location.hash));
  assert.match(await page.locator(".chip").first().textContent(), /mbridge-moe/);
  const n = await page.locator(".runs g").count();
  assert.ok(n > 10 && n < 200);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll(".runs g").length > 1000);
  await page.getByRole("button", { name: /^TPU-v5p:/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /device=TPU-v5p/.test(location.hash));
  await page.getByRole("radio", { name: "Error" }).click();
  await page.reload();
  await scored(page);
  assert.match(page.url(), /view=error/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("runs of one's own are scored", async () => {
  const runs = readFileSync(join(root, "data/runs/bloom.json"), "utf8");
  const page = await openPage(browser, server, "#/accuracy");
  await scored(page);
  await dropFile(page, "not-runs.json", '{"a": 1}');
  await page.waitForFunction(() => /could not be scored|not-runs/.test(document.querySelector(".title").textContent));
  await dropFile(page, "runs.json", runs);
  await page.getByRole("heading", { name: /runs of runs\.json/ }).waitFor();
  await page.context().close();
});

test("on a narrow screen nothing overflows", async () => {
  const page = await openPage(browser, server, "#/accuracy", { width: 420, height: 900 });
  await scored(page);
  assert.equal(await hasOverflow(page), 0);
  await page.context().close();
});
