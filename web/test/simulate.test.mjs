// The Simulate page, as a person uses it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { expectAccessible, expectCalm, expectHarmless, halley, HOSTILE, importModule, judge, openPage, root, startBrowser, startServer } from "./harness.mjs";

let server, browser, folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "halley-simulate-"));
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const SMALL = "#/simulate?model=llama3-8b&cluster=dgx-h100&npus=16&tp=8&pp=2&global_batch=8";
const run = (...words) => spawnSync(halley, words, { cwd: folder, maxBuffer: 1 << 28 });
const simulated = (page) => page.waitForFunction(() => /takes/.test(document.querySelector("h1")?.textContent ?? "") && /boxes\./.test(document.querySelector(".timeline-said")?.textContent ?? "") && !document.querySelector(".simulate .faded"), null, { timeout: 60_000 });
const query = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
const pixels = (page) => page.evaluate(() => document.querySelector("canvas.timeline").toDataURL());
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const inAddress = (page, key, test) => page.waitForFunction(([k, t]) => new RegExp(t).test(new URLSearchParams(location.hash.split("?")[1]).get(k) ?? ""), [key, test]);

async function readColumns(path) {
  const { parseColumns } = await importModule("api/columns.ts");
  const bytes = readFileSync(path);
  return parseColumns(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

test("the columns of a run hold what its CSV of nodes holds", async () => {
  const done = run("sim", "-m", "llama3-8b", "-c", "dgx-h100:16", "--tp", "8", "--pp", "2", "--global-batch", "8", "--columns", "c.bin", "--all-ranks", "--per-node", "n.csv", "--json");
  assert.equal(done.status, 0, String(done.stderr));
  const result = JSON.parse(done.stdout);
  const c = await readColumns(join(folder, "c.bin"));
  const want = readFileSync(join(folder, "n.csv"), "utf8").trim().split("\n").slice(1).map((line) => {
    const parts = /^(\d+),(\d+),("(?:[^"]|"")*"|[^,]*),([^,]*),([^,]*),(\d+),([^,]*),([^,]*)$/.exec(line);
    return { rank: Number(parts[1]), name: parts[3].replace(/^"|"$/g, "").replaceAll('""', '"'), begin: Number(parts[7]), end: Number(parts[8]) };
  });
  const order = (a, b) => a.rank - b.rank || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) || a.begin - b.begin || a.end - b.end;
  const got = [];
  for (const row of c.rows) {
    let until = -1;
    for (let i = row.first; i < row.first + row.n; i++) {
      assert.ok(c.start_s[i] >= until - 1e-6, "boxes of a row overlap");
      until = c.start_s[i] + c.length_s[i];
      if (c.names[row.name] !== "passes") got.push({ rank: c.ranks[row.of].rank, name: c.names[c.name[i]], begin: c.start_s[i], end: c.start_s[i] + c.length_s[i] });
    }
  }
  assert.equal(got.length, want.length);
  got.sort(order);
  want.sort(order);
  want.forEach((w, i) => {
    const same = got[i].rank === w.rank && got[i].name === w.name && Math.abs(got[i].begin - w.begin) < 1e-12 && Math.abs(got[i].end - w.end) <= 1e-7 * (w.end - w.begin) + 1e-12;
    if (!same) assert.deepEqual(got[i], w);
  });
  // the critical path is unbroken and as long as the run
  assert.equal(c.path_box.length, result.critical_path.steps);
  for (let i = 1; i < c.path_box.length; i++) assert.ok(Math.abs(c.path_s[2 * i] - c.path_s[2 * i - 1]) < 1e-9);
  assert.ok(Math.abs(c.path_s.at(-1) - c.end_s) < 1e-9);
  // passes: forward and backward of each micro-batch, on each rank
  for (const row of c.rows.filter((r) => c.names[r.name] === "passes")) assert.equal(row.n, 16);
  // memory peaks where the estimate says
  const estimate = JSON.parse(run("estimate", "-m", "llama3-8b", "-c", "dgx-h100:16", "--tp", "8", "--pp", "2", "--global-batch", "8", "--json").stdout);
  let peak = 0;
  for (let i = 1; i < c.memory.length; i += 2) peak = Math.max(peak, c.memory[i]);
  assert.ok(Math.abs(peak / estimate.device_bytes - 1) < 1e-6, `${peak} against ${estimate.device_bytes}`);
  // every message has both ends, and arrives after it was sent
  assert.ok(c.arrows.length > 0);
  for (let i = 0; i < c.arrows.length; i += 2) assert.ok(c.start_s[c.arrows[i]] <= c.start_s[c.arrows[i + 1]] + c.length_s[c.arrows[i + 1]]);
  // the bytes on the links over time are those of the whole run
  const links = readFileSync(join(folder, "n.csv")).length > 0 && result.links.find((l) => l.kind === "npu-nvswitch");
  let at = 0;
  for (const d of c.dimensions) {
    if (c.names[d.name] === "npu-nvswitch") {
      let sum = 0;
      for (let k = 0; k < d.bins; k++) sum += c.use[at + k] * d.bin_s;
      assert.ok(Math.abs(sum / (links.use * c.end_s) - 1) < 0.02, `busy for ${sum} s against ${links.use * c.end_s}`);
    }
    at += d.npus * d.bins;
  }
});

