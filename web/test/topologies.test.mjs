// The page Topologies.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dropFile, expectAccessible, expectCalm, expectHarmless, HOSTILE, openPage, request, startBrowser, startServer } from "./harness.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const RAILS = { topology: "rail-optimised", nodes: 64, npus: 8, "nodes-per-leaf": 32, spines: 8, cables: 4, link: "400 Gb/s", latency: "500 ns", "node-link": "450 GB/s", "node-latency": "250 ns", cost: { switch: "25000 USD", copper: "900 USD", optical: "1160 USD" } };
const address = (net, more = {}) => `#/topologies?${new URLSearchParams({ net: typeof net === "string" ? net : JSON.stringify(net), b: "", ...more })}`;
const drawn = (page, title) => page.waitForFunction((words) => document.querySelector("h1").textContent.includes(words) && document.querySelector(".network svg") !== null && document.querySelector(".faded") === null, title);
const timed = (page) => page.waitForFunction(() => /library's start-up|Unknown|Not computed/.test(document.querySelector(".topologies").textContent) && !document.querySelector(".facts").textContent.includes("…"));
const fact = (page, name) => page.locator(".facts > div").filter({ has: page.locator("dt", { hasText: name }) }).locator("dd").textContent();

test("the numbers are those of topology show", async () => {
  const said = request({ do: "topology.show", topology: RAILS, size: ["1073741824 B"], boxes: 32 }).result;
  const page = await openPage(browser, server, "#/topologies");
  await drawn(page, "512 accelerators");
  await timed(page);
  assert.equal(said.devices.npu, 512);
  assert.match(await fact(page, "Switches"), /^24/);
  assert.match(await fact(page, "Cables"), new RegExp(`^${(said.links - said.drawing.node_cables).toLocaleString("en-US")}`));
  assert.match(await fact(page, "Bisection"), /^102 Tb\/s/);
  assert.equal(said.bisection_gbps, 102400);
  assert.match(await fact(page, "Network cost"), new RegExp(`^\\$${(said.cost_usd.total / 1e6).toPrecision(3)} M`));
  assert.match(await fact(page, "Diameter"), new RegExp(`^${said.diameter_hops} links`));
  const label = await page.locator("svg[aria-label^='All-to-all by size']").getAttribute("aria-label");
  assert.ok(label.includes(`1.07 GB ${(said.collective_times[0].all_to_all_s * 1e3).toPrecision(3)} ms`), label);
  await expectCalm(page, assert);
  await page.context().close();
});

test("a cluster of the presets is a network, too, of any size", async () => {
  const said = request({ do: "topology.show", topology: "dgx-h100:64" }).result;
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  await page.getByLabel("Topology", { exact: true }).selectOption({ label: "dgx-h100" });
  await drawn(page, "dgx-h100, 64 accelerators");
  await timed(page);
  assert.match(await fact(page, "Diameter"), new RegExp(`^${said.diameter_hops} links`));
  await page.getByRole("slider", { name: "Accelerators", exact: true }).focus();
  await page.keyboard.press("ArrowRight");
  await drawn(page, "dgx-h100, 128 accelerators");
  assert.equal(new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("net"), "dgx-h100:128");
  await page.reload();
  await drawn(page, "dgx-h100, 128 accelerators");
  await expectCalm(page, assert);
  await page.context().close();
});

test("a slider changes the network, Back undoes it, reload keeps it", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  const slider = page.getByRole("slider", { name: "Nodes", exact: true });
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  await drawn(page, "1,024 accelerators");
  await page.reload();
  await drawn(page, "1,024 accelerators");
  await page.goBack();
  await drawn(page, "512 accelerators");
  await expectCalm(page, assert);
  await page.context().close();
});

