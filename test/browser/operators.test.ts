import { once } from "node:events";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  leave,
  open,
  settled,
  sharedBrowser,
  signInAs,
  type Visit,
  visit,
  visitAs,
} from "../support/browser/browser.ts";
import { apiClient, fundedAccount } from "../support/stack/api-client.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { openStream } from "../support/stack/stream-client.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let receiver: Receiver;
let people: Readonly<Record<"owner" | "finance", OperatorUser>>;
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser, receiver] = await Promise.all([sharedStack(), shared.start(), startReceiver()]);
  const [owner, finance] = await Promise.all([newOperator(stack, "owner"), newOperator(stack, "finance")]);
  people = { owner, finance };
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await receiver?.stop();
  await stack?.stop();
});

async function at(role: keyof typeof people, address: string): Promise<Page> {
  const visited = await visitAs(browser, stack.cloud.dashboardUrl ?? "", people[role], address);
  visits.push(visited);
  return visited.page;
}

async function made(path: string, body: object): Promise<string> {
  const { status, text, body: answer } = await stack.api.call<{ id: string }>("POST", path, { body });
  expect([status, text]).toEqual([201, text]);
  return answer.id;
}

describe("an operator", () => {
  // A receiver may answer anything: markup, and sequences that would colour or clear a terminal.
  const reply = '<script>alert(1)</script><img src=x onerror="alert(2)">\u001b[31mred\u001b[2J';

  it("sees a stop-out fail at its receiver, reads the reply as text, and delivers it again", async () => {
    receiver.answer = (_, answer) => void answer.writeHead(410).end(reply);
    await made("/webhook_endpoints", { url: `${receiver.url}/crm`, event_types: ["stop.out"] });
    const { account_id } = await fundedAccount(stack.api, "1000.00");
    await made("/sandbox/trades", { account_id, symbol: "EURUSD", side: "buy", lots: "0.20" });

    const page = await at("owner", `/sandbox?account_id=${account_id}`);
    await page.getByRole("button", { name: "Drive…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drive" }).click();
    const result = page.locator(".result");
    await result.getByText("Trades closed").waitFor();
    await result.getByRole("link", { name: "stop.out" }).waitFor();

    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByRole("link", { name: `${receiver.url}/crm` }).click();
    await page.getByRole("link", { name: "stop.out" }).click();
    const opened = page.locator(".opened");
    await opened.getByText("410", { exact: true }).waitFor();
    expect(await opened.locator("pre.code").first().textContent()).toContain("<script>alert(1)</script><img src=x");
    receiver.answer = (_, answer) => void answer.end();
    // An address that is gone is disabled, which ends its deliveries.
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Enable" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("r");
    await opened.getByText("Succeeded").waitFor();
    const [first, second] = receiver.received.filter(({ path }) => path === "/crm");
    expect(second?.body).toBe(first?.body);
  });

  it("whose session has ended at the pool signs in again and is at the same address and filters", async () => {
    const page = await at("finance", "/transactions?status=pending&kind=withdrawal");
    const { pathname, search } = new URL(page.url());
    expect(pathname + search).toBe("/transactions?status=pending&kind=withdrawal");
    await settled(page);
    const { pool } = stack.cloud;
    pool?.admin.call("AdminUserGlobalSignOut", { UserPoolId: pool.settings.id, Username: people.finance.email });
    // Only the list that is asked for next: a refresh that comes before would end the session too early.
    const next = /\/v2\/transactions\?.*method=card/;
    await page.route(next, (route) => route.fulfill({ status: 401, body: "{}" }));
    await page.getByLabel("method").selectOption("card");
    await page.getByRole("alert").getByText("Your session has ended").waitFor();
    await page.unroute(next);
    await signInAs(page, people.finance);
    await page.getByRole("heading", { name: "Transactions" }).waitFor();
    expect(new URL(page.url()).search).toBe("?status=pending&kind=withdrawal&method=card");
  });
});

describe("a person of two brokerages", () => {
  it("chooses one by its name, is there again the next time, and switches", async () => {
    const other = await stack.newApplication();
    const names = [
      [stack, "First Markets"],
      [other, "Second Markets"],
    ] as const;
    for (const [{ api }, name] of names) {
      expect((await api.call("PATCH", "/settings", { body: { name } })).body).toMatchObject({ name });
    }
    const person = await newOperator(stack, "viewer");
    const url = stack.cloud.dashboardUrl ?? "";
    const visited = await visitAs(browser, url, person);
    visits.push(visited);
    const { page } = visited;
    await settled(page);
    await newOperator(stack, "support", other, person);
    // The link of the invitation accepts it; from then on there are two to choose from.
    await page.goto(new URL(`/?brokerage=${other.tenant_id}`, url).href);
    const role = (name: string) => page.locator(".person").getByText(name, { exact: true });
    await role("support").waitFor();
    await page.getByRole("button", { name: "Switch brokerage" }).click();
    await page.getByRole("button", { name: "First Markets" }).click();
    await role("viewer").waitFor();
    await page.reload();
    await role("viewer").waitFor();
    await page.getByRole("button", { name: "Switch brokerage" }).click();
    await page.getByRole("button", { name: "Second Markets" }).click();
    await role("support").waitFor();
  });
});

