// The Plan page, as a person uses it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dropFile, expectCalm, hasOverflow, judge, openPage, request, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const step = (page) => page.locator(".hero .n").textContent();
const answered = (page) => page.waitForFunction(() => /answered/.test(document.querySelector(".live")?.textContent ?? ""));
const settled = (page) => page.waitForFunction(() => document.querySelectorAll(".card td .btn").length >= 1 && document.querySelector(".col-r.faded") === null && document.querySelector(".card .faded") === null);
const query = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);

// Wait until the address has a value.
const inAddress = (page, key, value) => page.waitForFunction(([k, v]) => new URLSearchParams(location.hash.split("?")[1]).get(k) === v, [key, value]);

test("the token leaves the address bar and stays in this tab alone", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  assert.ok(!page.url().includes(server.token));
  await page.reload();
  await answered(page);
  const other = await openPage(browser, server, "", { bare: true });
  await other.getByLabel("Address of halley serve").fill("nonsense");
  await other.keyboard.press("Enter");
  await other.getByText("contains no token").waitFor();
  await other.getByLabel("Address of halley serve").fill(server.address);
  await other.keyboard.press("Enter");
  await answered(other);
  await expectCalm(page, assert);
  await other.context().close();
  await page.context().close();
});

test("Simulate this plan opens Simulate with the plan", async () => {
  const page = await openPage(browser, server, "#/plan?model=llama3-8b&cluster=dgx-h100&npus=16&tp=8&pp=2&global_batch=8");
  await answered(page);
  await page.getByRole("link", { name: "Simulate this plan" }).click();
  await page.waitForFunction(() => /takes/.test(document.querySelector("h1")?.textContent ?? ""));
  for (const [key, value] of Object.entries({ model: "llama3-8b", npus: "16", tp: "8", pp: "2", global_batch: "8" })) assert.equal(query(page).get(key), value);
  await page.goBack();
  await answered(page);
  await expectCalm(page, assert);
  await page.context().close();
});

test("memory leaves out what a plan that spreads keeps in outer memory", async () => {
  const design = { model: "llama3-70b", cluster: "comet-baseline:64", plan: { tp: 8, global_batch: 64, spread: true } };
  const e = request({ do: "estimate", ...design }).result;
  assert.ok(e.spilled_bytes > 0 && e.device_bytes > e.capacity_bytes);
  const page = await openPage(browser, server, "#/plan?model=llama3-70b&cluster=comet-baseline&npus=64&tp=8&global_batch=64&spread=true");
  await answered(page);
  const here = `${((e.device_bytes - e.spilled_bytes) / 1e9).toPrecision(3)} GB`;
  await page.waitForFunction((words) => [...document.querySelectorAll(".hero .facts dd")].some((d) => d.textContent.startsWith(words)), here);
  assert.equal(await page.locator(".beyond").count(), 0);
  assert.ok((await page.locator(".outer-frame").count()) > 0);
  await page.context().close();
});

test("every field asks anew, and the address holds the plan", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  assert.match(await page.locator("h1").textContent(), /llama3-70b on 64 GPUs/);
  await page.getByLabel("Model", { exact: true }).selectOption("llama3-8b");
  await page.waitForFunction(() => /llama3-8b/.test(document.querySelector("h1").textContent));
  await page.getByLabel("Tensor parallel (tp), value").fill("4");
  await inAddress(page, "tp", "4");
  await page.waitForFunction(() => /tp 4,/.test(document.querySelector(".lede").textContent));
  await page.getByRole("radio", { name: "full" }).click();
  await page.waitForFunction(() => /full recomputation/.test(document.querySelector(".lede").textContent));
  await page.getByRole("radio", { name: "FSDP" }).click();
  await page.waitForFunction(() => /FSDP/.test(document.querySelector(".lede").textContent));
  const shown = await step(page);
  await page.reload();
  await answered(page);
  assert.equal(await step(page), shown);
  assert.equal(query(page).get("model"), "llama3-8b");
  await expectCalm(page, assert);
  await page.context().close();
});

test("a slider answers while it moves, and Back undoes the whole drag", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  const before = page.url();
  const first = await step(page);
  const slider = page.getByRole("slider", { name: "Micro-batch, sequences" });
  const box = await slider.boundingBox();
  const seen = new Set();
  await page.mouse.move(box.x + 6, box.y + box.height / 2);
  await page.mouse.down();
  for (let i = 0; i <= 40; i++) {
    await page.mouse.move(box.x + 6 + ((box.width - 12) * i) / 40, box.y + box.height / 2);
    await page.waitForTimeout(12);
    seen.add(await step(page));
  }
  await page.mouse.up();
  assert.ok(seen.size >= 3, `saw ${[...seen]}`);
  await page.waitForFunction((url) => location.href !== url, before);
  await page.goBack();
  await page.waitForFunction((url) => location.href === url, before);
  await page.waitForFunction((words) => document.querySelector(".hero .n").textContent === words, first);
  await expectCalm(page, assert);
  await page.context().close();
});