test("a rail is chosen in the figure by mouse and keyboard; the path follows it", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  await page.waitForFunction(() => /accelerator 3 → leaf6/.test(document.querySelector(".topologies").textContent));
  await page.getByRole("button", { name: /^Show rail 5/ }).first().click();
  await page.waitForFunction(() => /accelerator 5 → leaf10 → spine0 → leaf11 → accelerator 509/.test(document.querySelector(".topologies").textContent));
  await page.getByRole("button", { name: /^Show rail 0/ }).first().focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /rail=0/.test(location.hash));
  await page.getByLabel("Path shown").selectOption("pxn");
  await page.waitForFunction(() => /accelerator 0 → nvswitch0 → accelerator 2/.test(document.querySelector(".topologies").textContent));
  await page.getByLabel("Path shown").selectOption("own");
  await page.getByLabel("To accelerator").fill("9999");
  await page.getByText("Choose two different accelerators from 0 to 511.").waitFor();
  await page.getByLabel("To accelerator").fill("8");
  await page.waitForFunction(() => /accelerator 0 → leaf0 → accelerator 8/.test(document.querySelector(".topologies").textContent));
  await expectCalm(page, assert);
  await page.context().close();
});

test("every generator is drawn or counted, and its numbers have units", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  const names = await page.getByLabel("Topology", { exact: true }).locator("option").evaluateAll((all) => all.map((o) => o.value).filter((name) => !name.startsWith("cluster ")));
  assert.ok(names.length >= 19, names.join());
  for (const name of names) {
    await page.getByLabel("Topology", { exact: true }).selectOption(name);
    await page.waitForFunction((n) => JSON.parse(new URLSearchParams(location.hash.split("?")[1]).get("net")).topology === n, name);
    await page.waitForFunction(() => document.querySelector(".faded") === null && /accelerator/.test(document.querySelector("h1").textContent));
    if (name !== "slim-fly") await page.waitForFunction(() => document.querySelectorAll(".network svg").length === 1);
    assert.doesNotMatch(await page.locator("main").textContent(), /NaN|undefined|Infinity/, name);
  }
  await expectCalm(page, assert);
  await page.context().close();
});

test("above 32 nodes a box represents several, and says so; nothing is lost", async () => {
  const page = await openPage(browser, server, address({ ...RAILS, nodes: 256 }));
  await drawn(page, "2,048 accelerators");
  assert.match(await page.locator(".topologies").textContent(), /each box represents 8 nodes/);
  assert.ok((await page.locator(".network .mark").count()) <= 3 * 32);
  await page.context().close();
});

test("A against B: keep, change, swap", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  await page.getByRole("button", { name: "Compare with this" }).click();
  await page.getByRole("slider", { name: "Cables from a leaf to each spine" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /A: cables 2 · B: cables 4/.test(document.querySelector(".topologies").textContent));
  await page.waitForFunction(() => /B costs \d+ % more per accelerator, its all-to-all is/.test(document.querySelector(".compare-verdict").textContent));
  const row = page.locator("tr").filter({ hasText: "Bisection" });
  await page.waitForFunction(() => /51.2 Tb\/s102 Tb\/s2.00 ×/.test([...document.querySelectorAll("tr")].find((r) => r.textContent.startsWith("Bisection")).textContent));
  await page.getByRole("button", { name: "Swap A and B" }).click();
  await page.waitForFunction(() => /102 Tb\/s51.2 Tb\/s0.500 ×/.test([...document.querySelectorAll("tr")].find((r) => r.textContent.startsWith("Bisection")).textContent));
  assert.ok(await row.isVisible());
  await expectCalm(page, assert);
  await page.context().close();
});

test("what is wrong is said in the engine's words and the last network stays", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  await page.getByText("Rates, prices, faults").click();
  await page.getByLabel("Rate of a cable").fill("400 parsecs");
  await page.getByText(/link/i).filter({ hasText: /unit|parsecs/ }).first().waitFor();
  await page.waitForFunction(() => document.querySelector(".faded") !== null && document.querySelector(".network svg") !== null);
  await page.getByLabel("Rate of a cable").fill("800 Gb/s");
  await page.waitForFunction(() => document.querySelector(".faded") === null && /205 Tb\/s/.test(document.querySelector(".facts").textContent));
  await page.context().close();
});