test("a plan is simulated: verdict, timeline, path, links, memory, ranks", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  assert.match(await page.locator("h1").textContent(), /The step takes [\d.]+ (s|ms): .*bound/);
  assert.match(await page.locator("canvas.timeline").getAttribute("aria-label"), /boxes in 2 rows.*critical path of [\d,]+ steps/);
  assert.ok((await page.locator(".cable[data-level]").count()) > 20);
  assert.match(await page.getByRole("img", { name: /Memory over time/ }).getAttribute("aria-label"), /stage 0 at most/);
  assert.equal(await page.locator("tbody tr", { hasText: "Finish" }).count(), 1);
  await page.getByRole("heading", { name: "What would help" }).waitFor();
  await expectCalm(page, assert);
  await page.context().close();
});

test("slider, cursor, links and memory show one time; the address keeps it", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  const levels = () => page.evaluate(() => [...document.querySelectorAll(".cable[data-level]")].map((e) => e.dataset.level).join(""));
  const slider = page.getByRole("slider", { name: "Time of the cursor" });
  await slider.focus();
  const [before, middle] = [await page.locator(".cursor-time").textContent(), await levels()];
  await slider.fill("0");
  const reads = (words) => page.waitForFunction((w) => document.querySelector(".cursor-time").textContent === w, words);
  await reads("0 s");
  assert.match(await page.getByRole("heading", { name: /^Links at/ }).textContent(), /0 s/);
  await page.waitForFunction(() => document.querySelector(".chart .cursor").getAttribute("x1") === "44");
  await slider.fill("990");
  assert.notEqual(await levels(), middle);
  await inAddress(page, "at", "^0\\.");
  const at = await page.locator(".cursor-time").textContent();
  assert.notEqual(at, before);
  await page.reload();
  await simulated(page);
  await reads(at);
  await slider.fill("0"); // near the end playing would be over before anybody can look
  await reads("0 s");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction((old) => document.querySelector(".cursor-time").textContent !== old, "0 s");
  await expectCalm(page, assert);
  await page.context().close();
});

test("the timeline by keyboard alone: arrows, plus, minus, Home, Enter", async () => {
  const page = await openPage(browser, server, `${SMALL}&every=1`);
  await simulated(page);
  const canvas = page.locator("canvas.timeline");
  await page.getByRole("button", { name: "All rows" }).focus();
  await page.keyboard.press("Enter");
  await inAddress(page, "rows", "all");
  await page.getByRole("button", { name: "Fit" }).focus();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "timeline");
  const span = () => query(page).get("from") === null ? null : [Number(query(page).get("from")), Number(query(page).get("to"))];
  await canvas.press("+");
  await canvas.press("+");
  await inAddress(page, "from", ".");
  await page.waitForTimeout(300);
  const [a, b] = span();
  await canvas.press("ArrowRight");
  await page.waitForTimeout(300);
  const [c, d] = span();
  assert.ok(c > a && d > b && Math.abs(d - c - (b - a)) < 1e-5 * b);
  await canvas.press("ArrowLeft");
  await canvas.press("-");
  await page.waitForTimeout(300);
  assert.ok(span() !== null && span()[1] - span()[0] > (b - a) * 1.9);
  const image = await pixels(page);
  await canvas.press("ArrowDown");
  await canvas.press("ArrowDown");
  await settled(page);
  assert.notEqual(await pixels(page), image);
  await canvas.press("Home");
  await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("from") === null);
  await canvas.press("Enter");
  await page.waitForFunction(() => /on the critical path/.test(document.querySelector(".timeline-said").textContent));
  await expectCalm(page, assert);
  await page.context().close();
});