describe("a sign-out", () => {
  it("leaves no refresh token, no token and no stream of the sign-in behind", async () => {
    const visited = await visit(browser, stack.cloud.dashboardUrl ?? "");
    visits.push(visited);
    const { page } = visited;
    const pool = page.waitForResponse(/\/oauth2\/token$/);
    const own = page.waitForResponse(/\/v2\/oauth\/token$/);
    await signInAs(page, people.finance);
    const { refresh_token } = (await (await pool).json()) as { refresh_token: string };
    const { access_token } = (await (await own).json()) as { access_token: string };
    await settled(page);
    const api = apiClient(stack.baseUrl, access_token);
    expect((await api.call("GET", "/me")).status).toBe(200);
    // A stream of the same sign-in that the page does not know of.
    const { socket } = await openStream(stack.cloud.streamUrl ?? "", access_token);
    const ended = once(socket, "close");

    const revoked = [/\/oauth2\/revoke$/, /\/v2\/oauth\/revoke$/].map((url) => page.waitForResponse(url));
    const began = performance.now();
    await page.getByRole("button", { name: "Sign out" }).click();
    for (const answer of revoked) expect((await answer).status()).toBe(200);
    const command = await api.call("POST", "/transactions/txn_01JD0000000000000000000002/approve");
    expect([command.status, command.body["code"]]).toEqual([401, "unauthenticated"]);
    await ended;
    process.stdout.write(`Signed out: the last of it ended after ${(performance.now() - began).toFixed(0)} ms.\n`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();

    const { issuer, client_id } = stack.cloud.pool?.addresses ?? { issuer: "", client_id: "" };
    const body = new URLSearchParams({ grant_type: "refresh_token", client_id, refresh_token });
    const refresh = await fetch(new URL("/oauth2/token", issuer), { method: "POST", body });
    expect([refresh.status, await refresh.json()]).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
    // The pool asks for the password again.
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByLabel("Password").waitFor();
  });
});

describe("the queue of approvals", () => {
  it("is walked by keyboard: two operators approve what is over the rule, and one rejects with a reason", async () => {
    const rule = { kind: "withdrawal", over: { USD: "50.00" }, approvers: 2, roles: ["finance", "owner"] };
    const { status, text } = await stack.api.call("PATCH", "/settings", { body: { approval_rules: [rule] } });
    expect([status, text]).toEqual([200, text]);
    const { account_id } = await fundedAccount(stack.api, "1000.00");
    const withdrawal = (amount: string) => made("/transactions/withdrawal", { account_id, amount });
    const ids = [await withdrawal("60.00"), await withdrawal("70.00"), await withdrawal("80.00")];
    const stateOf = async (id = "") =>
      (await stack.api.call<{ status: string; status_reason: unknown }>("GET", `/transactions/${id}`)).body;

    for (const role of ["finance", "owner"] as const) {
      const page = await at(role, "/");
      const amount = page.locator(".opened .decide");
      await settled(page);
      for (const key of ["g", "q"]) await page.keyboard.press(key);
      await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
      await page.getByText("60.00").waitFor();
      await page.keyboard.press("j");
      await amount.getByText("60.00").waitFor();
      await page.keyboard.press("j");
      await amount.getByText("70.00").waitFor();
      await page.keyboard.press("k");
      await amount.getByText("60.00").waitFor();
      await page.keyboard.press("Enter");
      expect((await stateOf(ids[0])).status).toBe("pending");
      await page.keyboard.press("a");
      await page.keyboard.press("Enter");
      await page.locator(".list").getByText("60.00").waitFor({ state: "detached" });
      expect((await stateOf(ids[0])).status).toBe(role === "finance" ? "pending" : "approved");
    }

    const [, owner] = visits;
    const page = owner?.page as Page;
    await open(page, `/approvals?open=${ids[1]}`);
    await page.keyboard.press("r");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
    for (let tabs = 0; tabs < 6 && !(await focusIsIn(page, "textarea")); tabs += 1) await page.keyboard.press("Tab");
    await page.keyboard.type("The name of the holder differs.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await stateOf(ids[1])).toMatchObject({
      status: "rejected",
      status_reason: { code: "wrong_details", message: "The name of the holder differs." },
    });
    expect((await stateOf(ids[2])).status).toBe("pending");
  });
});

const focusIsIn = (page: Page, selector: string) => page.evaluate(`document.activeElement.matches("${selector}")`);
