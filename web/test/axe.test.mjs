// Accessibility rules on every page, in its states, light and dark, wide and narrow.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expectAccessible, findAxe, openPage, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const UNFIT = "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&stack=nemo-25&tp=4&pp=4&micro_batch=2&global_batch=128";
const STATES = [
  ["plan", "#/plan", () => document.querySelectorAll(".card td .btn").length >= 5],
  ["plan, does not fit", UNFIT, () => document.querySelector(".hero .banner") !== null],
  ["plan, impossible", "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&tp=8&pp=3&global_batch=128", () => document.querySelector(".err button") !== null],
  ["plan, a TPU with experts", "#/plan?model=mixtral-8x7b&cluster=tpu-v5p-pod&npus=256&tp=1&ep=8&global_batch=256", () => document.querySelector(".live")?.textContent.includes("answered")],
  ["explore", "#/explore", () => document.querySelectorAll("tbody tr").length > 5],
  ["explore as YAML", "#/explore?edit=yaml", () => document.querySelectorAll("tbody tr").length > 5],
  ["accuracy", "#/accuracy", () => document.querySelector(".verdict em") !== null],
];

for (const [name, hash, ready] of STATES) {
  test(`${name} breaks no rule of axe`, async () => {
    const page = await openPage(browser, server, hash);
    await page.waitForFunction(ready);
    await expectAccessible(page, assert, name);
    await page.context().close();
  });
}

test("the form that asks for the server breaks no rule of axe", async () => {
  const page = await openPage(browser, server, "", { bare: true });
  await page.getByLabel("Address of halley serve").waitFor();
  assert.deepEqual(await findAxe(page), []);
  await page.context().close();
});
