import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, settled, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { someClient } from "../support/stack/api-client.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

async function at(user: OperatorUser): Promise<Page> {
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", user);
  visits.push(visited);
  return visited.page;
}

async function made(method: string, path: string, body: object): Promise<string> {
  const reply = await stack.api.call<{ id: string }>(method, path, { body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body.id;
}

/** An account of a platform with nothing here and 98.00 there, and the drift that a snapshot has found. */
async function driftOf98(): Promise<{ readonly source: string; readonly account_id: string; readonly drift: string }> {
  const source = await made("POST", "/feed/sources", { name: "mt5:drift", platform: "mt5", first_seq: "1" });
  const client_id = await made("POST", "/clients", someClient());
  const link = { platform: "mt5", platform_login: "50012399", source_id: source };
  const account_id = await made("POST", "/accounts", { client_id, type: "demo", ...link });
  const snapshot = { snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: "1", part: 1, parts: 1 };
  const items = [{ seq: "1", type: "account_update", data: { platform_login: "50012399", leverage: 20 } }];
  await made("POST", `/feed/sources/${source}/batches`, { first_seq: "1", items });
  const accounts = [{ platform_login: "50012399", balance: "98.00", credit: "0.00", positions: [] }];
  await made("POST", `/feed/sources/${source}/snapshots`, { ...snapshot, complete: false, accounts });
  const drift = await eventually(async () => {
    const { body } = await stack.api.call<{ data: { id: string }[] }>("GET", `/drift?source_id=${source}`);
    return body.data[0]?.id;
  });
  return { source, account_id, drift };
}

async function openDrift(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Feeds", exact: true }).click();
  await page.getByRole("link", { name: /mt5:drift/ }).click();
  await page.getByRole("link", { name: /Drift/ }).first().click();
  await page.getByRole("row").filter({ hasText: "98.00" }).getByRole("link").first().click();
}

describe("a difference between two books", () => {
  it("has no answer chosen, says what each one books, and is booked when a second person agrees", async () => {
    const { account_id, drift } = await driftOf98();
    const page = await at(await newOperator(stack, "finance"));
    await openDrift(page);
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/Books \+98\.00 of balance here, which is 98\.00 then/).waitFor();
    expect(await dialog.getByRole("radio", { checked: true }).count()).toBe(0);
    await dialog.getByRole("button", { name: "Resolve" }).click();
    await dialog.locator(".field-error").first().waitFor();
    await dialog.getByLabel(/Books \+98\.00 of balance here/).check();
    await dialog.getByRole("button", { name: "Book +98.00 here" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await stack.api.call("GET", `/drift/${drift}`)).body).toMatchObject({ status: "open" });

    const other = await at(await newOperator(stack, "finance"));
    await openDrift(other);
    const second = other.getByRole("dialog");
    await second.getByLabel(/proposed this\. It is done when you agree/).check();
    await second.getByRole("button", { name: "Agree: Book +98.00 here" }).click();
    await second.waitFor({ state: "detached" });
    expect((await stack.api.call("GET", `/drift/${drift}`)).body).toMatchObject({ status: "resolved" });
    expect((await stack.api.call("GET", `/accounts/${account_id}/balance`)).body).toMatchObject({ balance: "98.00" });
  });
});

describe("the approval rules", () => {
  it("are changed by rows, with amounts as they are shown", async () => {
    const page = await at(await newOperator(stack, "owner"));
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByRole("button", { name: "Change rules" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Add rule" }).click();
    const rule = dialog.getByRole("group", { name: "Rule 1" });
    await rule.getByLabel("Over, in USD").fill("5,000.00");
    await rule.getByLabel("Approvers").selectOption("2");
    await rule.getByLabel("Finance").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Withdrawal over 5,000.00 USD: 2 approvers of finance").first().waitFor();
  });
});

describe("the search box", () => {
  it("says while it is typed that no client begins with a text", async () => {
    const page = await at(await newOperator(stack, "support"));
    await settled(page);
    await page.keyboard.press("/");
    await page.keyboard.type("zzzzqq");
    await page.getByRole("status").getByText("No client begins with this.").waitFor();
  });
});

describe("the owner of an empty brokerage", () => {
  it("is led through the first steps, each with a tick when it is done", async () => {
    const page = await at(await newOperator(stack, "owner", await stack.newApplication()));
    const steps = page.locator("section", { hasText: "First steps" });
    await steps.getByRole("link", { name: /Create the first client/ }).waitFor();
    expect(await steps.getByText("done").count()).toBe(0);
    await steps.getByRole("link", { name: /Invite a second person/ }).click();
    await page.getByRole("heading", { name: "Operators" }).waitFor();
  });
});
