import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AwsCall } from "../../../infra/local/cloud.ts";
import { accessToken, type Credentials } from "../../../infra/tools/api-call.ts";
import { eventDollars } from "../../../shared/domain/usage/event-cost.ts";
import { pricesOf } from "../../../shared/domain/usage/prices.ts";
import { pricedRegion, streamDollars } from "../../../shared/domain/usage/usage-report.ts";
import type { UsageBody } from "../../../shared/schema/reports/usage.ts";
import { apiClient, fundedAccount } from "../../support/stack/api-client.ts";
import { startReceiver } from "../../support/stack/receiver.ts";
import { type Stack, watchedStack } from "../../support/stack/stack.ts";
import { openStream } from "../../support/stack/stream-client.ts";
import { register } from "../../support/stack/webhooks.ts";
import { eventually } from "../../support/wait.ts";

const collector = "brokerage-sandbox-collect-usage";
const streamer = "brokerage-sandbox-stream-deliver";
const person = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };

const start = watchedStack();
let stack: Stack;
const calls: AwsCall[] = [];
let deadly: ((call: AwsCall) => boolean) | undefined;

beforeAll(async () => {
  stack = await start((call) => {
    if (call.phase === "after") calls.push(call);
    if (deadly?.(call) !== true) return;
    deadly = undefined;
    call.kill();
  });
});
afterAll(async () => stack?.stop());

const collect = () => stack.cloud.invoke(collector, { action: "collect" });

const dayOf = (moment: number) => new Date(moment).toISOString().slice(0, 10);

/** The usage of the days that a test may have run on, as the collector has counted it. */
async function usage(asking: ReturnType<typeof apiClient>, filters = ""): Promise<UsageBody> {
  const days = `from=${dayOf(Date.now() - 3_600_000)}&to=${dayOf(Date.now())}`;
  const reply = await asking.call<UsageBody>("GET", `/usage?${days}${filters}`);
  expect([reply.status, reply.text]).toEqual([200, reply.text]);
  return reply.body;
}

interface Consumed {
  readonly CapacityUnits: number;
}

/** The functions behind the requests of the script. */
const functions = [
  ...["create-webhook-endpoint", "create-client", "create-account", "create-deposit", "update-transaction"],
  ...["get-account", "list-clients", "get-client", "update-client"],
].map((id) => `brokerage-sandbox-${id}`);

/** Units that DynamoDB reported to these functions for their calls about a tenant. */
function unitsReported(tenant: string): { read_units: number; write_units: number } {
  const reported = { read_units: 0, write_units: 0 };
  const own = calls.filter(
    ({ functionName, service, body }) =>
      functions.includes(functionName) && service === "dynamodb" && JSON.stringify(body).includes(tenant),
  );
  for (const { action, answer = "{}" } of own) {
    const { ConsumedCapacity: consumed = [] } = JSON.parse(answer) as { ConsumedCapacity?: Consumed | Consumed[] };
    const kind = action === "Query" || action === "BatchGetItem" ? "read_units" : "write_units";
    for (const { CapacityUnits: units } of [consumed].flat()) reported[kind] += units;
  }
  return reported;
}

type Made = Credentials & { readonly tenant_id: string; readonly application_id: string };

/** A brokerage of its own, whose token is there already, and an application of it that asks for its usage. */
async function brokerage() {
  const provision = (tenant_id: string | null) =>
    stack.cloud.invoke("brokerage-sandbox-provision", {
      ...{ action: "create_application", tenant_id, name: "Test", scopes: null },
    });
  const worker = (await provision(null)).payload as Made;
  const reader = (await provision(worker.tenant_id)).payload as Made;
  const clientOf = async (made: Made) => apiClient(stack.baseUrl, await accessToken(stack.baseUrl, made));
  return { worker, reader, api: await clientOf(worker), asking: await clientOf(reader) };
}