test("Back right after a change does not write into the entry it goes to", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  const before = page.url();
  for (const value of ["4", "2", "1"]) await page.getByLabel("Tensor parallel (tp), value").fill(value);
  await page.evaluate(() => history.back());
  await page.waitForFunction((url) => location.href === url, before);
  await page.waitForTimeout(600);
  assert.equal(page.url(), before);
  assert.equal(await page.getByLabel("Tensor parallel (tp), value").inputValue(), "8");
  await page.context().close();
});

// Wall time on a busy machine says little: what the page itself costs is its processor time, and
// that of the server is measured by its own tests.
test("a change costs the page less than 50 ms", async () => {
  const page = await openPage(browser, server);
  await settled(page);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.setTimeDomain", { timeDomain: "threadTicks" }).catch(() => undefined);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const cost = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value])).TaskDuration;
  const before = await cost();
  const times = await page.evaluate(async () => {
    const slider = [...document.querySelectorAll("input[type=range]")].find((e) => document.querySelector(`label[for="${e.id}"]`)?.textContent.startsWith("Tensor"));
    const out = [];
    for (let i = 0; i < 30; i++) {
      slider.value = String(i % 4);
      const lede = document.querySelector(".lede").textContent;
      const began = performance.now();
      slider.dispatchEvent(new Event("input"));
      while (document.querySelector(".lede").textContent === lede && performance.now() - began < 2000) await new Promise((done) => setTimeout(done, 4));
      out.push(performance.now() - began);
    }
    return out.sort((a, b) => a - b);
  });
  const each = ((await cost()) - before) * 1000 / 30;
  console.log(`  an answer: ${each.toFixed(1)} ms of the page's processor time; on this machine now median ${times[15].toFixed(1)} ms, best ${times[0].toFixed(1)} ms`);
  judge(each, 50, "an answer");
  await page.context().close();
});

test("the page works by keyboard alone", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  await page.getByRole("slider", { name: "Pipeline stages (pp)" }).focus();
  await page.keyboard.press("ArrowRight");
  await inAddress(page, "pp", "4");
  await page.getByRole("radio", { name: "none" }).first().focus();
  await page.keyboard.press("ArrowRight");
  await inAddress(page, "recompute", "selective");
  await page.getByRole("button", { name: /^MFU/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /Why MFU is/ }).waitFor();
  assert.equal(query(page).get("why"), "mfu");
  await page.getByRole("tab", { name: "Command" }).focus();
  await page.keyboard.press("ArrowRight");
  assert.ok(await page.getByRole("tabpanel", { name: "JSON" }).isVisible());
  const mark = page.locator(".card .mark[tabindex]").first();
  await mark.focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  await page.locator(".tip:not([hidden])").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tip:not([hidden])").count(), 0);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a plan that cannot be is refused under its field, with a button that repairs it", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  await page.getByLabel("Pipeline stages (pp), value").fill("3");
  const error = page.locator(".field.bad .err");
  await error.waitFor();
  assert.match(await error.textContent(), /does not divide/);
  assert.equal(await page.locator(".col-r.faded").count(), 1);
  await error.getByRole("button").click();
  await page.waitForFunction(() => document.querySelector(".field.bad") === null && document.querySelector(".col-r.faded") === null);
  await expectCalm(page, assert);
  await page.context().close();
});

test("an address with an impossible plan shows the nearest valid one", async () => {
  const page = await openPage(browser, server, "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&tp=8&pp=2&global_batch=129");
  await page.locator(".field.bad .err button").waitFor();
  assert.ok(await page.locator(".hero .n").isVisible());
  await expectCalm(page, assert);
  await page.context().close();
});

test("a plan that does not fit says by how much, and what would", async () => {
  const page = await openPage(browser, server, "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&stack=nemo-25&tp=4&pp=4&micro_batch=2&global_batch=128");
  const banner = page.locator(".hero .banner");
  await banner.waitFor();
  assert.match(await banner.textContent(), /Does not fit: stage 0 needs 1\d\d GB, .* more than the 85.5 GB of a GPU/);
  await banner.getByRole("button").first().click();
  await page.waitForFunction(() => document.querySelector(".hero .banner") === null);
  await page.goBack();
  await banner.waitFor();
  await expectCalm(page, assert);
  await page.context().close();
});