test("search finds boxes and goes from one to the next", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  const box = page.getByLabel("Search names in the timeline");
  await box.fill("7");
  await page.getByText("4 boxes", { exact: true }).waitFor();
  await box.press("Enter");
  await page.waitForFunction(() => /micro-batch 7/.test(document.querySelector(".timeline-said").textContent));
  await page.getByRole("button", { name: "All rows" }).click();
  await box.fill("attention");
  await page.waitForFunction(() => /^[\d,]+ boxes$/.test([...document.querySelectorAll(".timeline-bar .note")].map((e) => e.textContent).join("")));
  await box.press("Enter");
  const first = await page.locator(".timeline-said").textContent();
  assert.match(first, /attention/);
  await box.press("Enter");
  assert.notEqual(await page.locator(".timeline-said").textContent(), first);
  await box.fill("no such name");
  await page.getByText("no box", { exact: true }).waitFor();
  await inAddress(page, "find", "no such");
  await expectCalm(page, assert);
  await page.context().close();
});

test("mouse: wheel zooms, drag pans, click puts the cursor and names the box", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  const canvas = page.locator("canvas.timeline");
  await canvas.scrollIntoViewIfNeeded();
  const area = await canvas.boundingBox();
  const [x, y] = [area.x + area.width * 0.6, area.y + 36];
  await page.mouse.move(x, y);
  await page.waitForFunction(() => /micro-batch/.test(document.querySelector("canvas.timeline").dataset.tip ?? ""));
  await page.mouse.click(x, y);
  await page.waitForFunction(() => /(forward|backward) of micro-batch \d+, stage 0/.test(document.querySelector(".timeline-said").textContent));
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await inAddress(page, "from", ".");
  await page.waitForTimeout(300);
  const from = Number(query(page).get("from"));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 120, y, { steps: 6 });
  await page.mouse.up();
  await page.waitForTimeout(400);
  assert.ok(Number(query(page).get("from") ?? 0) < from);
  const image = await pixels(page);
  await page.getByRole("button", { name: "Messages" }).click();
  await settled(page);
  assert.notEqual(await pixels(page), image);
  await page.goBack();
  await page.getByRole("button", { name: "Messages", pressed: false }).waitFor();
  await expectCalm(page, assert);
  await page.context().close();
});

