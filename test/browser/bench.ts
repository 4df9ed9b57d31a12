import type { CDPSession, Page } from "playwright-core";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../shared/runtime/command-line.ts";
import { median } from "../bench/measure.ts";
import { open, startBrowser, visitAs } from "../support/browser/browser.ts";
import { runningService } from "../support/browser/running-service.ts";
import type { SceneCall } from "../support/browser/scene.ts";

const help = `Measures the processor time that the dashboard of a running npm start needs to draw a list of 100 rows.

npm run bench:dashboard -- [options]
  --rounds <n>     how often (default 21)
  --help           this text

It adds clients to the demo brokerage until there are 100. The time is that of the main thread of the page, from the
click to the second frame, without waiting; the command fails when the median is 100 ms or more.`;

const most = { ms: 100 } as const;
const rows = 100;

/** Adds clients until the list has enough of them. */
async function fill(call: SceneCall): Promise<void> {
  const { data } = await call<{ data: readonly unknown[] }>("GET", `/clients?limit=${rows}`);
  for (let at = data.length; at < rows; at += 1) {
    const email = `bench-${at}-${Date.now()}@example.com`;
    await call("POST", "/clients", { email, first_name: "Ana", last_name: `Silva ${at}`, country: "PT" });
  }
}

/** Milliseconds of processor time that the main thread of the page has spent in tasks. */
async function spentMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
}

const drawn = `new Promise((done) => {
  const look = () => document.querySelectorAll("main tbody tr").length >= ${rows}
    ? requestAnimationFrame(() => requestAnimationFrame(done)) : requestAnimationFrame(look);
  look();
})`;

/** Opens the list from another page; its rows are in memory, as they are when a person comes back to it. */
async function round(page: Page, session: CDPSession): Promise<number> {
  await open(page, "/sandbox");
  const before = await spentMs(session);
  await page.evaluate(`history.pushState(null, "", "/clients")`);
  await page.evaluate(drawn);
  return (await spentMs(session)) - before;
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({ rounds: { type: "string", default: "21" } });
  const rounds = wholeNumber("rounds", values.rounds, 1, 1000);
  const { dashboard_url, owner, call } = runningService();
  await fill(call);
  const browser = await startBrowser();
  try {
    const { page } = await visitAs(browser, dashboard_url, owner);
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, "/clients");
    await page.getByRole("button", { name: "Load 50 more" }).click();
    await page.evaluate(drawn);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const times: number[] = [];
    for (let at = 0; at < rounds; at += 1) times.push(await round(page, session));
    const middle = median(times);
    const range = [Math.min(...times), Math.max(...times)].map((ms) => ms.toFixed(0)).join(" to ");
    console.log(`A list of ${rows} rows is drawn in ${middle.toFixed(1)} ms of processor time (${range}).`);
    if (middle >= most.ms) throw new Error(`The median is to be below ${most.ms} ms.`);
  } finally {
    await browser.close();
  }
});
