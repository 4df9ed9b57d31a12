import type { Browser, Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, open, settled, sharedBrowser, type Visit, visitAs } from "../support/browser/browser.ts";
import { fundedAccount } from "../support/stack/api-client.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let owner: OperatorUser;
const visits: Visit[] = [];
let page: Page;

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  owner = await newOperator(stack, "owner");
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", owner);
  visits.push(visited);
  ({ page } = visited);
});
afterEach(async () => {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  expect(visits.flatMap(({ faults }) => faults)).toEqual([]);
});
afterAll(async () => {
  await leave(visits);
  await shared.stop();
  await stack?.stop();
});

/** Deposits of an account, as the service has them. */
async function depositsOf(account_id: string, amount: string): Promise<number> {
  const path = `/accounts/${account_id}/transactions?kind=deposit`;
  const { body } = await stack.api.call<{ data: readonly { amount: string }[] }>("GET", path);
  return body.data.filter((one) => one.amount === amount).length;
}

async function fillDeposit(account_id: string, amount: string): Promise<void> {
  await open(page, "/accounts");
  // As a person finds it, so that there is a way back.
  await page.keyboard.press("/");
  await page.keyboard.type(account_id);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === `/accounts/${account_id}`);
  await page.getByRole("button", { name: "Deposit" }).click();
  await page.getByLabel(/^Amount in/).fill(amount);
}

const dialog = () => page.getByRole("dialog");
const press = (name: string | RegExp) => dialog().getByRole("button", { name }).click();

/** Everything that closes a dialog while nothing is sent. */
const waysOut: Readonly<Record<string, () => Promise<unknown>>> = {
  Escape: () => page.keyboard.press("Escape"),
  "the button that cancels": () =>
    dialog().getByRole("button", { name: "Cancel" }).click({ timeout: 500, force: true }),
  "a click next to it": () => page.mouse.click(3, 500),
  "the way back": () => page.evaluate("history.back()"),
};

/** Holds the commands of the page; the function lets them through. */
async function hold(): Promise<() => void> {
  let go: () => void = () => undefined;
  const opened = new Promise<void>((done) => {
    go = done;
  });
  await page.route("**/v2/**", async (route) => {
    if (route.request().method() !== "GET") await opened;
    await route.continue();
  });
  return go;
}

/** Lets a command through and loses its answer, so often. */
async function loseAnswers(times: number): Promise<void> {
  let left = times;
  await page.route("**/v2/**", async (route: Route) => {
    const isCommand = route.request().method() !== "GET" && !route.request().url().endsWith("/stream_tickets");
    if (!isCommand || left === 0) return route.continue();
    left -= 1;
    await route.fetch();
    return route.abort("connectionreset");
  });
}