test("a change of the plan runs anew; Back shows the run before; a bad plan says why", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  const first = await page.locator("h1").textContent();
  await page.getByLabel("Global batch").fill("32");
  await page.getByRole("button", { name: "Simulate", exact: true }).click();
  await page.waitForFunction((old) => document.querySelector("h1").textContent !== old, first);
  await simulated(page);
  await page.goBack();
  await page.waitForFunction((old) => document.querySelector("h1").textContent === old, first);
  await page.getByLabel("Pipeline stages (pp)").fill("3");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "This cannot be simulated." }).waitFor();
  assert.match(await page.locator(".simulate .lede").textContent(), /pp|stage|divi/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("progress and cancel", async () => {
  const page = await openPage(browser, server, "#/simulate?model=llama3-405b&cluster=dgx-h100&npus=1024&tp=8&pp=16&global_batch=1024&net=queue");
  const cancel = page.getByRole("button", { name: "Cancel" });
  await cancel.waitFor({ timeout: 30_000 });
  await page.waitForFunction(() => /per second|started/.test(document.querySelector(".simulate .title .note")?.textContent ?? ""));
  await cancel.click();
  await page.getByText("Cancelled.").waitFor();
  await page.evaluate((hash) => (location.hash = hash), SMALL);
  await simulated(page);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a trace set is simulated on a cluster, all ranks with their messages", async () => {
  assert.equal(run("trace", "gen", "transformer", "-n", "8", "--tp", "4", "--layers", "2", "-o", "t").status, 0);
  const page = await openPage(browser, server, "#/simulate");
  await page.getByRole("tab", { name: "Traces" }).click();
  await page.locator(".simulate-form input[type=file]").setInputFiles([...Array.from({ length: 8 }, (_, i) => join(folder, `t.${i}.et`)), join(folder, "t.comm_group.json")]);
  await page.waitForFunction(() => /The run takes/.test(document.querySelector("h1").textContent), null, { timeout: 60_000 });
  await simulated(page);
  assert.match(await page.locator(".simulate .lede").textContent(), /t\.0\.et, t\.1\.et.*8 ranks.*dgx-h100:8/);
  await page.getByLabel("Ranks drawn").selectOption("1");
  await page.getByRole("button", { name: "Simulate", exact: true }).click();
  await inAddress(page, "every", "1");
  await simulated(page);
  await page.waitForFunction(() => !/not drawn/.test(document.querySelector(".timeline-said").textContent));
  await page.reload();
  await simulated(page);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a recording is linked and replayed", async () => {
  const page = await openPage(browser, server, "#/simulate");
  await page.getByRole("tab", { name: "Traces" }).click();
  await page.locator(".simulate-form input[type=file]").setInputFiles(join(root, "tests/data/recordings/model.json.gz"));
  await page.waitForFunction(() => /The run takes/.test(document.querySelector("h1").textContent), null, { timeout: 60_000 });
  await simulated(page);
  assert.match(await page.locator(".simulate .lede").textContent(), /as recorded/);
  await expectCalm(page, assert);
  await page.context().close();
});

test("hostile names in traces are drawn as text", async () => {
  const events = HOSTILE.flatMap((words, i) => [
    { ph: "X", cat: "cpu_op", name: words, pid: 1, tid: 1, ts: 100 * i + 1, dur: 60, args: { "External id": i + 1 } },
    { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: 100 * i + 5, dur: 4, args: { "External id": i + 1, correlation: i + 1 } },
    { ph: "X", cat: "kernel", name: words, pid: 0, tid: 7, ts: 100 * i + 20, dur: 50, args: { "External id": i + 1, correlation: i + 1, stream: 7, device: 0 } },
  ]);
  const text = JSON.stringify({ deviceProperties: [{ id: 0, name: HOSTILE[0] }], traceEvents: events });
  const page = await openPage(browser, server, "#/simulate");
  await simulated(page);
  await page.locator(".simulate-form input[type=file]").setInputFiles({ name: "<img src=x onerror=window.pwned=1>.json", mimeType: "application/json", buffer: Buffer.from(text) });
  await page.waitForFunction(() => /The run takes|cannot/.test(document.querySelector("h1").textContent), null, { timeout: 60_000 });
  await expectHarmless(page, assert, "a recording in Simulate");
  await page.getByLabel("Search names in the timeline").fill("img");
  await page.locator("canvas.timeline").press("Enter");
  await expectHarmless(page, assert, "a selected box");
  assert.deepEqual(page.trouble, []);
  await page.context().close();
});

test("accessible and within its width, light and dark, wide and narrow", async () => {
  const page = await openPage(browser, server, SMALL);
  await simulated(page);
  await page.getByRole("heading", { name: "What would help" }).waitFor();
  await expectAccessible(page, assert, "Simulate");
  await page.context().close();
});

// Frames on a busy machine say little: what counts is the processor time that a frame costs.
test("a timeline of a million boxes is painted in less than 33 ms a frame", async () => {
  const page = await openPage(browser, server, "#/simulate?model=llama3-8b&cluster=dgx-h100&npus=64&tp=8&pp=2&global_batch=128&every=1&rows=all");
  await page.waitForFunction(() => /[1-9],\d\d\d,\d\d\d boxes/.test(document.querySelector(".timeline-said")?.textContent ?? ""), null, { timeout: 120_000 });
  await page.waitForTimeout(1000);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const cost = async () => 1000 * (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
  const act = (name) => page.evaluate(async (what) => {
    const canvas = document.querySelector("canvas.timeline");
    const area = canvas.getBoundingClientRect();
    const wheel = (o) => canvas.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: area.left + 700, clientY: area.top + 200, ...o }));
    const began = performance.now();
    for (let i = 0; i < 60; i++) {
      if (what === "scroll") wheel({ deltaY: i % 30 < 15 ? 60 : -60 });
      else if (what === "zoom") wheel({ deltaY: i < 30 ? -60 : 60, ctrlKey: true });
      else wheel({ deltaX: i % 30 < 15 ? 50 : -50 });
      await new Promise((done) => requestAnimationFrame(done));
    }
    return 60_000 / (performance.now() - began);
  }, name);
  for (const name of ["scroll", "zoom", "pan"]) {
    const before = await cost();
    const frames = await act(name);
    const each = ((await cost()) - before) / 60;
    console.log(`  a million boxes, ${name}: ${each.toFixed(1)} ms of processor time a frame; ${frames.toFixed(0)} frames a second on this machine now`);
    judge(each, 33, `${name}, a frame`);
  }
  await expectCalm(page, assert);
  await page.context().close();
});
