import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { someClient } from "../support/stack/api-client.ts";
import { type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { callsTo, eventOf, register } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  [stack, receiver] = await Promise.all([sharedStack(), startReceiver()]);
});
afterAll(async () => {
  await stack?.stop();
  await receiver?.stop();
});

interface Driven {
  readonly reached_margin_level: string;
  readonly before: { readonly margin_level: string };
  readonly after: { readonly margin_level: string | null; readonly margin_status: string; readonly balance: string };
  readonly effects: { readonly complete: boolean };
  readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: string }[];
  readonly events_complete: boolean;
}

async function done<T = { id: string }>(method: string, path: string, body?: object): Promise<T> {
  const reply = await stack.api.call<T>(method, path, body === undefined ? {} : { body });
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
  return reply.body;
}

describe("an integrator alone with the sandbox", () => {
  it("takes an account from nothing over two margin calls to a stop-out, and hears of each step in order", async () => {
    await register(stack.api, `${receiver.url}/story`, { event_types: ["*", "margin.recovered"] });
    const client = await done("POST", "/clients", someClient());
    await done("POST", `/sandbox/clients/${client.id}/verify`);
    const account = await done("POST", "/accounts", { client_id: client.id, type: "demo", leverage: 100 });
    const deposit = await done("POST", "/transactions/deposit", { account_id: account.id, amount: "2000.00" });
    await done("PATCH", `/transactions/${deposit.id}`, { status: "completed" });
    const wanted = { account_id: account.id, symbol: "EURUSD", side: "buy", type: "limit", lots: "1.00" };
    const order = await done("POST", "/sandbox/orders", { ...wanted, price: "1.09500" });
    await done("POST", "/sandbox/prices", { prices: [{ symbol: "EURUSD", ask: "1.09500" }] });
    // The stream continues the effects of a price that do not fit its request.
    const trade_id = await eventually(async () => {
      const filled = await done<{ trade_id: string | null }>("GET", `/orders/${order.id}`);
      return filled.trade_id ?? undefined;
    });
    expect(await done("GET", `/trades/${trade_id}`)).toMatchObject({ status: "open", open_price: "1.09500" });

    const drive = async (margin_level: string) => {
      const driven = await done<Driven>("POST", `/sandbox/accounts/${account.id}/drive`, { margin_level });
      const { events_complete, effects, events } = driven;
      expect([events_complete, effects.complete]).toEqual([true, true]);
      return { ...driven, types: events.map(({ type }) => type) };
    };
    const called = await drive("80.00");
    expect(called.types).toEqual(["margin.call"]);
    expect(called).toMatchObject({ reached_margin_level: "79.95", after: { margin_status: "margin_call" } });
    expect((await drive("95.00")).types).toEqual([]);
    expect((await drive("80.00")).types).toEqual([]);
    expect((await drive("120.00")).types).toEqual(["margin.recovered"]);
    expect((await drive("80.00")).types).toEqual(["margin.call"]);
    const stopped = await drive("40.00");
    expect(stopped.types).toEqual(["trade.closed", "stop.out", "margin.recovered"]);
    expect(stopped.after).toMatchObject({ margin_level: null, margin_status: "normal" });
    expect(await done("GET", `/trades/${trade_id}`)).toMatchObject({ status: "closed", close_reason: "stop_out" });

    const story = [
      ...["client.created", "client.verified", "account.created", "transaction.created", "transaction.completed"],
      ...["trade.opened", "margin.call", "margin.recovered", "margin.call", "trade.closed", "stop.out"],
      "margin.recovered",
    ];
    const heard = await eventually(() => {
      const events = callsTo(receiver, "/story").map(eventOf);
      return events.length >= story.length ? events : undefined;
    });
    const inOrder = heard.toSorted((a, b) => Number(a.sequence) - Number(b.sequence));
    expect(inOrder.map(({ type }) => type)).toEqual(story);
    const sequences = new Set(inOrder.map(({ sequence }) => sequence));
    expect(sequences.size).toBe(story.length);
    const told = stopped.events.map(({ id }) => id);
    expect(inOrder.slice(-3).map(({ id }) => id)).toEqual(told);
  });
});