describe("a dialog that sends", () => {
  it.each(Object.keys(waysOut))("stays until the answer has come, whatever %s tries", async (name) => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    await fillDeposit(account_id, "14.00");
    const go = await hold();
    await press(/^Deposit 14.00/);
    await dialog().getByText("Sending…").waitFor();
    await waysOut[name]?.();
    await dialog().getByText("Sending…").waitFor();
    go();
    await dialog().waitFor({ state: "detached" });
    await page.locator(".announcement").getByText("done").waitFor();
    expect(await depositsOf(account_id, "14.00")).toBe(1);
  });

  it("says that a lost answer may have been a success, and books once when it is sent again", async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    await fillDeposit(account_id, "15.00");
    await loseAnswers(1);
    await press(/^Deposit 15.00/);
    await dialog().getByText("It may have been done.").waitFor();
    await press(/^Deposit 15.00/);
    await dialog().waitFor({ state: "detached" });
    expect(await depositsOf(account_id, "15.00")).toBe(1);
  });

  it("books once though it was closed, and the page reloaded, before the same is sent again", async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    await fillDeposit(account_id, "16.00");
    await loseAnswers(1);
    await press(/^Deposit 16.00/);
    await dialog().getByText("It may have been done.").waitFor();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "Deposit" }).waitFor();
    await settled(page);
    await fillDeposit(account_id, "16.00");
    await press(/^Deposit 16.00/);
    await dialog().waitFor({ state: "detached" });
    expect(await depositsOf(account_id, "16.00")).toBe(1);
    // The first one is answered now: the same amount is another deposit.
    await fillDeposit(account_id, "16.00");
    await press(/^Deposit 16.00/);
    await dialog().waitFor({ state: "detached" });
    expect(await depositsOf(account_id, "16.00")).toBe(2);
  });

  it("shows why it was refused, and sends what was corrected", async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    await fillDeposit(account_id, "17.001");
    await press(/^Deposit 17.001/);
    await dialog().getByRole("alert").waitFor();
    await page.getByLabel(/^Amount in/).fill("17.00");
    await press(/^Deposit 17.00/);
    await dialog().waitFor({ state: "detached" });
    expect(await depositsOf(account_id, "17.00")).toBe(1);
  });

  it("shows the secret of a new endpoint though its first answer was lost", async () => {
    await open(page, "/webhooks");
    await page.getByRole("button", { name: "Add endpoint" }).first().click();
    await page.getByLabel("URL").fill("http://127.0.0.1:9/secret");
    await loseAnswers(1);
    await press("Add");
    await dialog().getByText("It may have been done.").waitFor();
    await press("Add");
    await dialog().getByText("Copy the secret now.").waitFor();
    await page.keyboard.press("Escape");
    await dialog().getByLabel("I have stored the secret").check();
    await press("Done");
    await dialog().waitFor({ state: "detached" });
    const { body } = await stack.api.call<{ data: { id: string; url: string }[] }>("GET", "/webhook_endpoints");
    expect(body.data.filter(({ url }) => url.endsWith("/secret"))).toHaveLength(1);
    for (const { id } of body.data) await stack.api.call("DELETE", `/webhook_endpoints/${id}`);
  });

  it("disables an account once, which then offers to be enabled and no deposit", async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    await open(page, `/accounts/${account_id}`);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Disable" }).click();
    const go = await hold();
    await press("Disable");
    await page.keyboard.press("Escape");
    await dialog().getByText("Sending…").waitFor();
    go();
    await dialog().waitFor({ state: "detached" });
    await page.locator(".title-line").getByText("Disabled").waitFor();
    expect(await page.getByRole("button", { name: "Deposit" }).count()).toBe(0);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Enable" }).click();
    await press("Enable");
    await dialog().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Deposit" }).waitFor();
  });

  it("disables again what was enabled since an answer was lost", async () => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    const path = `/accounts/${account_id}`;
    const statusOf = async () => (await stack.api.call("GET", path)).body["status"];
    const disable = async () => {
      await open(page, path);
      await page.getByRole("button", { name: "More" }).click();
      await page.getByRole("button", { name: "Disable" }).click();
      await press("Disable");
    };
    await loseAnswers(1);
    await disable();
    await dialog().getByText("It may have been done.").waitFor();
    await page.keyboard.press("Escape");
    expect(await statusOf()).toBe("disabled");
    await stack.api.call("PATCH", path, { body: { status: "active" } });
    await open(page, "/accounts");
    await disable();
    await dialog().waitFor({ state: "detached" });
    expect(await statusOf()).toBe("disabled");
  });

  it("approves once though the answer was lost", async () => {
    const rule = { kind: "withdrawal", over: { USD: "1.00" }, approvers: 2 };
    await stack.api.call("PATCH", "/settings", { body: { approval_rules: [rule] } });
    const { account_id } = await fundedAccount(stack.api, "10.00");
    const body = { account_id, amount: "5.00" };
    const { id } = (await stack.api.call<{ id: string }>("POST", "/transactions/withdrawal", { body })).body;
    await open(page, `/approvals?open=${id}`);
    await loseAnswers(1);
    await page.getByRole("button", { name: /^Approve 5.00/ }).click();
    await page.getByText("It may have been done.").or(page.getByText("Nothing waits for you")).first().waitFor();
    await settled(page);
    const approved = await stack.api.call<{ approvals: unknown[] }>("GET", `/transactions/${id}`);
    expect(approved.body.approvals).toHaveLength(1);
  });
});

describe("a search", () => {
  it.each(["Escape", "another text"])("that was ended by %s never opens what it finds", async (how) => {
    const { account_id } = await fundedAccount(stack.api, "10.00");
    const { body } = await stack.api.call<{ number: string }>("GET", `/accounts/${account_id}`);
    await open(page, "/clients");
    let go: () => void = () => undefined;
    const opened = new Promise<void>((done) => {
      go = done;
    });
    await page.route("**/v2/accounts?number=*", async (route) => {
      await opened;
      await route.continue();
    });
    await page.keyboard.press("/");
    await page.keyboard.type(body.number);
    const [asked] = await Promise.all([
      page.waitForRequest((request) => request.url().includes("/v2/accounts?number=")),
      page.keyboard.press("Enter"),
    ]);
    if (how === "Escape") await page.keyboard.press("Escape");
    else await page.keyboard.type("9");
    const answered = page.waitForResponse((response) => response.request() === asked);
    go();
    await answered;
    await settled(page);
    expect(new URL(page.url()).pathname).toBe("/clients");
  });
});
