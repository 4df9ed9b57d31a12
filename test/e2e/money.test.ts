import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fundedAccount, someClient } from "../support/stack/api-client.ts";
import { type Stack, watchedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

const start = watchedStack();
let stack: Stack;
beforeAll(async () => {
  stack = await start();
});
afterAll(async () => stack?.stop());

interface AccountShown {
  readonly balance: string;
  readonly held: string;
  readonly available_balance: string;
  readonly balance_version: number;
}

const many = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));

async function shown(account_id: string): Promise<AccountShown> {
  return (await stack.api.call<AccountShown>("GET", `/accounts/${account_id}`)).body;
}

/** Each of them may start a process of its function; the long form sends more. */
const atOnce = Number(process.env["MONEY_AT_ONCE"] ?? 20);

describe("requests at once", () => {
  it("accept exactly the nine withdrawals that the balance covers, and answer none with 503", async () => {
    const { account_id } = await fundedAccount(stack.api, "1000.00");
    const body = { account_id, amount: "100.01" };
    const replies = await many(atOnce, () => stack.api.call("POST", "/transactions/withdrawal", { body }));
    const count = (status: number) => replies.filter((reply) => reply.status === status).length;
    expect({ accepted: count(201), refused: count(422), other: atOnce - count(201) - count(422) }).toEqual({
      accepted: 9,
      refused: atOnce - 9,
      other: 0,
    });
    expect(await shown(account_id)).toMatchObject({ balance: "1000.00", held: "900.09", available_balance: "99.91" });
  });

  it("under one key make one withdrawal and answer all of them alike", async () => {
    const { account_id } = await fundedAccount(stack.api, "1000.00");
    const options = { body: { account_id, amount: "100.01" }, headers: { "Idempotency-Key": "one-key-for-all" } };
    const replies = await many(atOnce, () => stack.api.call("POST", "/transactions/withdrawal", options));
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(201);
    expect(replies.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
    expect(await shown(account_id)).toMatchObject({ held: "100.01", available_balance: "899.99" });
  });

  it("completing different deposits of one account post each of them once, numbered without a gap", async () => {
    const { account_id } = await fundedAccount(stack.api, "1.00");
    const deposits = await many(20, async () => {
      const reply = await stack.api.call("POST", "/transactions/deposit", { body: { account_id, amount: "10.10" } });
      return (JSON.parse(reply.text) as { id: string }).id;
    });
    const replies = await many(20, (index) =>
      stack.api.call("PATCH", `/transactions/${deposits[index]}`, { body: { status: "completed" } }),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await shown(account_id)).toMatchObject({ balance: "203.00", balance_version: 21 });
    const ledger = await stack.api.call<{ data: { balance_version: number }[] }>(
      "GET",
      `/accounts/${account_id}/ledger?limit=100`,
    );
    expect(ledger.body.data.map((entry) => entry.balance_version)).toEqual(
      Array.from({ length: 21 }, (_, i) => 21 - i),
    );
  });

  it("moving one withdrawal to different ends let exactly one win", async () => {
    const { account_id } = await fundedAccount(stack.api, "500.00");
    const { body } = await stack.api.call<{ id: string }>("POST", "/transactions/withdrawal", {
      body: { account_id, amount: "200.00" },
    });
    const ends = [{ status: "completed" }, { status: "cancelled" }, { status: "rejected", reason: { code: "other" } }];
    const replies = await many(18, (index) =>
      stack.api.call("PATCH", `/transactions/${body.id}`, { body: ends[index % 3] }),
    );
    const end = (await stack.api.call<{ status: string }>("GET", `/transactions/${body.id}`)).body.status;
    for (const [index, reply] of replies.entries()) {
      const asked = ends[index % 3]?.status;
      expect([asked, reply.status]).toEqual([asked, asked === end ? 200 : 409]);
    }
    expect(await shown(account_id)).toMatchObject({ held: "0.00", balance: end === "completed" ? "300.00" : "500.00" });
  });
});

describe("the events of a story", () => {
  it("appear once each, in the order of the commits, as GET shows the resource", async () => {
    const other = await stack.newApplication();
    const client = await other.api.call<{ id: string }>("POST", "/clients", { body: someClient() });
    const account = await other.api.call<{ id: string }>("POST", "/accounts", { body: { client_id: client.body.id } });
    const deposit = await other.api.call<{ id: string }>("POST", "/transactions/deposit", {
      body: { account_id: account.body.id, amount: "12.34" },
    });
    const done = await other.api.call("PATCH", `/transactions/${deposit.body.id}`, { body: { status: "completed" } });
    interface Shown {
      id: string;
      type: string;
      sequence: string;
      data: { object: unknown };
    }
    const events = await eventually(async () => {
      const { body } = await other.api.call<{ data: Shown[] }>("GET", "/events");
      return body.data.length >= 5 ? body.data : undefined;
    });
    expect(events.map(({ type, sequence }) => [sequence, type])).toEqual([
      ["1", "client.created"],
      ["2", "account.created"],
      ["3", "transaction.created"],
      ["4", "transaction.completed"],
      ["5", "transaction.updated"],
    ]);
    expect(events.map(({ data }) => data.object)).toEqual([
      client.body,
      account.body,
      deposit.body,
      done.body,
      done.body,
    ]);
    const one = await other.api.call("GET", `/events/${events[2]?.id}`);
    expect(one.body).toEqual(events[2]);
    const after = await other.api.call<{ data: Shown[] }>("GET", "/events?after_sequence=2&limit=1");
    expect(after.body.data.map(({ sequence }) => sequence)).toEqual(["3"]);
    expect((await stack.api.call("GET", `/events/${events[2]?.id}`)).status).toBe(404);
  });
});
