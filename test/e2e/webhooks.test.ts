import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, type ApiReply, someClient } from "../support/stack/api-client.ts";
import { answerWith, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import {
  arrivals,
  callsTo,
  eventOf,
  quantiles,
  type ReceivedEvent,
  register,
  verified,
} from "../support/stack/webhooks.ts";
import { eventually, stretched } from "../support/wait.ts";

/** How many deliveries are timed, and how many events each of three applications writes; the long form has more. */
const timed = Number(process.env["WEBHOOKS_TIMED"] ?? 11);
const each = Number(process.env["EVENTS_EACH"] ?? 12);

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  [stack, receiver] = await Promise.all([sharedStack(), startReceiver()]);
  receiver.answer = (call, reply) => answerWith(statusAt.get(call.path) ?? 200)(call, reply);
});
afterAll(async () => {
  await stack?.stop();
  await receiver?.stop();
});

/** Status at a path that does not accept. */
const statusAt = new Map<string, number>();

const at = (path: string) => `${receiver.url}${path}`;

async function done<T = Record<string, unknown>>(
  api: ApiClient,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiReply<T>> {
  const reply = await api.call<T>(method, path, { body });
  expect([method, path, reply.status, reply.text]).toEqual([
    method,
    path,
    expect.toBeOneOf([200, 201, 202]),
    reply.text,
  ]);
  return reply;
}

const shown = async (api: ApiClient, path: string) => (await done(api, "GET", path)).body;
const newClient = async (api: ApiClient) => (await done<{ id: string }>(api, "POST", "/clients", someClient())).body;
const bySequence = (events: readonly ReceivedEvent[]) =>
  events.toSorted((a, b) => Number(a.sequence) - Number(b.sequence));

/** The delivery of a call, once its attempts are over. */
function settled(api: ApiClient, delivery_id: unknown): Promise<Record<string, unknown>> {
  return eventually(async () => {
    const { body } = await done(api, "GET", `/deliveries/${delivery_id}`);
    return body["completed_at"] === null ? undefined : body;
  });
}

describe("a client, an account and a completed deposit", () => {
  it("bring exactly their four events, verified by three vendors, as GET returned them, in order", async () => {
    const { api } = await stack.newApplication();
    const { secret } = await register(api, at("/four"));
    const client = await newClient(api);
    const { id: account } = (await done<{ id: string }>(api, "POST", "/accounts", { client_id: client.id })).body;
    const opened = await shown(api, `/accounts/${account}`);
    const deposit = { account_id: account, amount: "1000.00" };
    const { id } = (await done<{ id: string }>(api, "POST", "/transactions/deposit", deposit)).body;
    const pending = await shown(api, `/transactions/${id}`);
    await done(api, "PATCH", `/transactions/${id}`, { status: "completed" });
    const completed = await shown(api, `/transactions/${id}`);
    const calls = await arrivals(receiver, "/four", 4);
    for (const call of calls) {
      const event = eventOf(call);
      expect(verified(call, secret)).toEqual([event, event, event]);
      expect([call.headers["webhook-id"], call.headers["x-service-event"]]).toEqual([event.id, event.type]);
    }
    const told = bySequence(calls.map(eventOf));
    expect(told.map(({ type, data }) => [type, data.object])).toEqual([
      ["client.created", client],
      ["account.created", opened],
      ["transaction.created", pending],
      ["transaction.completed", completed],
    ]);
    const log = (await shown(api, "/events?limit=100"))["data"] as readonly ReceivedEvent[];
    expect(bySequence(log).filter(({ type }) => !type.endsWith(".updated"))).toEqual(told);
    expect(callsTo(receiver, "/four")).toHaveLength(4);
  });

  it("reach the receiver within 400 ms of the commit, in the median, as far as the service runs alone", async () => {
    const { api } = await stack.newApplication();
    await register(api, at("/fast"));
    for (let turn = 1; turn <= timed; turn += 1) {
      await newClient(api);
      await arrivals(receiver, "/fast", turn);
    }
    const times = callsTo(receiver, "/fast").map((call) => call.atMs - Date.parse(eventOf(call).created_at));
    const { median, p99 } = quantiles(times);
    console.log(`From commit to receipt: median ${median} ms, p99 ${p99} ms.`);
    expect(median).toBeLessThan(stretched(400));
  });
});

describe("brokerages side by side", () => {
  it("never learn of each other, not from a body and not from a log", async () => {
    const sides = await Promise.all(
      ["ada", "bea", "cleo"].map(async (name) => {
        const { api } = await stack.newApplication();
        const canary = `canary-of-${name}`;
        const metadata = { note: canary };
        await register(api, at(`/${name}?${canary}`), { description: canary, metadata });
        return { api, canary, metadata, path: `/${name}?${canary}` };
      }),
    );
    await Promise.all(
      sides.map(async ({ api, canary, metadata }) => {
        const person = { first_name: canary, last_name: canary, external_id: canary, metadata };
        const client = (await done(api, "POST", "/clients", { email: `${canary}@example.com`, ...person })).body;
        const account = { client_id: client["id"], name: canary, platform_login: canary, metadata };
        const { body } = await done(api, "POST", "/accounts", account);
        const deposit = { account_id: body["id"], amount: "5.00", external_id: canary, metadata };
        const made = (await done(api, "POST", "/transactions/deposit", deposit)).body;
        await done(api, "PATCH", `/transactions/${made["id"]}`, { status: "completed" });
      }),
    );
    const logs = join(stack.dataDir, "logs");
    for (const { path, canary } of sides) {
      const calls = await arrivals(receiver, path, 4);
      expect(calls.map((call) => eventOf(call).type)).toHaveLength(4);
      for (const { body } of calls) expect([path, body]).toEqual([path, expect.stringContaining(canary)]);
      const foreign = receiver.received.filter((call) => call.path !== path);
      expect(foreign.filter(({ body, headers }) => `${body}${JSON.stringify(headers)}`.includes(canary))).toEqual([]);
      const files = readdirSync(logs).filter((name) => name !== "dynamodb.log");
      expect(files.length).toBeGreaterThan(5);
      expect(files.filter((name) => readFileSync(join(logs, name), "utf8").includes(canary))).toEqual([]);
    }
  });

  it("get what they subscribe to, and nothing else of it", async () => {
    const { api } = await stack.newApplication();
    await register(api, at("/accounts-only"), { event_types: ["account.created"] });
    await register(api, at("/everything"));
    const { id } = await newClient(api);
    await done(api, "POST", "/accounts", { client_id: id });
    await arrivals(receiver, "/everything", 2);
    const calls = await arrivals(receiver, "/accounts-only", 1);
    expect(calls.map((call) => eventOf(call).type)).toEqual(["account.created"]);
  });
});

describe("an endpoint that is switched off", () => {
  it.each([
    ["disabled", "PATCH", { status: "disabled" }],
    ["deleted", "DELETE", undefined],
  ])("by being %s gets nothing more", async (how, method, body) => {
    const { api } = await stack.newApplication();
    const { id } = await register(api, at(`/ended-${how}`));
    await register(api, at(`/beside-${how}`));
    await newClient(api);
    await arrivals(receiver, `/ended-${how}`, 1);
    await done(api, method, `/webhook_endpoints/${id}`, body);
    for (let turn = 2; turn <= 4; turn += 1) await newClient(api);
    await arrivals(receiver, `/beside-${how}`, 4);
    expect(callsTo(receiver, `/ended-${how}`)).toHaveLength(1);
  });

  it("by its own 410 is disabled with the reason, and its delivery is cancelled", async () => {
    const { api } = await stack.newApplication();
    statusAt.set("/gone", 410);
    const { id } = await register(api, at("/gone"));
    await newClient(api);
    const [call] = await arrivals(receiver, "/gone", 1);
    const delivery = await settled(api, call?.headers["x-service-delivery"]);
    expect(delivery).toMatchObject({ status: "cancelled", attempts: [{ number: 1, http_status: 410 }] });
    const endpoint = await shown(api, `/webhook_endpoints/${id}`);
    expect(endpoint).toMatchObject({ status: "auto_disabled", disabled_reason: expect.stringContaining("410") });
    await newClient(api);
    const refused = await api.call("POST", `/webhook_endpoints/${id}/test`, { body: { type: "client.created" } });
    expect([refused.status, refused.body["code"]]).toEqual([409, "webhook_endpoint_disabled"]);
    expect(callsTo(receiver, "/gone")).toHaveLength(1);
  });
});

describe("sent again", () => {
  it("an event that was delivered keeps its id and its body; the delivery is a new one", async () => {
    const { api } = await stack.newApplication();
    const { secret } = await register(api, at("/again"));
    await newClient(api);
    const [first] = await arrivals(receiver, "/again", 1);
    const before = await settled(api, first?.headers["x-service-delivery"]);
    const retried = (await done(api, "POST", `/deliveries/${before["id"]}/retry`)).body;
    const [, second] = await arrivals(receiver, "/again", 2);
    expect(retried).toMatchObject({ redelivery_of: before["id"], event_id: before["event_id"] });
    expect(second?.headers["x-service-delivery"]).toBe(retried["id"]);
    expect([second?.headers["webhook-id"], second?.body]).toEqual([first?.headers["webhook-id"], first?.body]);
    if (second !== undefined) expect(verified(second, secret)).toHaveLength(3);
    expect(await settled(api, retried["id"])).toMatchObject({ status: "succeeded", redelivery_of: before["id"] });
  });

  it("a range goes out under the same event ids, and nothing before it", async () => {
    const { api } = await stack.newApplication();
    const { id } = await register(api, at("/replayed"));
    for (let turn = 0; turn < 4; turn += 1) await newClient(api);
    const events = bySequence((await arrivals(receiver, "/replayed", 4)).map(eventOf));
    const after_sequence = events[1]?.sequence;
    const { body } = await done(api, "POST", `/webhook_endpoints/${id}/replay`, { after_sequence });
    expect(body).toMatchObject({ queued: 2 });
    const calls = await arrivals(receiver, "/replayed", 6);
    expect(bySequence(calls.slice(4).map(eventOf))).toEqual(events.slice(2));
  });

  it("a sample comes to this endpoint alone, signed, marked, and in no list of events", async () => {
    const { api } = await stack.newApplication();
    const [{ id, secret }] = [await register(api, at("/sample")), await register(api, at("/no-sample"))];
    await done(api, "POST", `/webhook_endpoints/${id}/test`, { type: "margin.call" });
    const [call] = await arrivals(receiver, "/sample", 1);
    if (call === undefined) throw new Error("There is no call.");
    for (const event of verified(call, secret)) expect(event).toMatchObject({ type: "margin.call", synthetic: true });
    expect((await shown(api, "/events"))["data"]).toEqual([]);
    expect(callsTo(receiver, "/no-sample")).toEqual([]);
  });
});

describe("events asked for by their number", () => {
  it("are missed by no reader, repeated to none and never go back while three applications write", async () => {
    const first = await stack.newApplication();
    const { tenant_id } = first;
    const writers = [first];
    while (writers.length < 3) writers.push(await stack.newApplication({ tenant_id }));
    const writing = { done: false };
    const written = Promise.all(
      writers.map(async ({ api }) => {
        const made: string[] = [];
        for (let turn = 0; turn < each; turn += 1) made.push((await newClient(api)).id);
        return made;
      }),
    ).finally(() => {
      writing.done = true;
    });
    const seen: ReceivedEvent[] = [];
    await eventually(async () => {
      const after = seen.at(-1)?.sequence ?? "0";
      const { data } = (await shown(first.api, `/events?limit=10&after_sequence=${after}`)) as {
        data: ReceivedEvent[];
      };
      seen.push(...data);
      return writing.done && seen.length >= each * writers.length ? true : undefined;
    }, 60_000);
    const made = (await written).flat();
    expect(seen.map(({ sequence }) => Number(sequence))).toEqual(Array.from(made, (_, index) => index + 1));
    expect(seen.map(({ resource }) => resource.id).toSorted()).toEqual(made.toSorted());
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  }, 90_000);
});