describe("usage", () => {
  it("is what a script sent, in units what the database reported, whatever is killed or repeated", async () => {
    const receiver = await startReceiver();
    const { worker, api, asking } = await brokerage();
    await register(api, receiver.url);
    const { account_id, client_id } = await fundedAccount(api, "100.00");
    for (let turn = 0; turn < 7; turn += 1) expect((await api.call("GET", `/accounts/${account_id}`)).status).toBe(200);
    for (let turn = 0; turn < 3; turn += 1) expect((await api.call("GET", "/clients")).status).toBe(200);
    expect((await api.call("GET", "/clients/cli_01JD0000000000000000000000")).status).toBe(404);
    expect((await api.call("PATCH", `/clients/${client_id}`, { body: { nothing: 1 } })).status).toBe(422);
    expect((await api.call("POST", "/clients", { body: {} })).status).toBe(422);
    const reported = { ...unitsReported(worker.tenant_id) };
    const own = `&actor_id=${worker.application_id}`;
    const published = await eventually(async () => {
      const { body } = await asking.call<{ data: { actor: { id: string } }[] }>("GET", "/events?limit=100");
      const made = body.data.filter(({ actor }) => actor.id === worker.application_id);
      return made.some((event) => (event as { type?: string }).type === "transaction.completed") ? made : undefined;
    });

    // Killed before and after calls of each kind. Events that are counted are not counted again, so there are more.
    for (const phase of ["before", "after"] as const) {
      for (const action of ["FilterLogEvents", "UpdateItem"]) {
        deadly = (call) => call.functionName === collector && call.action === action && call.phase === phase;
        await expect(collect()).rejects.toThrow();
      }
    }
    // Brokerages are counted concurrently: after a run was killed, a call of it for another one may still end.
    for (const phase of ["before", "after"] as const) {
      deadly = ({ functionName, action, body, ...call }) =>
        functionName === collector &&
        action === "TransactWriteItems" &&
        call.phase === phase &&
        JSON.stringify(body).includes(worker.tenant_id);
      await expect(collect()).rejects.toThrow();
    }
    const counted = await eventually(async () => {
      expect(await collect()).not.toHaveProperty("functionError");
      const found = await usage(asking, own);
      return found.total.requests >= 18 && found.total.events >= published.length ? found : undefined;
    });
    await Promise.all([collect(), collect()]);
    const again = await usage(asking, own);
    expect(again).toEqual(counted);

    const requests = Object.fromEntries(
      [...new Set(counted.data.map(({ route_group }) => route_group))].map((group) => [
        group,
        counted.data.filter((row) => row.route_group === group).reduce((sum, row) => sum + row.requests, 0),
      ]),
    );
    expect(requests).toEqual({ accounts: 8, clients: 7, transactions: 2, webhook_endpoints: 1 });
    expect(counted.total).toMatchObject({ requests: 18, writes: 7, ...reported });
    expect(counted.total.events).toBe(published.length);
    expect(counted.total.deliveries).toBeGreaterThan(0);
    expect(Number(counted.total.requests_cost_usd)).toBeGreaterThan((18 * 3.7) / 1_000_000);
    // There is one endpoint: an event went to it or to none.
    const { events, deliveries } = counted.total;
    const prices = pricesOf(pricedRegion(counted.prices.region));
    const sent = deliveries * eventDollars(1, prices) + (events - deliveries) * eventDollars(0, prices);
    const priced = Number(counted.total.events_cost_usd);
    expect(Math.abs(priced - sent)).toBeLessThan(1e-8);
    const whole = Number(counted.total.requests_cost_usd) + priced;
    expect(Math.abs(Number(counted.total.cost_usd) - whole)).toBeLessThan(1e-8);
    await receiver.stop();
  });

  it("has the messages that a client of the stream received and sent, and its minutes, exactly", async () => {
    const { worker, api, asking } = await brokerage();
    const own = `&actor_id=${worker.application_id}`;
    const { ticket } = (await api.call<{ ticket: string }>("POST", "/stream_tickets")).body;
    const opened = Date.now();
    const client = await openStream(`${stack.cloud.streamUrl}?ticket=${ticket}`);
    client.send({ type: "subscribe", id: "1", channels: [{ name: "events", after_sequence: "0" }] });
    await client.next(({ type }) => type === "subscribed");
    await fundedAccount(api, "100.00");
    const last = await eventually(async () => {
      const { body } = await asking.call<{ data: { type: string; sequence: string }[] }>("GET", "/events?limit=100");
      const numbers = body.data.map(({ sequence }) => Number(sequence));
      return body.data.some(({ type }) => type === "transaction.completed") ? Math.max(...numbers) : undefined;
    });
    const brings = (message: { messages?: { sequence?: string }[] }, number: number) =>
      message.messages?.some(({ sequence }) => Number(sequence) >= number) ?? false;
    await client.next((message) => brings(message, last));
    // The worker dies when it is about to store what the client has: it sends that again, and both count.
    const isSaving = ({ body }: AwsCall) => JSON.stringify(body).includes("cursor_version");
    deadly = (call) => call.functionName === streamer && call.phase === "before" && isSaving(call);
    expect((await api.call("POST", "/clients", { body: person })).status).toBe(201);
    for (const _time of ["first", "second"]) await client.next((message) => brings(message, last + 1));
    expect(deadly).toBeUndefined();
    const pings = 3;
    for (let turn = 0; turn < pings; turn += 1) {
      client.send({ type: "ping", id: String(turn) });
      await client.next(({ type }) => type === "pong");
    }
    const [received, sent] = [client.count(), 1 + pings];
    await client.close();
    const minutes = Math.ceil((Date.now() - opened) / 60_000);

    // Of each kind of call that a run makes for this, one is the last thing that it does.
    for (const phase of ["before", "after"] as const) {
      for (const action of ["FilterLogEvents", "UpdateItem"]) {
        deadly = (call) => call.functionName === collector && call.action === action && call.phase === phase;
        await expect(collect()).rejects.toThrow();
      }
    }
    const counted = await eventually(async () => {
      await collect();
      const found = await usage(asking, own);
      return found.total.connection_minutes > 0 && found.total.messages_sent >= received ? found : undefined;
    });
    await Promise.all([collect(), collect()]);
    expect(await usage(asking, own)).toEqual(counted);
    const { messages_sent, messages_received, connection_minutes } = counted.total;
    expect({ messages_sent, messages_received, connection_minutes }).toEqual({
      messages_sent: received,
      messages_received: sent,
      connection_minutes: minutes,
    });
    expect(counted.stream).toMatchObject([{ actor_id: worker.application_id, messages_sent, messages_received }]);
    const prices = pricesOf(pricedRegion(counted.prices.region));
    expect(counted.total.stream_cost_usd).toBe(streamDollars(counted.total, prices).toFixed(9));
    expect((await usage(asking, `&actor_id=${worker.tenant_id}`)).stream).toEqual([]);
  });
});
