// Modules without a browser: numbers, YAML, events, the state in the address.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { importModule, request, root } from "./harness.mjs";

const yaml = await importModule("base/yaml.ts");
const format = await importModule("base/format.ts");
const study = await importModule("pages/explore/study.ts");
const state = await importModule("pages/plan/state.ts");
const copy = await importModule("pages/plan/copy.ts");
const chart = await importModule("draw/chart.ts");
const heat = await importModule("draw/heat_map.ts");
const client = await importModule("api/client.ts");

test("numbers have three digits and their units", () => {
  assert.equal(format.time(14.409877), "14.4 s");
  assert.equal(format.time(0.0000123), "12.3 µs");
  assert.equal(format.time(0.9996), "1.00 s");
  assert.equal(format.time(206134947), "2,386 days");
  assert.equal(format.time(5e-16), "0 s");
  assert.equal(format.bytes(85469849190), "85.5 GB");
  assert.equal(format.bytes(999.6e6), "1.00 GB");
  assert.equal(format.dollars(4471076), "$4.47 M");
  assert.equal(format.si(9.89e14, "FLOP/s"), "989 TFLOP/s");
  assert.equal(format.plural(1, "design"), "1 design");
  assert.equal(format.plural(4752, "design"), "4,752 designs");
  assert.equal(format.significant(NaN), "–");
  assert.equal(format.significant(Infinity), "–");
  assert.equal(format.signed(-0.008), "−0.8 %");
});

test("ticks are 1, 2 or 5 times a power of ten and stay within the axis", () => {
  for (let i = 1; i < 2000; i++) {
    const [low, high] = [i * 0.37 - 200, i * 0.37 - 200 + (i % 97) * 1.3 + 0.01];
    const t = chart.ticks(low, high, 6);
    assert.ok(t.length <= 8, `${low} ${high}: ${t}`);
    for (const v of t) assert.ok(v >= low - 1e-6 && v <= high + 1e-6);
    if (t.length > 1) {
      const m = (t[1] - t[0]) / 10 ** Math.floor(Math.log10(t[1] - t[0]) + 1e-9);
      assert.ok([1, 2, 5, 10].some((x) => Math.abs(m - x) < 1e-6), `${t}`);
    }
  }
});

test("seven steps of colour cover the values", () => {
  for (let i = 1; i < 500; i++) {
    const [low, high] = [i * 0.013, i * 0.013 + (i % 37) * 0.7 + 1e-4];
    const c = heat.chooseColours(low, high);
    assert.ok(c.from <= low + 1e-9 && c.from + 7 * c.step >= high - 1e-9);
  }
});

test("every study that comes with halley is read, and written back it is the same study", () => {
  const folder = join(root, "studies");
  let shown = 0;
  for (const name of readdirSync(folder).filter((f) => f.endsWith(".yaml"))) {
    const text = readFileSync(join(folder, name), "utf8");
    const parsed = yaml.parseYaml(text);
    assert.deepEqual(yaml.parseYaml(yaml.printYaml(parsed)), parsed, name);
    const form = study.readStudy(text);
    if (typeof form === "string") continue;
    shown += 1;
    const mine = request({ do: "explore", study: study.writeStudy(form), dry_run: true });
    const theirs = request({ do: "explore", study: text, dry_run: true });
    assert.equal(mine.ok, true, `${name}: ${JSON.stringify(mine.error)}`);
    for (const key of ["designs", "feasible", "refusals"]) assert.deepEqual(mine.result[key], theirs.result[key], `${name} ${key}`);
  }
  assert.ok(shown >= 3, `the form shows ${shown} studies`);
});

test("texts survive YAML, whatever is in them", () => {
  const texts = ["plain", "two words", "a: b", "- x", "# no comment", "yes", "12", "1e3", "", " edge ", "'", '"', "{", "[1, 2", "a\nb", "tab\t", "ümläut", "<b>", "x #y", "null", "~", "&a", "*a", "!t", "|", ">", "@", "`", "%", "a,b", "é\u0000"];
  for (const text of texts) assert.deepEqual(yaml.parseYaml(yaml.printYaml({ x: text, list: [text, { k: text }] })), { x: text, list: [text, { k: text }] }, JSON.stringify(text));
});

test("what YAML the form cannot read is named with its line", () => {
  for (const [text, words] of [["a: &x 1", /line 1/], ["a:\n  - {b: 1", /not closed/], ["a: 1\n\tb: 2", /tab/], ["a: 1\na: 2", /twice/], ["a: 1\n   b: 2", /line 2/]]) assert.throws(() => yaml.parseYaml(text), words, text);
});

