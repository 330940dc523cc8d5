// Bounds of size and of the first paint.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build, judge, openPage, root, startBrowser, startServer } from "./harness.mjs";

function listFiles(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : [path];
  });
}

test("page and style are under 400 kB, gzipped", () => {
  const size = (name) => gzipSync(readFileSync(join(build, "web", name))).length;
  const total = size("app.js") + size("app.css");
  console.log(`  app.js and app.css: ${total} bytes gzipped; report.js: ${size("report.js")}`);
  assert.ok(total < 400_000);
});

test("the source keeps the rules of web/README.md", () => {
  for (const path of listFiles(join(root, "web/src"))) {
    const text = readFileSync(path, "utf8");
    assert.ok(text.split("\n").length <= 801, `${path} has more than 800 lines`);
    if (!path.endsWith(".ts")) continue;
    assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/.test(text), `${path} parses markup or code`);
    assert.ok(!/https?:\/\/(?!www\.w3\.org|127\.0\.0\.1)/.test(text), `${path} names an external resource`);
    assert.ok(!/setAttribute\("style"/.test(text), `${path} sets a style attribute`);
  }
});

// Wall time on a busy machine says little: what counts here is the processor time until the page
// shows its first answer; the first paint comes before that.
test("the first paint costs less than a second", async () => {
  const server = await startServer();
  const browser = await startBrowser();
  let [best, cost] = [Infinity, Infinity];
  for (let i = 0; i < 4; i++) {
    const page = await openPage(browser, server, "", { bare: true });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(server.address);
    await page.waitForFunction(() => document.querySelector(".hero .n") !== null);
    const { metrics } = await cdp.send("Performance.getMetrics");
    cost = Math.min(cost, 1000 * metrics.find((m) => m.name === "TaskDuration").value);
    best = Math.min(best, await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    await page.context().close();
  }
  console.log(`  first contentful paint after ${best.toFixed(0)} ms (best of 4, on this machine now); processor time until the first answer ${cost.toFixed(0)} ms`);
  await browser.close();
  await server.stop();
  judge(cost, 1000, "the first answer");
});
