// Pictures of every page for people to look at: tools/web-test BUILD --pictures FOLDER. Without a
// folder nothing is drawn. plan.png is the picture of the README.
import { join } from "node:path";
import { test } from "node:test";
import { openPage, startBrowser, startServer } from "./harness.mjs";

const folder = process.env.HALLEY_PICTURES;
const table = () => document.querySelectorAll("tbody tr").length > 4;
const PAGES = [
  ["plan", "#/plan", () => document.querySelectorAll(".card td .btn").length >= 5],
  ["plan-unfit", "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&stack=nemo-25&tp=4&pp=4&micro_batch=2&global_batch=128", () => document.querySelector(".hero .banner") !== null],
  ["plan-impossible", "#/plan?model=llama3-70b&cluster=dgx-h100&npus=64&tp=8&pp=3&global_batch=128", () => document.querySelector(".err button") !== null],
  ["plan-experts", "#/plan?model=deepseek-v3&cluster=gb200-nvl72&npus=256&tp=1&pp=8&ep=32&global_batch=2048&stack=megatron-bridge", () => document.querySelector(".live")?.textContent.includes("answered")],
  ["plan-tpu", "#/plan?model=llama3-70b&cluster=tpu-v6e-pod&npus=256&tp=1&fsdp=all&global_batch=256", () => document.querySelector(".live")?.textContent.includes("answered")],
  ["explore", "#/explore?days=8640000&capital=100000000", table],
  ["explore-yaml", "#/explore?edit=yaml", table],
  ["simulate", "#/simulate", () => /boxes\./.test(document.querySelector(".timeline-said")?.textContent ?? "")],
  ["simulate-large", "#/simulate?model=llama3-405b&cluster=dgx-h100&npus=16384&tp=8&pp=16&global_batch=2048", () => /boxes\./.test(document.querySelector(".timeline-said")?.textContent ?? "")],
  ["simulate-rows", "#/simulate?model=llama3-70b&cluster=dgx-h100&npus=64&stack=nemo-25&tp=8&pp=8&global_batch=32&micro_batch=1&rows=all&arrows=1&from=0.2&to=0.3", () => /boxes\./.test(document.querySelector(".timeline-said")?.textContent ?? "")],
  ["traces-empty", "#/traces", () => document.querySelector(".drop") !== null],
  ["accuracy", "#/accuracy", () => document.querySelector(".verdict em") !== null],
  ["accuracy-error", "#/accuracy?view=error&set=mbridge-moe", () => document.querySelector(".verdict em") !== null],
];

test("pictures of all pages", { skip: folder === undefined ? "no --pictures" : false }, async () => {
  const [server, browser] = await Promise.all([startServer(), startBrowser()]);
  try {
    for (const [name, hash, ready] of PAGES) {
      const page = await openPage(browser, server, hash);
      await page.waitForFunction(ready);
      await page.waitForTimeout(1500);
      for (const [width, theme] of [[1400, "light"], [1400, "dark"], [420, "dark"], [420, "light"]]) {
        await page.setViewportSize({ width, height: 1000 });
        await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
        await page.waitForTimeout(200);
        if (name === "plan" && width === 1400 && theme === "light") await page.screenshot({ path: join(folder, "plan.png"), clip: { x: 0, y: 0, width: 1400, height: 1000 } });
        await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`), fullPage: true });
      }
      await page.context().close();
    }
  } finally {
    await browser.close();
    await server.stop();
  }
});