test("the address holds the whole state of the Plan page", () => {
  const start = { ...state.START, plan: { tp: 4, pp: 2, global_batch: 256, recompute: "full", sequence_parallel: false, stage_layers: "20,20,20,20" }, headroom: 0.1, stack: "", rent: 3.2, why: "mfu" };
  assert.deepEqual(state.readState(new URLSearchParams(state.writeState(start).toString())), start);
  assert.deepEqual(state.readState(new URLSearchParams("")), state.START);
  for (const bad of ["npus=-1", "npus=NaN", "tokens=x", "rent=1e999", "headroom=abc", "%00=1", "tp=%3Cscript%3E"]) {
    const read = state.readState(new URLSearchParams(bad));
    assert.ok(read.npus > 0 && read.tokens > 0 && Number.isFinite(read.rent), bad);
  }
});

test("commands quote what the shell would read otherwise", () => {
  const words = copy.asCommand({ ...state.START, model: "a b'; rm -rf /", plan: { sequence_parallel: false, no_overlap: true } });
  assert.ok(words.includes(`'a b'\\''; rm -rf /'`));
  assert.ok(words.includes("--no-sequence-parallel") && words.includes("--no-overlap"));
});

test("the list of options names every key of a plan that the engine knows", async () => {
  const options = await importModule("pages/plan/options.ts");
  const known = Object.keys(request({ do: "schema" }).result.$defs.keys).filter((k) => k.startsWith("plan.")).map((k) => k.slice(5));
  const sliders = ["tp", "pp", "cp", "ep", "virtual", "micro_batch", "recompute", "zero", "fsdp"];
  const shown = new Set([...sliders, ...options.MAIN_OPTIONS.map((o) => o.key), ...options.OTHER_OPTIONS.map((o) => o.key)]);
  assert.deepEqual(known.filter((k) => !shown.has(k)), []);
  assert.deepEqual([...shown].filter((k) => !known.includes(k)), []);
  const keys = request({ do: "schema" }).result.$defs.keys;
  const short = ["mxfp8", "mxfp4", "nvfp4"]; // a type with a recipe, which has a field of its own
  for (const o of [...options.MAIN_OPTIONS, ...options.OTHER_OPTIONS]) {
    const words = keys[`plan.${o.key}`].enum;
    if (Array.isArray(o.kind) && words !== undefined) assert.deepEqual([...o.kind].sort(), words.filter((w) => !short.includes(w)).sort(), o.key);
    if (words !== undefined && o.key !== "rank_order") assert.ok(Array.isArray(o.kind), `${o.key} takes words`);
  }
});

test("events are read in whatever pieces they arrive", async () => {
  const text = 'event: progress\ndata: {"done": 1}\n\n: comment\n\nevent: reply\r\ndata: {"ok":\r\ndata: true}\r\n\r\n';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < 40; size++) {
    const body = new ReadableStream({
      start(c) {
        for (let i = 0; i < bytes.length; i += size) c.enqueue(bytes.slice(i, i + size));
        c.close();
      },
    });
    const seen = [];
    for await (const event of client.readEvents(body)) seen.push([event.name, JSON.parse(event.data)]);
    assert.deepEqual(seen, [["progress", { done: 1 }], ["reply", { ok: true }]], `pieces of ${size}`);
  }
});

// A client whose answers come when the test says.
function fakeClient() {
  const open = [];
  return {
    open,
    request: (document, options) =>
      new Promise((done, fail) => {
        options.signal.addEventListener("abort", () => fail(new DOMException("aborted", "AbortError")));
        open.push({ document, options, done, fail });
      }),
  };
}

test("a lane keeps the newest question and never answers out of order", async () => {
  const fake = fakeClient();
  const lane = new client.Lane(fake);
  const seen = [];
  const ask = (n) => lane.ask({ do: "x", n }, (r, newest) => seen.push([r, newest]), (e) => seen.push(["failed", e.message]));
  const tick = () => new Promise((done) => setTimeout(done, 0));
  ask(1);
  ask(2);
  ask(3);
  assert.equal(fake.open.length, 1);
  fake.open[0].done("one");
  await tick();
  assert.deepEqual(seen, [["one", false]]);
  assert.equal(fake.open.length, 2);
  assert.equal(fake.open[1].document.n, 3);
  fake.open[1].options.accepted();
  ask(4);
  await tick();
  assert.ok(fake.open[1].options.signal.aborted, "long work is cancelled by a newer question");
  assert.equal(fake.open[2].document.n, 4);
  fake.open[2].done("four");
  await tick();
  assert.deepEqual(seen.at(-1), ["four", true]);
  ask(5);
  lane.drop();
  fake.open[3].done("five");
  await tick();
  assert.deepEqual(seen.length, 2);
});
