import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, open, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { newOperator } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
const visits: Visit[] = [];
let page: Page;

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", await newOperator(stack, "risk"));
  visits.push(visited);
  ({ page } = visited);
});
afterEach(() => expect(visits.flatMap(({ faults }) => faults)).toEqual([]));
afterAll(async () => {
  await leave(visits);
  await shared.stop();
  await stack?.stop();
});

/** A live account that holds USDCHF, which no other test of a browser trades. */
async function holder(...trades: readonly (readonly [side: string, lots: string])[]): Promise<string> {
  const { account_id } = await fundedAccount(stack.api, "10000.00");
  for (const [side, lots] of trades) {
    const body = { account_id, symbol: "USDCHF", side, lots };
    expect((await stack.api.call("POST", "/sandbox/trades", { body })).status).toBe(201);
  }
  return account_id;
}

describe("a person of risk", () => {
  it("sees the open lots of the brokerage by symbol, with the age of their sum", async () => {
    await holder(["buy", "0.70"], ["sell", "0.20"]);
    await stack.cloud.invoke("brokerage-sandbox-margin-sweep", {});
    await open(page, "/");
    await page.getByRole("link", { name: "Exposure" }).click();
    const row = page.getByRole("row", { name: /^USDCHF/ });
    await row.waitFor();
    const cells = (await row.getByRole("cell").allInnerTexts()).map((text) => text.trim());
    expect([cells[1], cells[3], cells[5], cells[6]]).toEqual(["0.70", "0.20", "+0.50", "2"]);
    await page.getByText(/positions of \d+ s ago, prices of now/).waitFor();
  });

  it("tries a trade in two clicks, and a withdrawal that would be refused, and changes nothing", async () => {
    const account_id = await holder(["buy", "0.10"]);
    const before = await stack.api.call("GET", `/accounts/${account_id}/balance`);
    await open(page, `/accounts/${account_id}`);
    await page.getByRole("button", { name: "What if" }).click();
    const dialog = page.getByRole("dialog");
    // The first field has the focus.
    await page.keyboard.type("USDCHF");
    await dialog.getByLabel(/^Lots/).fill("0.50");
    await dialog.getByRole("button", { name: "Try" }).click();
    const used = dialog.getByRole("row", { name: /^Used margin/ });
    await used.waitFor();
    // 0.10 of a lot of 100,000 dollars at 1:30, then 0.60.
    expect((await used.getByRole("cell").allInnerTexts()).slice(1)).toEqual(["333.33", "2,000.00"]);
    await dialog.getByRole("row", { name: /^USDCHF falls to: margin call/ }).waitFor();
    await dialog.getByLabel(/^Withdrawal/).fill("90000.00");
    expect(await used.count()).toBe(0);
    await dialog.getByRole("button", { name: "Try" }).click();
    await dialog.getByText("It would be refused now.").first().waitFor();
    await dialog.getByLabel(/^Lots/).fill("0.505");
    await dialog.getByRole("button", { name: "Try" }).click();
    await dialog
      .getByText(/must be a multiple of 0\.01/)
      .first()
      .waitFor();
    await page.keyboard.press("Escape");
    const { body } = await stack.api.call("GET", `/accounts/${account_id}/balance`);
    expect(body).toMatchObject({ balance_version: before.body["balance_version"], balance: before.body["balance"] });
  });
});