test("a file of another tool is drawn; unknown rates are asked for", async () => {
  const page = await openPage(browser, server, address(RAILS));
  await drawn(page, "512 accelerators");
  await dropFile(page, "fabric.txt", "5 1 4\n4\n0 4 400Gbps 0.0005ms 0\n1 4 400Gbps 0.0005ms 0\n2 4 400Gbps 0.0005ms 0\n3 4 400Gbps 0.0005ms 0\n");
  await drawn(page, "fabric");
  await page.waitForFunction(() => /4 accelerators/.test(document.querySelector("h1").textContent));
  await dropFile(page, "topology.conf", "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n");
  await drawn(page, "topology");
  await timed(page);
  await dropFile(page, "broken.txt", "5 1 9\n4\n0 4 400Gbps 0.0005ms 0\n");
  await page.locator(".err").filter({ hasText: /truncated|announce|links/ }).waitFor();
  await page.context().close();
});

test("hostile names of devices, files and values never become markup", async () => {
  const page = await openPage(browser, server, address(RAILS));
  for (const words of HOSTILE) {
    const name = words.replaceAll("\u0000", "");
    const graph = { directed: false, multigraph: false, graph: {}, nodes: [{ id: name, kind: "npu" }, { id: `${name}2`, kind: "npu" }, { id: `${name}s`, kind: "switch" }], edges: [{ source: name, target: `${name}s`, bandwidth_gbps: 400, latency_ns: 500 }, { source: `${name}2`, target: `${name}s`, bandwidth_gbps: 400, latency_ns: 500 }] };
    await dropFile(page, `${name.replaceAll("/", "_")}.json`, JSON.stringify(graph));
    await page.waitForTimeout(400);
    await expectHarmless(page, assert, `graph ${words}`);
    await page.evaluate((hash) => (location.hash = hash), address({ topology: name, n: name, [name]: name, cost: { switch: name } }, { b: JSON.stringify({ topology: name }), rail: name, way: name, from: name, to: name, link: name }));
    await page.waitForTimeout(200);
    await expectHarmless(page, assert, `address ${words}`);
    await page.evaluate((hash) => (location.hash = hash), address(name));
    await page.waitForTimeout(150);
    await expectHarmless(page, assert, `path ${words}`);
  }
  assert.deepEqual(page.trouble, []);
  await page.context().close();
});

test("no rule of axe is broken and nothing overflows, wide, narrow, light and dark", async () => {
  for (const net of [RAILS, { topology: "torus", dims: [8, 8] }, { topology: "dragonfly", p: 2, a: 4, h: 2, G: 9 }]) {
    const page = await openPage(browser, server, address(net));
    await drawn(page, "accelerators");
    await timed(page);
    await expectAccessible(page, assert, net.topology);
    await page.context().close();
  }
});

test("tiers of a fat tree are edited as fields, added and removed", async () => {
  const page = await openPage(browser, server, address({ topology: "fat-tree", n: 64, tiers: [{ name: "leaf", npus: 8 }, { name: "spine" }], link: "400 Gb/s" }));
  await drawn(page, "64 accelerators");
  await page.waitForFunction(() => /8 leaves: 8 down, 8 up/.test(document.querySelector(".network").textContent));
  await page.getByLabel("Oversubscription of tier 1").fill("2");
  await page.waitForFunction(() => /8 leaves: 8 down, 4 up/.test(document.querySelector(".network").textContent));
  await page.getByLabel("Accelerators under a block of tier 2").fill("32");
  await page.getByRole("button", { name: "Add a tier on top" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".tiers tbody tr").length === 3 && /tier3/.test(document.querySelector(".network").textContent));
  await page.getByRole("button", { name: "Remove tier 3" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".tiers tbody tr").length === 2);
  await expectCalm(page, assert);
  await page.context().close();
});
