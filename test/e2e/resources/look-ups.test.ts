import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fundedAccount, someClient } from "../../support/stack/api-client.ts";
import { type Stack, sharedStack } from "../../support/stack/stack.ts";
import { eventually } from "../../support/wait.ts";

/** Members that are read of an answer. */
interface Answer {
  readonly id: string;
  readonly email: string;
  readonly data: readonly { readonly id: string; readonly account_id: string }[];
}

let stack: Stack;
let client: { readonly id: string; readonly email: string };
let account_id: string;
/** A trade that is closed, one that is open with its position, and an order that waits. */
let closed: string;
let open: string;
let position: string;
let order: string;

const post = async (path: string, body: object = {}) => {
  const answer = await stack.api.call<Answer>("POST", path, { body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};

const get = async (path: string) => {
  const answer = await stack.api.call<Answer>("GET", path);
  expect(answer.status, answer.text).toBe(200);
  return answer;
};

beforeAll(async () => {
  stack = await sharedStack();
  const { client_id, account_id: funded } = await fundedAccount(stack.api, "5000.00");
  account_id = funded;
  const email = someClient()["email"];
  for (const [path, body] of [
    [`/clients/${client_id}`, { email }],
    [`/accounts/${account_id}`, { platform_login: "1001" }],
  ] as const) {
    const moved = await stack.api.call("PATCH", path, { body });
    expect(moved.status, moved.text).toBe(200);
  }
  client = (await get(`/clients/${client_id}`)).body;
  const deal = { account_id, symbol: "EURUSD", side: "buy", lots: "0.10" };
  closed = (await post("/sandbox/trades", deal)).id;
  await post(`/sandbox/trades/${closed}/close`);
  open = (await post("/sandbox/trades", deal)).id;
  position = open.replace("trd_", "pos_");
  order = (await post("/sandbox/orders", { ...deal, type: "limit", price: "0.50000" })).id;
});
afterAll(async () => stack?.stop());

/** Each list once by each of its indexes that a filter or an order leads to. */
const lists: readonly (readonly [path: () => string, ids: () => readonly string[]])[] = [
  [() => `/clients?email=${client.email}`, () => [client.id]],
  [() => "/accounts", () => [account_id]],
  [() => `/clients/${client.id}/accounts?platform_login=1001`, () => [account_id]],
  [() => `/clients/${client.id}/trades?sort=-close_at`, () => [closed]],
  [() => `/accounts/${account_id}/trades?sort=-close_at`, () => [closed]],
  [() => "/trades?status=open", () => [open]],
  [() => `/trades?account_id=${account_id}&sort=-close_at`, () => [closed]],
  [() => "/positions?symbol=EURUSD", () => [position]],
  [() => `/positions?account_id=${account_id}`, () => [position]],
  [() => `/orders?account_id=${account_id}&status=pending`, () => [order]],
  [() => "/accounts?margin_status=margin_call", () => []],
];

describe("a list by what its index is made of", () => {
  it("has what was written, once the index shows it", async () => {
    for (const [path, ids] of lists) {
      await expect.poll(async () => (await get(path())).body.data.map(({ id }) => id)).toEqual(ids());
    }
  });

  it("of transactions is that of one account or one client", async () => {
    for (const filter of [`account_id=${account_id}`, `client_id=${client.id}`]) {
      const { body } = await get(`/transactions?${filter}`);
      expect([...new Set(body.data.map((one) => one.account_id))]).toEqual([account_id]);
    }
  });

  it("of margin levels has the account with its open position", async () => {
    const watched = async () => (await get("/accounts/margin_watch")).body.data.map((one) => one.account_id);
    await expect.poll(watched).toEqual([account_id]);
  });

  it("of events is that of one account or one resource", async () => {
    for (const filter of [`account_id=${account_id}`, `resource_id=${client.id}`]) {
      await expect.poll(async () => (await get(`/events?${filter}`)).body.data.length).toBeGreaterThan(0);
    }
  });

  it("of metrics has those of the accounts that were asked for, as their balance has", async () => {
    const { body, text } = await get(`/accounts/metrics?account_ids=${account_id}`);
    expect(body.data, text).toHaveLength(1);
    expect((await get(`/accounts/${account_id}/balance`)).text).toContain("equity");
  });
});

describe("the audit of a person", () => {
  it("is found by the person and by the application, and its values are opened by the key of the person", async () => {
    const id = await eventually(async () => (await get(`/audit_log?resource=${client.id}`)).body.data[0]?.id);
    expect((await get(`/audit_log/${id}`)).text).toContain(client.email);
    const { body } = await get(`/audit_log?actor=${stack.application_id}`);
    expect(body.data.map((entry) => entry.id)).toContain(id);
  });
});

describe("an account with an open position", () => {
  it("is disabled, and its position stays", async () => {
    const disabled = await stack.api.call("DELETE", `/accounts/${account_id}`);
    expect(disabled.status, disabled.text).toBe(200);
    expect((await get(`/accounts/${account_id}/positions`)).body.data.map(({ id }) => id)).toEqual([position]);
  });
});
