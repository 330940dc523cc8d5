// Names from addresses, files and traces never become markup, in any field of any page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dropFile, expectHarmless, HOSTILE, openPage, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const PAGES = ["plan", "explore", "simulate", "traces", "topologies", "accuracy", "presets"];
const KEYS = ["model", "cluster", "npus", "stack", "tokens", "rent", "headroom", "why", "tp", "recompute", "dtype", "stage_layers", "study", "days", "set", "device", "view", "edit", "trace", "name", "groups", "on", "net", "find", "rows", "from", "to", "at", "a", "a_name", "b", "b_name", "rail", "way", "link", "kind", "pick", "filter", "file", "source"];

test("hostile values of every key of the address", async () => {
  const page = await openPage(browser, server);
  for (const name of PAGES) {
    const all = HOSTILE.map((words) => new URLSearchParams(KEYS.map((key) => [key, words])));
    const single = KEYS.map((key) => new URLSearchParams({ [key]: HOSTILE[0] }));
    for (const [queries, wait_ms] of [[all, 120], [single, 25]]) {
      const strange = await page.evaluate(async ([addresses, ms]) => {
        const found = [];
        for (const hash of addresses) {
          location.hash = hash;
          await new Promise((done) => setTimeout(done, ms));
          const markup = document.querySelector("img, iframe, object, embed, body script, [onload], [onerror], a[href^='javascript:']");
          if (window.pwned !== undefined || markup !== null) found.push([hash, markup?.outerHTML.slice(0, 200)]);
        }
        return found;
      }, [queries.map((query) => `#/${name}?${query}`), wait_ms]);
      assert.deepEqual(strange, [], name);
    }
    await expectHarmless(page, assert, name);
  }
  await page.evaluate((hash) => (location.hash = hash), `#/${encodeURIComponent(HOSTILE[0])}`);
  await expectHarmless(page, assert, "name of a page");
  assert.deepEqual(page.trouble, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  await page.context().close();
});

test("hostile names of systems, studies and values in Explore", async () => {
  const page = await openPage(browser, server);
  for (const words of HOSTILE) {
    const name = JSON.stringify(words.replaceAll("\u0000", ""));
    const study = `name: ${name}\ndescription: ${name}\nmodel: llama3-8b\ncluster: "dgx-h100:8"\nplan: {global-batch: 8}\nvary:\n  system:\n    - {name: ${name}, cluster: "dgx-h100:8"}\n    - {name: ${JSON.stringify(words.replaceAll("\u0000", "") + "2")}, cluster: "dgx-a100:8"}\n  plan.tp: [1, 2, 4]\nobjective: [{minimize: step-time}, {minimize: cost-per-token}]\n`;
    await page.evaluate((hash) => (location.hash = hash), `#/explore?${new URLSearchParams({ study })}`);
    await page.waitForFunction(() => document.querySelectorAll(".explore tbody tr").length >= 2 || document.querySelector(".err")?.textContent !== "", null, { timeout: 10_000 });
    await page.waitForTimeout(200);
    await expectHarmless(page, assert, `study ${words}`);
  }
  assert.deepEqual(page.trouble, []);
  await page.context().close();
});

test("hostile names and contents of dropped files", async () => {
  const page = await openPage(browser, server);
  await page.waitForFunction(() => /answered/.test(document.querySelector(".live")?.textContent ?? ""));
  const config = (words) => JSON.stringify({ architectures: ["LlamaForCausalLM"], model_type: "llama", [words]: words, torch_dtype: words, hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 22, num_attention_heads: 32, vocab_size: 32000, max_position_embeddings: 2048 });
  for (const words of HOSTILE) {
    await dropFile(page, `${words.replaceAll("/", "_")}.json`, config(words));
    await page.waitForTimeout(250);
    await expectHarmless(page, assert, `file ${words}`);
    await dropFile(page, "broken.json", words);
    await page.waitForTimeout(150);
    await expectHarmless(page, assert, `content ${words}`);
  }
  await page.evaluate(() => (location.hash = "#/accuracy"));
  await page.waitForFunction(() => document.querySelector(".verdict em") !== null);
  for (const words of HOSTILE) {
    await dropFile(page, "runs.json", JSON.stringify([{ id: words, set: words, npu: words, framework: words, model: { name: words } }]));
    await page.waitForTimeout(200);
    await expectHarmless(page, assert, `run ${words}`);
  }
  await page.context().close();
});

test("hostile words typed into every text field", async () => {
  const page = await openPage(browser, server);
  for (const name of PAGES) {
    await page.evaluate((hash) => (location.hash = hash), `#/${name}`);
    await page.waitForTimeout(400);
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
    const fields = page.locator("main input[type=text]:visible, main textarea:visible");
    const n = await fields.count();
    for (let i = 0; i < n; i++) {
      await fields.nth(i).fill(HOSTILE[i % HOSTILE.length].replaceAll("\u0000", ""), { timeout: 3000 }).catch(() => undefined);
      await expectHarmless(page, assert, `${name} field ${i}`);
    }
    await page.waitForTimeout(300);
    await expectHarmless(page, assert, name);
  }
  assert.deepEqual(page.trouble, []);
  await page.context().close();
});
