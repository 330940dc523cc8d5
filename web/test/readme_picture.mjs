// The picture of the Plan page in the README: node web/test/readme_picture.mjs FILE.
import { statSync } from "node:fs";
import { openPage, startBrowser, startServer } from "./harness.mjs";

const MOST_BYTES = 300_000;
const [server, browser] = await Promise.all([startServer(), startBrowser()]);
try {
  const page = await openPage(browser, server, "#/plan");
  const ready = () => page.waitForFunction(() => document.querySelectorAll(".card td .btn").length >= 5 && /answered/.test(document.querySelector(".live")?.textContent ?? ""));
  await ready();
  /* the time of the first answer is that of a cold server */
  await page.getByRole("slider", { name: "Tensor parallel (tp)" }).focus();
  for (const key of ["ArrowLeft", "ArrowRight"]) {
    await page.keyboard.press(key);
    await page.waitForTimeout(1000);
  }
  await page.evaluate(() => document.activeElement.blur());
  await ready();
  await page.waitForTimeout(1000);
  await page.screenshot({ path: process.argv[2], clip: { x: 0, y: 0, width: 1400, height: 1000 } });
} finally {
  await browser.close();
  await server.stop();
}
const { size } = statSync(process.argv[2]);
console.log(`${process.argv[2]}: ${size} bytes`);
if (size > MOST_BYTES) {
  console.error(`the picture must have at most ${MOST_BYTES} bytes`);
  process.exit(1);
}
