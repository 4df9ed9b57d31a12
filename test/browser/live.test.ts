import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { leave, open, settled, sharedBrowser, signInAs, type Visit, visit } from "../support/browser/browser.ts";
import { newOperator, type OperatorUser } from "../support/stack/operator-user.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { stretched } from "../support/wait.ts";

let stack: Stack;
let browser: Browser;
const shared = sharedBrowser();
let owner: OperatorUser;
let clientId: string;
let accountId: string;
const visits: Visit[] = [];

beforeAll(async () => {
  [stack, browser] = await Promise.all([sharedStack(), shared.start()]);
  owner = await newOperator(stack, "owner");
  const person = { email: "live@example.com", first_name: "Ana", last_name: "Silva" };
  clientId = (await post("/clients", person)).id;
  await post(`/sandbox/clients/${clientId}/verify`);
  accountId = (await post("/accounts", { client_id: clientId, type: "demo", currency: "USD", leverage: 100 })).id;
  await deposited("50000.00");
});
afterEach(async () => expect(await leave(visits)).toEqual([]));
afterAll(async () => {
  await shared.stop();
  await stack?.stop();
});

async function post(path: string, body?: object): Promise<{ id: string }> {
  const answer = await stack.api.call<{ id: string }>("POST", path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

async function deposited(amount: string): Promise<void> {
  const { id } = await post("/transactions/deposit", { account_id: accountId, amount, method: "card" });
  await post(`/sandbox/transactions/${id}/settle`);
}

/** A signed-in page, on which a script ran before those of the page. */
async function signedIn(before: (page: Page) => Promise<unknown>): Promise<Page> {
  const visited = await visit(browser, stack.cloud.dashboardUrl ?? "");
  visits.push(visited);
  await before(visited.page);
  await signInAs(visited.page, owner);
  await settled(visited.page);
  return visited.page;
}

const mostMs = stretched(1_000);

/** Each another amount, so that a page shows it once. */
let amounts = 100;
let trades = 0;
const nextAmount = () => {
  amounts += 1;
  return `${amounts}.77`;
};

interface Change {
  /** Makes a change; returns a text or a title that a page shows after it and not before. */
  readonly make: () => Promise<string>;
  readonly address: () => string;
}

const announce = async () => {
  const amount = nextAmount();
  await post("/transactions/deposit", { account_id: accountId, amount, method: "card" });
  return amount;
};

const register = async () => {
  amounts += 1;
  const email = `live-${amounts}@example.com`;
  const { id } = await post("/clients", { email, first_name: "Ana", last_name: "Silva" });
  return { id, email };
};

const price = async () => {
  amounts += 1;
  const bid = `1.0${amounts}1`;
  const ask = `1.0${amounts}3`;
  const body = { prices: [{ symbol: "EURUSD", bid, ask }] };
  await post("/sandbox/prices", body);
  return bid;
};

const settle = async () => {
  await deposited("1.00");
  const { body } = await stack.api.call<{ balance: string }>("GET", `/accounts/${accountId}`);
  return body.balance.replace(/^(\d+)(\d{3}\.)/, "$1,$2");
};

const trade = async () => {
  const symbol = "AUDUSD";
  trades += 1;
  const lots = `2.${30 + trades}`;
  await post("/sandbox/trades", { account_id: accountId, symbol, side: "buy", lots });
  return lots;
};

const changes: Readonly<Record<string, Change>> = {
  transactions: { address: () => "/transactions", make: announce },
  "transactions of a client": { address: () => `/clients/${clientId}?tab=transactions`, make: announce },
  clients: { address: () => "/clients", make: async () => (await register()).email },
  events: { address: () => "/events", make: async () => (await register()).id },
  "an account": { address: () => `/accounts/${accountId}`, make: settle },
  "positions of an account": { address: () => `/accounts/${accountId}?tab=positions`, make: trade },
  quotes: { address: () => "/symbols?open=EURUSD", make: price },
};

/** Milliseconds from the answer to a change until a page shows it. */
async function shownAfter(page: Page, { make }: Change, withinMs: number): Promise<number> {
  const text = await make();
  const answered = performance.now();
  await page.getByText(text).or(page.getByTitle(text)).first().waitFor({ timeout: withinMs });
  return performance.now() - answered;
}

describe("a page of the dashboard", () => {
  it("that does not poll shows a change within a second of the commit, by the stream", async () => {
    const page = await signedIn((one) => one.addInitScript({ content: "window.setInterval = () => 0;" }));
    await page.getByText("Live", { exact: true }).waitFor();
    const medians: [string, number][] = [];
    for (const [name, change] of Object.entries(changes)) {
      await open(page, change.address());
      // The first change of a page may start functions.
      await shownAfter(page, change, 20_000);
      const took: number[] = [];
      for (let times = 0; times < 3; times += 1) took.push(await shownAfter(page, change, 20_000));
      medians.push([name, Math.round(took.toSorted((one, other) => one - other)[1] ?? 0)]);
    }
    console.log(`Milliseconds from the commit to the page: ${JSON.stringify(Object.fromEntries(medians))}`);
    for (const [name, ms] of medians) expect({ name, isFast: ms < mostMs, ms }).toMatchObject({ isFast: true });
  }, 150_000);

  it("shows changes by polling where the stream is blocked", async () => {
    const page = await signedIn((one) => one.routeWebSocket(/./, (socket) => socket.close()));
    await page.getByText("Polling", { exact: true }).waitFor();
    for (const change of [changes["transactions"], changes["an account"]]) {
      if (change === undefined) continue;
      await open(page, change.address());
      await shownAfter(page, change, 15_000);
    }
    expect(await page.getByText("Live", { exact: true }).count()).toBe(0);
  });

  it("polls when the stream is lost, and is live again when it is back", async () => {
    let blocked = false;
    const sockets: { close(): unknown }[] = [];
    const page = await signedIn((one) =>
      one.routeWebSocket(/./, (socket) => {
        if (blocked) return void socket.close();
        sockets.push(socket);
        socket.connectToServer();
      }),
    );
    await page.getByText("Live", { exact: true }).waitFor();
    await open(page, "/transactions");
    blocked = true;
    for (const socket of sockets) socket.close();
    await page.getByText("Polling", { exact: true }).waitFor();
    await shownAfter(page, { make: announce, address: () => "" }, 15_000);
    blocked = false;
    await page.getByText("Live", { exact: true }).waitFor({ timeout: 40_000 });
  });
});
