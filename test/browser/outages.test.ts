import type { Browser, Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { navigation } from "../../infra/dashboard/app/shell/navigation.ts";
import { leave, settled, sharedBrowser, signInAs, type Visit, visit, visitAs } from "../support/browser/browser.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let owner: OperatorUser;
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  owner = await newOperator(stack, "owner");
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

/** A signed-in page whose clock the test moves. */
async function signedIn(): Promise<Page> {
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", owner);
  visits.push(visited);
  const { page } = visited;
  await settled(page);
  await page.clock.install();
  return page;
}

/**
 * Stands between a page and the API for the whole test, so that no request of the page falls between two settings.
 * Returns what makes each request of the page end by `refuse`, or reach the API without one.
 */
async function betweenPageAndApi(page: Page): Promise<(refuse?: (route: Route) => Promise<void>) => void> {
  let answer = (route: Route) => route.continue();
  await page.route("**/v2/**", (route) => answer(route));
  return (refuse = (route) => route.continue()) => {
    answer = refuse;
  };
}

/** Texts with a digit that a page shows of what it was answered; notices of errors, dates and words are none. */
const numbersShown = `[...document.querySelectorAll("main strong, main td, main dd, main .count, nav .count, .note")]
  .filter((one) => one.checkVisibility() && one.closest(".notice, .waiting") === null)
  .map((one) => one.textContent).filter((text) => /\\d/.test(text))`;

describe("a page", () => {
  it("says that the service does not answer, whichever it is, and recovers by itself", async () => {
    const page = await signedIn();
    const requestsEnd = await betweenPageAndApi(page);
    const banner = page.locator(".banner");
    for (const { to } of navigation.flatMap(({ entries }) => entries)) {
      requestsEnd((route) => route.abort("connectionrefused"));
      await page.evaluate(`history.pushState(null, "", "${to}")`);
      await page.clock.fastForward(6_000);
      await banner.getByText("The service does not answer").waitFor();
      requestsEnd();
      await page.clock.fastForward(6_000);
      await banner.waitFor({ state: "detached" });
      await settled(page);
      expect([to, await page.getByRole("alert").count()]).toEqual([to, 0]);
    }
  });

  it("shows no number that is not known: before the first answer, at 503, and without a connection", async () => {
    const pages = navigation.flatMap(({ entries }) => entries.map(({ to }) => to));
    const ends: Readonly<Record<string, (route: Route) => Promise<void>>> = {
      "no answer": () => new Promise(() => undefined),
      503: (route) => route.fulfill({ status: 503, headers: { "Retry-After": "1" }, body: "{}" }),
      "no connection": (route) => route.abort("connectionrefused"),
    };
    const found: string[] = [];
    for (const [name, end] of Object.entries(ends)) {
      const visited = await visit(browser, stack.cloud.dashboardUrl ?? "");
      visits.push(visited);
      const { page } = visited;
      const isOfSession = (route: Route) => /\/v2\/(me|oauth)/.test(route.request().url());
      await page.route("**/v2/**", (route) => (isOfSession(route) ? route.continue() : end(route)));
      await signInAs(page, owner);
      for (const to of pages.toReversed()) {
        await page.evaluate(`history.pushState(null, "", "${to}")`);
        await page.locator("h1").first().waitFor({ state: "attached" });
        const numbers = (await page.evaluate(numbersShown)) as string[];
        found.push(...numbers.map((number) => `${name}, ${to}: ${number}`));
      }
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
    expect(found).toEqual([]);
  });

  it("counts nothing that it knew once, and says since when it is not known", async () => {
    const page = await signedIn();
    const counters = page.locator(".counters");
    await counters.getByText("nothing waits").waitFor();
    const requestsEnd = await betweenPageAndApi(page);
    requestsEnd((route) => route.fulfill({ status: 503, body: "{}" }));
    await page.clock.fastForward(6_000);
    await counters
      .getByText(/not known since \d\d:\d\d:\d\d/)
      .first()
      .waitFor();
    await page
      .locator(".top")
      .getByText(/since \d\d:\d\d:\d\d/)
      .waitFor();
    await expect.poll(() => counters.getByText("nothing waits").count()).toBe(0);
    await expect.poll(() => counters.locator("strong").allTextContents()).toEqual(Array(6).fill("–"));
    requestsEnd();
    await page.clock.fastForward(6_000);
    await counters.getByText("nothing waits").waitFor();
  });

  it("asks nothing before the time that a 429 names, and less often afterwards", async () => {
    const page = await signedIn();
    const requestsEnd = await betweenPageAndApi(page);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).pathname.startsWith("/v2/")) asked.push(request.url());
    });
    const refused = { status: 429, headers: { "Retry-After": "30" }, body: "{}" };
    requestsEnd((route) => route.fulfill(refused));
    await page.clock.fastForward(6_000);
    await page.locator(".banner.slow").getByText("Too many requests").waitFor();
    await settled(page);
    asked.length = 0;
    await page.clock.fastForward(25_000);
    await settled(page);
    expect(asked).toEqual([]);
    requestsEnd();
    await page.clock.fastForward(10_000);
    await page.locator(".banner").waitFor({ state: "detached" });
    await settled(page);
    asked.length = 0;
    await page.clock.fastForward(5_500);
    await settled(page);
    expect(asked).toEqual([]);
  });
});
