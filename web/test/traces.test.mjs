// The Traces page, as a person uses it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { expectAccessible, expectCalm, expectHarmless, findAxe, halley, HOSTILE, importModule, openPage, root, startBrowser, startServer } from "./harness.mjs";

let server, browser, folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "halley-traces-"));
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const DATA = join(root, "tests/data/recordings");
const run = (...words) => spawnSync(halley, words, { cwd: folder, maxBuffer: 1 << 28 });
const chooser = (page) => page.locator(".traces > .drop input[type=file]");
const read = (page) => page.waitForFunction(() => document.querySelector(".file-name") !== null && document.querySelector(".traces .faded") === null, null, { timeout: 60_000 });

// A step that a profiler recorded: operators, launches and kernels of two streams, communication among them.
function makeKineto(options = {}) {
  const { steps = 3, slower = 1, names = null, bare = false } = options;
  const traceEvents = [];
  let id = 0;
  for (let s = 0; s < steps; s++) {
    const t = 1000 * s + 10;
    if (!bare) traceEvents.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${s}`, pid: 1, tid: 1, ts: t, dur: 980 });
    const add = (name, kernel, stream, at, length) => {
      id += 1;
      traceEvents.push({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: t + at, dur: 40, args: { "External id": id } });
      traceEvents.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: t + at + 5, dur: 5, args: { "External id": id, correlation: id } });
      traceEvents.push({ ph: "X", cat: "kernel", name: kernel, pid: 0, tid: stream, ts: t + at + 20, dur: length, args: { "External id": id, correlation: id, stream, device: 0 } });
    };
    add(names?.[0] ?? "aten::mm", names?.[1] ?? "ampere_sgemm_128x128_tn", 7, 10, 200 * slower);
    add(names?.[2] ?? "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 21, 100, 300);
    add("aten::add_", "void at::native::vectorized_elementwise_kernel<4>()", 7, 500, 100);
  }
  return { deviceProperties: [{ id: 0, name: options.device ?? "NVIDIA A100-SXM4-40GB", totalGlobalMem: 42505076736 }], traceEvents };
}
const file = (name, document) => ({ name, mimeType: "application/json", buffer: name.endsWith(".gz") ? gzipSync(JSON.stringify(document)) : Buffer.from(JSON.stringify(document)) });

test("a Kineto recording: what it is, verdict, classes, idle causes, communication, checks, timeline", async () => {
  const page = await openPage(browser, server, "#/traces");
  assert.match(await page.locator("h1").first().textContent(), /Where does the time/);
  await chooser(page).setInputFiles(file("steps.json.gz", makeKineto()));
  await read(page);
  const text = await page.locator(".traces").textContent();
  for (const words of ["Kineto", "A100-SXM4-40GB", "3 steps", "9 device events, all with their launch", "checked, no errors", "matmuls", "all-reduce", "elementwise"]) assert.ok(text.includes(words), words);
  // the engine's verdict, and shares that add up to the window
  assert.match(await page.locator(".card h1.verdict").textContent(), /bound|idle/i);
  const shares = (await page.getByRole("img", { name: /Time of the device/ }).getAttribute("aria-label")).match(/(\d+) %/g).map((w) => parseInt(w, 10));
  assert.ok(Math.abs(shares.reduce((a, b) => a + b, 0) - 100) <= 2, String(shares));
  const talk = await page.locator("tr", { hasText: "all-reduce" }).first().textContent();
  assert.match(talk, /21/);
  assert.match(await page.locator("canvas.timeline").getAttribute("aria-label"), /boxes in \d+ rows/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("exposed communication is what no other kernel hides", async () => {
  const { listTalk } = await importModule("pages/traces/recording.ts");
  const names = ["", "stream 7", "stream 21"];
  const talk = listTalk({
    ranks: [{}], names, kinds: ["matmul", "comm.all_reduce"],
    rows: [{ of: 0, name: 1, first: 0, n: 2 }, { of: 0, name: 2, first: 2, n: 2 }],
    start_s: [0, 3, 1, 10], length_s: [2, 3, 4, 1], kind: [0, 0, 1, 1],
  });
  assert.deepEqual(talk, [{ kind: "comm.all_reduce", row: "stream 21", n: 2, s: 5, exposed_s: 2 }]);
});

test("every format: nsys, xplane, rocprof, Chakra", async () => {
  const page = await openPage(browser, server, "#/traces");
  const have = readdirSync(DATA);
  const wanted = [[/^nsys_2024/, /Nsight Systems/], [/gpu\.xplane\.pb$/, /xplane/], [/^roc_kernel/, /rocprof/]];
  for (const [pattern, words] of wanted) {
    const name = have.find((n) => pattern.test(n));
    if (name === undefined) continue;
    await page.evaluate(() => (location.hash = "#/traces"));
    await page.waitForFunction(() => document.querySelector(".traces .fades").hidden);
    await chooser(page).setInputFiles(join(DATA, name));
    await page.waitForFunction((n) => document.querySelector(".file-name")?.textContent === n && document.querySelector(".traces .faded") === null, name, { timeout: 60_000 });
    assert.match(await page.locator(".traces .chips").first().textContent(), words, name);
  }
  assert.equal(run("trace", "gen", "transformer", "-n", "4", "--tp", "2", "--layers", "2", "-o", "t").status, 0);
  await page.evaluate(() => (location.hash = "#/traces"));
  await page.waitForFunction(() => document.querySelector(".traces .fades").hidden);
  await chooser(page).setInputFiles([0, 1, 2, 3].map((i) => join(folder, `t.${i}.et`)));
  await page.waitForFunction(() => /4 ranks with/.test(document.querySelector(".card h1.verdict")?.textContent ?? ""), null, { timeout: 60_000 });
  assert.match(await page.locator(".traces").textContent(), /COMM_COLL_NODE/);
  assert.match(await page.locator(".traces").textContent(), /No timeline: no node says when it ran/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("two recordings: what got slower; swap, remove, Back, reload", async () => {
  const page = await openPage(browser, server, "#/traces");
  await chooser(page).setInputFiles([file("before.json", makeKineto()), file("after.json", makeKineto({ slower: 2 }))]);
  await page.getByRole("heading", { name: "Two recordings: what got slower" }).waitFor({ timeout: 60_000 });
  await read(page);
  const figure = page.getByRole("group", { name: /^From A, before\.json/ });
  assert.match(await figure.getAttribute("aria-label"), /matmuls \+0\.200|matmuls \+200/);
  const change = await page.locator("tr", { hasText: "matmuls" }).first().textContent();
  assert.match(change, /\+0\.200/);
  await page.getByText("aten::mm").first().waitFor();
  await page.getByRole("button", { name: "⇄ Swap" }).click();
  await page.getByRole("group", { name: /^From A, after\.json/ }).waitFor();
  await page.reload();
  await page.getByRole("group", { name: /^From A, after\.json/ }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Remove B" }).click();
  await page.waitForFunction(() => !/what got slower/.test([...document.querySelectorAll(".card:not([hidden]) h2")].map((h) => h.textContent).join()));
  await page.goBack();
  await page.getByRole("group", { name: /^From A, after\.json/ }).waitFor({ timeout: 60_000 });
  await expectCalm(page, assert);
  await page.context().close();
});

test("a second drop is compared with the first", async () => {
  const page = await openPage(browser, server, "#/traces");
  await chooser(page).setInputFiles(file("one.json", makeKineto()));
  await read(page);
  const drop = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "two.json"));
    return data;
  }, JSON.stringify(makeKineto({ slower: 1.5 })));
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("main", type, { dataTransfer: drop });
  await page.getByRole("group", { name: /^From A, one\.json.*to B, two\.json/ }).waitFor({ timeout: 60_000 });
  await expectCalm(page, assert);
  await page.context().close();
});

test("what is no recording is refused with a sentence, and the page goes on", async () => {
  const page = await openPage(browser, server, "#/traces");
  for (const [name, content, words] of [["notes.txt", "hello", /notes\.txt cannot be read/], ["cut.json", readFileSync(join(DATA, "cut.json")), /ends inside event|cut/], ["empty.et", "", /cannot be read/]]) {
    await chooser(page).setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
    await page.waitForFunction((n) => !document.querySelector(".traces > .banner").hidden && document.querySelector(".traces > .banner").textContent.includes(n), name);
    assert.match(await page.locator(".traces > .banner").textContent(), words);
  }
  await chooser(page).setInputFiles(file("good.json", makeKineto()));
  await read(page);
  assert.ok(await page.locator(".traces > .banner").isHidden());
  await expectCalm(page, assert);
  await page.context().close();
});

test("open in Simulate, and save as .et", async () => {
  const page = await openPage(browser, server, "#/traces");
  await chooser(page).setInputFiles(file("steps.json", makeKineto()));
  await read(page);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as .et" }).click();
  const saved = await download;
  assert.equal(saved.suggestedFilename(), "steps.et");
  await saved.saveAs(join(folder, "steps.et"));
  assert.match(run("trace", "info", "steps.et").stdout.toString(), /nodes/i);
  const again = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as .et" }).click();
  assert.equal((await again).suggestedFilename(), "steps.et");
  await page.getByRole("button", { name: "Open in Simulate" }).click();
  await page.waitForFunction(() => /The run takes/.test(document.querySelector("h1")?.textContent ?? ""), null, { timeout: 60_000 });
  await expectCalm(page, assert);
  await page.context().close();
});

test("hostile names in every field of a recording", async () => {
  const page = await openPage(browser, server, "#/traces");
  for (const words of HOSTILE) {
    const clean = words.replaceAll("\u0000", "");
    await page.evaluate(() => (location.hash = "#/traces"));
    await page.waitForFunction(() => document.querySelector(".traces .fades").hidden);
    const name = `${clean.replaceAll("/", "_")}.json`;
    await chooser(page).setInputFiles([file(name, makeKineto({ names: [words, words, words], device: words })), file(`b${name}`, makeKineto({ names: [`${words}2`, `${words}2`, words], slower: 2, bare: true }))]);
    await page.waitForFunction(() => document.querySelector(".file-name") !== null || !document.querySelector(".traces > .banner").hidden, null, { timeout: 60_000 });
    await page.waitForTimeout(500);
    await expectHarmless(page, assert, `recording ${words}`);
    const canvas = page.locator("canvas.timeline");
    if (await canvas.isVisible()) {
      await canvas.press("Enter");
      await page.getByLabel("Search names in the timeline").fill(clean);
      const box = await canvas.boundingBox();
      for (const share of [0.2, 0.5, 0.8]) await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * share);
      await expectHarmless(page, assert, `box ${words}`);
    }
  }
  for (const words of HOSTILE) {
    await page.evaluate((hash) => (location.hash = hash), `#/traces?${new URLSearchParams({ a: words, a_name: words, b: words, b_name: words })}`);
    await page.waitForFunction(() => !document.querySelector(".traces > .banner").hidden);
    await expectHarmless(page, assert, `address ${words}`);
  }
  assert.deepEqual(page.trouble, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  await page.context().close();
});

test("accessible and within its width, light and dark, wide and narrow", async () => {
  const page = await openPage(browser, server, "#/traces");
  assert.deepEqual(await findAxe(page), []);
  await chooser(page).setInputFiles([file("before.json", makeKineto()), file("after.json", makeKineto({ slower: 2 }))]);
  await read(page);
  await page.getByText("Which operators").waitFor();
  await expectAccessible(page, assert, "Traces");
  await page.context().close();
});