test("one click takes a plan of the five best", async () => {
  const page = await openPage(browser, server);
  await settled(page);
  const first = await step(page);
  await page.getByRole("button", { name: "Take plan 2" }).click();
  await page.waitForFunction(() => document.querySelector("tr[aria-selected=true] td")?.textContent === "= 1");
  const row = await page.locator("tr[aria-selected=true] td strong").textContent();
  await page.waitForFunction((words) => Math.abs(parseFloat(document.querySelector(".hero .n").textContent) - parseFloat(words)) < 0.06, row);
  await page.goBack();
  await page.waitForFunction((words) => document.querySelector(".hero .n").textContent === words, first);
  await page.getByRole("button", { name: "Take the best plan" }).click();
  await page.waitForFunction((words) => document.querySelector(".hero .n").textContent !== words, first);
  await expectCalm(page, assert);
  await page.context().close();
});

const CONFIG = JSON.stringify({ architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 22, num_attention_heads: 32, num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 2048 });
const LAUNCH = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --bf16\n";

test("dropped files become the model, and a launch file the plan, too", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  await dropFile(page, "config.json", CONFIG);
  await page.getByRole("heading", { name: "Read from config.json" }).waitFor();
  await page.waitForFunction(() => /1\.1\d B parameters/.test(document.querySelector(".lede").textContent));
  await dropFile(page, "train.sh", LAUNCH);
  await page.waitForFunction(() => /tp 2, pp 2/.test(document.querySelector(".lede").textContent));
  await dropFile(page, "notes.json", '{"shopping": ["milk"]}');
  await page.locator(".field.bad .err").waitFor();
  assert.match(await page.locator(".field.bad .err").textContent(), /notes\.json/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("two tabs hold two plans", async () => {
  const one = await openPage(browser, server, "#/plan?model=llama3-8b&cluster=dgx-h100&npus=8&tp=1&global_batch=8");
  const two = await openPage(browser, server, "#/plan?model=llama3-70b&cluster=dgx-h100&npus=128&tp=8&global_batch=128", { context: one.context() });
  await Promise.all([answered(one), answered(two)]);
  await one.getByLabel("Tensor parallel (tp), value").fill("2");
  await inAddress(one, "tp", "2");
  assert.equal(query(two).get("tp"), "8");
  assert.match(await two.locator("h1").textContent(), /llama3-70b on 128/);
  await one.context().close();
});

test("on a narrow screen the answer comes first and nothing overflows", async () => {
  const page = await openPage(browser, server, "", { width: 420, height: 900 });
  await settled(page);
  assert.equal(await hasOverflow(page), 0);
  const top = (selector) => page.locator(selector).first().evaluate((e) => e.getBoundingClientRect().top);
  assert.ok((await top(".hero")) < (await top(".controls")));
  assert.ok((await top(".controls")) < (await top(".list-parts")));
  await expectCalm(page, assert);
  await page.context().close();
});

test("when the server goes, the page says so and keeps what was entered", async () => {
  const own = await startServer();
  const page = await openPage(browser, own);
  await answered(page);
  await own.stop();
  await page.getByLabel("Tensor parallel (tp), value").fill("4");
  await page.locator(".gone:not([hidden])").waitFor();
  const again = await startServer(["--port", String(own.port)]);
  await page.getByLabel("Address of halley serve").waitFor();
  await page.getByLabel("Address of halley serve").fill(again.address);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /tp 4,/.test(document.querySelector(".lede").textContent));
  assert.equal(await page.locator(".gone:not([hidden])").count(), 0);
  await page.context().close();
  await again.stop();
});

test("command, JSON and Python ask the same question", async () => {
  const page = await openPage(browser, server);
  await answered(page);
  assert.match(await page.getByRole("tabpanel").textContent(), /^halley estimate -m llama3-70b -c dgx-h100:64 -s nemo-25 --tp 8 --pp 2 --global-batch 128/);
  await page.getByRole("tab", { name: "JSON" }).click();
  const document = JSON.parse(await page.getByRole("tabpanel").textContent());
  assert.deepEqual(document.plan, { tp: 8, pp: 2, global_batch: 128 });
  await page.getByRole("tab", { name: "Python" }).click();
  assert.match(await page.getByRole("tabpanel").textContent(), /hl\.estimate\("llama3-70b", "dgx-h100:64"/);
  await page.context().close();
});
