import type { ServerResponse } from "node:http";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Attempt,
  type Delivery,
  draftDelivery,
  wakeOfSent,
  wakeOfWaiting,
} from "../../../shared/domain/delivery.ts";
import { isProven } from "../../../shared/domain/delivery-lane.ts";
import { draftHealth, inForce, type WebhookEndpoint, type WebhookHealth } from "../../../shared/domain/webhook.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import type { DeliveryMessage } from "../../../shared/runtime/queues.ts";
import type { Entity, PublishedEvent } from "../../../shared/table/entities.ts";
import { functionEnvironment, startEmulator } from "../../support/emulator/emulator.ts";
import { startQueueEndpoint } from "../../support/emulator/queue-endpoint.ts";
import { lambdaContext } from "../../support/emulator/request.ts";
import { startSecretsManager } from "../../support/emulator/secrets-manager.ts";
import { closedDoor, failure, unitsOf, watchEndpoint } from "../../support/emulator/watched-endpoint.ts";
import { answerWith, type Received, startReceiver } from "../../support/stack/receiver.ts";
import { eventually } from "../../support/wait.ts";

const emulator = await startEmulator();
const watched = await watchEndpoint(emulator.endpoint);
const secretsManager = await startSecretsManager();
const queues = await startQueueEndpoint();
const receiver = await startReceiver();
const logged: string[] = [];
for (const stream of [process.stdout, process.stderr]) {
  vi.spyOn(stream, "write").mockImplementation((line) => logged.push(String(line)) > 0);
}
Object.assign(process.env, functionEnvironment(emulator), secretsManager.environment, queues.environment, {
  AWS_ENDPOINT_URL_DYNAMODB: watched.endpoint,
  BROKERAGE_LOCAL: "1",
  POWERTOOLS_LOG_LEVEL: "INFO",
});
const { attempts, deliveries, deliveryId, eventId, events, webhookHealths, webhooks } = await import(
  "../../../shared/table/entities.ts"
);
const { readKeys } = await import("../../../shared/table/store.ts");
const { itemOf } = await import("../../../shared/table/write.ts");
const { sealWebhookSecret } = await import("../../../shared/webhooks/secrets.ts");
const { handler } = await import("../../../functions/events/deliver.ts");

const bounds = limits.webhooks;
const canary = "canary-of-a-person@example.com";
const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;
const secret = secretOf(1);
const answerByDefault = receiver.answer;
const unscaled = (seconds: number) => seconds * 1000;
let nowMs = Date.parse("2026-11-21T06:30:00.000Z");

/** Lets the service see this moment; timers and sockets go on in real time. */
function at(ms: number): void {
  nowMs = ms;
  vi.setSystemTime(ms);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: false });
  vi.setSystemTime(nowMs);
  receiver.received.splice(0);
  receiver.mostAtOnce = 0;
  receiver.answer = answerByDefault;
});
afterEach(() => {
  watched.interfere = () => undefined;
  queues.interfere = () => undefined;
  queues.takeMessages();
  vi.useRealTimers();
});
afterAll(async () => {
  await Promise.all([receiver.stop(), watched.stop(), queues.stop(), secretsManager.stop()]);
  await emulator.stop();
});

async function put<T extends object>(entity: Entity<T>, item: T): Promise<void> {
  const Item = marshall(itemOf(entity, item), { removeUndefinedValues: true });
  await emulator.client.send(new PutItemCommand({ TableName: emulator.tableName, Item }));
}

interface Situation {
  readonly endpoint: WebhookEndpoint;
  readonly all: readonly { readonly delivery: Delivery; readonly event: PublishedEvent }[];
  readonly delivery: Delivery;
}

/** An endpoint, proven unless `health` says otherwise, with events and deliveries as the publisher leaves them. */
async function situation(
  count = 1,
  more: Partial<WebhookEndpoint> = {},
  health: Partial<WebhookHealth> = {},
): Promise<Situation> {
  const tenant_id = newId("brk");
  const id = newId("whe");
  const now = new Date(nowMs).toISOString();
  const endpoint: WebhookEndpoint = {
    id,
    tenant_id,
    url: `${receiver.url}/hook`,
    description: null,
    event_types: ["*"],
    account_ids: null,
    group_ids: null,
    status: "enabled",
    disabled_reason: null,
    epoch: 0,
    api_version: "v2",
    secret: await sealWebhookSecret({ tenant_id, id }, secret),
    previous_secret: null,
    previous_secret_expires_at: null,
    metadata: {},
    created_at: now,
    updated_at: now,
    version: 1,
    wake_at: null,
    ...more,
  };
  await put(webhooks, endpoint);
  await put(webhookHealths, { ...draftHealth(endpoint), proven_at: now, last_success_at: now, ...health });
  const all: { delivery: Delivery; event: PublishedEvent }[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const event = eventOf(endpoint.tenant_id, sequence, now);
    const draft = draftDelivery(deliveryId(event.id, endpoint.id, 0), endpoint, event, now, unscaled);
    await put(events, event);
    await put(deliveries, draft);
    all.push({ delivery: draft, event });
  }
  const [first] = all;
  if (first === undefined) throw new Error("There is no delivery.");
  return { endpoint, all, delivery: first.delivery };
}

function eventOf(tenant_id: string, sequence: number, created_at: string): PublishedEvent {
  const id = eventId(Date.parse(created_at), newId("evt"), sequence);
  return {
    id,
    tenant_id,
    sequence,
    type: "client.created",
    resource_id: "cli_01JD0000000000000000000001",
    account_id: null,
    client_id: null,
    created_at,
    payload: JSON.stringify({ id, type: "client.created", data: { object: { email: canary } } }),
    expires_at: Math.floor(Date.parse(created_at) / 1000) + 1000,
  } as PublishedEvent;
}

const messageOf = ({ tenant_id, id }: Delivery, attempt = 1, returns = 0): DeliveryMessage => ({
  tenant_id,
  delivery_id: id,
  attempt,
  returns,
});

/** Hands messages to the function, as one batch of a queue: by default that of its lane. */
async function deliver(
  messages: readonly (DeliveryMessage | string)[],
  { queue: given = "", remainingMs = 20_000 } = {},
): Promise<SQSBatchResponse> {
  const queue = given === "" ? await laneOf(messages[0]) : given;
  const Records = messages.map((message, index) => ({
    messageId: `m${index}`,
    eventSourceARN: `arn:aws:sqs:eu-west-1:000000000000:${queue}`,
    body: typeof message === "string" ? message : JSON.stringify(message),
  }));
  return handler({ Records } as unknown as SQSEvent, lambdaContext(remainingMs));
}

/** The queue of the lane that a message belongs to, read past the watched way. */
async function laneOf(message: DeliveryMessage | string | undefined): Promise<string> {
  const read = async (key: object) => {
    const { Item } = await emulator.client.send(
      new GetItemCommand({ TableName: emulator.tableName, Key: marshall(key), ConsistentRead: true }),
    );
    return Item && unmarshall(Item);
  };
  if (typeof message !== "object") return "deliver";
  const delivery = await read(deliveries.key(message.tenant_id, message.delivery_id));
  const health = delivery && (await read(webhookHealths.key(message.tenant_id, delivery["endpoint_id"])));
  return health && !isProven(health as WebhookHealth, nowMs, unscaled) ? "deliver-unproven" : "deliver";
}

async function stored({ tenant_id, id, endpoint_id }: Delivery) {
  const entry = (number: number, claim: number) =>
    attempts.keyOf({ tenant_id, delivery_id: id, number, claim } as Attempt);
  const entries = [1, 2, 3, 4, 5, 6].flatMap((number) => [1, 2, 3, 4].map((claim) => entry(number, claim)));
  const keys = [deliveries.key(tenant_id, id), webhookHealths.key(tenant_id, endpoint_id)];
  const [delivery, health, endpoint, ...found] = await readKeys([
    ...keys,
    webhooks.key(tenant_id, endpoint_id),
    ...entries,
  ]);
  return {
    delivery: delivery as Delivery,
    health: health as WebhookHealth,
    endpoint: endpoint as WebhookEndpoint,
    standing: inForce(endpoint as WebhookEndpoint, health as WebhookHealth),
    attempts: found.filter((one) => one !== undefined) as Attempt[],
  };
}

const none = { batchItemFailures: [] };

function verify({ body, headers }: Received, key = secret): unknown {
  const texts = headers as Record<string, string>;
  return new Webhook(key).verify(body, texts);
}

describe("an attempt that is accepted", () => {
  it("posts the event's own bytes, signed, and is recorded in full", async () => {
    const { delivery, all } = await situation();
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    vi.useRealTimers();
    expect(receiver.received).toHaveLength(1);
    const [call] = receiver.received;
    expect(call?.body).toBe(all[0]?.event.payload);
    expect(call?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "BrokerageWebhooks/2",
      "webhook-id": delivery.event_id,
      "webhook-timestamp": String(Math.floor(nowMs / 1000)),
      "x-service-event": "client.created",
      "x-service-delivery": delivery.id,
      "x-service-attempt": "1",
    });
    const after = await stored(delivery);
    const moment = new Date(nowMs).toISOString();
    expect(after.delivery).toMatchObject({
      status: "succeeded",
      attempt: 1,
      lease_until: null,
      next_attempt_at: null,
      wake_at: null,
      first_attempt_at: moment,
      completed_at: moment,
      last: { number: 1, at: moment, http_status: 200, error: null },
      version: 3,
    });
    const kept = { number: 1, claim: 1, http_status: 200, error: null, response_excerpt: "thanks" };
    expect(after.attempts).toEqual([expect.objectContaining(kept)]);
    expect(after.health).toMatchObject({ slots: {}, last_success_at: moment, consecutive_failures: 0 });
    expect(queues.takeMessages()).toEqual([]);
  });

  it("costs five writes of items and what their indexes ask for, in seven calls", async () => {
    const { delivery } = await situation();
    await deliver([messageOf(delivery)]);
    const other = await situation();
    watched.takeCalls();
    await deliver([messageOf(other.delivery)]);
    const calls = watched.takeCalls();
    const writes = calls.filter(({ operation }) => operation !== "BatchGetItem");
    expect(writes.map(({ operation }) => operation).sort()).toEqual([...Array(4).fill("UpdateItem"), "PutItem"].sort());
    expect(calls).toHaveLength(7);
    // Slot 1, claim 1, entry 1, record 1 with status in two indexes and the wake taken out of the third, slot 1.
    expect(unitsOf(writes)).toBe(9);
  });
});

describe("an attempt beside transactions on the same items", () => {
  it("is made once and recorded, though each of its updates meets one first", async () => {
    const { delivery } = await situation();
    const met = new Set<string>();
    watched.interfere = ({ operation, input }) => {
      const update = JSON.stringify(input);
      if (operation !== "UpdateItem" || met.has(update)) return undefined;
      met.add(update);
      return failure("TransactionConflictException");
    };
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    // The slot is taken, the attempt claimed and recorded, the slot given back.
    expect(met.size).toBeGreaterThanOrEqual(4);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", attempt: 1, claims: 1 });
    expect(after.health.slots).toEqual({});
  });

  it("goes back to its queue when they do not end", async () => {
    const { delivery } = await situation();
    let tries = 0;
    watched.interfere = ({ operation }) => {
      if (operation !== "UpdateItem") return undefined;
      tries += 1;
      return failure("TransactionConflictException");
    };
    expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
    expect(tries).toBeGreaterThanOrEqual(limits.commit.update_tries);
    expect(receiver.received).toHaveLength(0);
  });
});

describe("an attempt that fails", () => {
  it("is followed by a message for the next one, recorded before it is sent", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    const after = (await stored(delivery)).delivery;
    const [message, ...more] = queues.takeMessages();
    expect(more).toEqual([]);
    expect(message).toMatchObject({
      queue: "retry-1m",
      group: delivery.endpoint_id,
      body: { tenant_id: delivery.tenant_id, delivery_id: delivery.id, attempt: 2, returns: 1 },
    });
    const delay = message?.delaySeconds ?? 0;
    expect(delay).toBeGreaterThanOrEqual(60);
    expect(delay).toBeLessThanOrEqual(66);
    const next = nowMs + delay * 1000;
    expect(after).toMatchObject({
      status: "retrying",
      attempt: 2,
      claims: 0,
      next_attempt_at: new Date(next).toISOString(),
      wake_at: wakeOfSent(next, unscaled),
      completed_at: null,
      last: { number: 1, http_status: 500, error: "http_status" },
    });
  });

  it("goes through six attempts of the same event, each signed anew, and is given up", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(503);
    const start = nowMs;
    const waits = [60, 300, 1800, 7200, 86_400];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      expect(await deliver([messageOf(delivery, attempt)])).toEqual(none);
      const now = (await stored(delivery)).delivery;
      const sent = queues.takeMessages();
      if (attempt === 6) {
        expect(now).toMatchObject({ status: "exhausted", attempt: 6, wake_at: null, next_attempt_at: null });
        expect(sent).toEqual([]);
        break;
      }
      const next = Date.parse(now.next_attempt_at ?? "");
      const wait = (waits[attempt - 1] ?? 0) * 1000;
      expect(next - nowMs).toBeGreaterThanOrEqual(wait);
      expect(next - nowMs).toBeLessThanOrEqual(wait * 1.1);
      expect(sent.map(({ queue }) => queue)).toEqual(attempt === 1 ? ["retry-1m"] : attempt === 2 ? ["retry-5m"] : []);
      if (attempt > 2) expect(now.wake_at).toBe(wakeOfWaiting(next, unscaled));
      at(next);
    }
    expect(receiver.received).toHaveLength(6);
    const timestamps = receiver.received.map(({ headers }) => Number(headers["webhook-timestamp"]));
    expect(new Set(timestamps).size).toBe(6);
    expect((timestamps[5] ?? 0) - Math.floor(start / 1000)).toBeGreaterThanOrEqual(95_760);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-signature"])).size).toBe(6);
    expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
    ]);
    const after = await stored(delivery);
    expect(after.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(after.health.consecutive_failures).toBe(6);
  });

  it.each([1, 2, 3, 4, 5])("%i times and is then accepted has been posted once more than that", async (failures) => {
    const { delivery } = await situation();
    receiver.answer = (call, reply) => {
      reply.writeHead(Number(call.headers["x-service-attempt"]) > failures ? 200 : 500).end();
    };
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await deliver([messageOf(delivery, attempt)]);
      const { next_attempt_at: next } = (await stored(delivery)).delivery;
      if (next !== null) at(Date.parse(next));
    }
    expect(receiver.received).toHaveLength(failures + 1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", attempt: failures + 1 });
    expect(after.health).toMatchObject({ consecutive_failures: 0, first_failure_at: null });
  });

  it("waits as long as the receiver asks, in the table where no queue can hold it", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(429, { "Retry-After": "7200" });
    await deliver([messageOf(delivery)]);
    const after = (await stored(delivery)).delivery;
    expect(after.next_attempt_at).toBe(new Date(nowMs + 7_200_000).toISOString());
    expect(after.wake_at).toBe(wakeOfWaiting(nowMs + 7_200_000, unscaled));
    expect(queues.takeMessages()).toEqual([]);
  });

  it("is left to the sweep when its message is not taken, and when too many came in a row", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    queues.interfere = () => "unavailable";
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "retrying", attempt: 2 });
    queues.interfere = () => undefined;
    const other = await situation();
    await deliver([messageOf(other.delivery, 1, bounds.max_returns)]);
    expect(queues.takeMessages()).toEqual([]);
    const { next_attempt_at: next, wake_at } = (await stored(other.delivery)).delivery;
    expect(wake_at).toBe(wakeOfWaiting(Date.parse(next ?? ""), unscaled));
  });
});

describe("a message", () => {
  it("that is no message of ours fails by itself", async () => {
    const { delivery } = await situation();
    const bad = ["no JSON", "null", "{}", JSON.stringify({ ...messageOf(delivery), attempt: "1" })];
    expect(await deliver([...bad, messageOf(delivery)])).toEqual({
      batchItemFailures: bad.map((_, index) => ({ itemIdentifier: `m${index}` })),
    });
    expect(receiver.received).toHaveLength(1);
  });

  it("of nothing, of another attempt, or of what is over does nothing", async () => {
    const { delivery } = await situation();
    const missing = { ...messageOf(delivery), delivery_id: newId("dlv") };
    const foreign = { ...messageOf(delivery), tenant_id: newId("brk") };
    expect(await deliver([missing, foreign, messageOf(delivery, 2), messageOf(delivery, 0)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    await deliver([messageOf(delivery)]);
    const after = await stored(delivery);
    expect(await deliver([messageOf(delivery), messageOf(delivery, 2), messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    expect(await stored(delivery)).toEqual(after);
  });

  it("that comes before its time posts nothing; one that is a moment early comes again", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    queues.takeMessages();
    const { next_attempt_at: next } = (await stored(delivery)).delivery;
    at(nowMs + 1000);
    expect(await deliver([messageOf(delivery, 2)])).toEqual(none);
    expect(queues.takeMessages()).toEqual([]);
    at(Date.parse(next ?? "") - 1500);
    await deliver([messageOf(delivery, 2, 3)], { queue: "retry-1m" });
    const { wake_at } = (await stored(delivery)).delivery;
    await deliver([messageOf(delivery, 2, bounds.max_returns)], { queue: "retry-1m" });
    expect((await stored(delivery)).delivery.wake_at).toBe(wake_at);
    expect(receiver.received).toHaveLength(1);
    expect(queues.takeMessages()).toMatchObject([
      { queue: "retry-1m", delaySeconds: 2, body: { attempt: 2, returns: 4 } },
    ]);
  });

  it("that comes twice at once, or to several workers, makes one call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery } = await situation();
    const door = closedDoor();
    receiver.answer = async (_, reply) => {
      await door.opened;
      reply.end();
    };
    const batches = Array.from({ length: 5 }, () => deliver([messageOf(delivery), messageOf(delivery)]));
    // Some of the others have looked, waited in vain and left before the one with the claim comes back.
    await Promise.race(batches);
    door.open();
    for (const answer of await Promise.all(batches)) expect(answer).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", version: 3 });
    expect(after.health.slots).toEqual({});
  });

  it("that comes while its attempt runs makes no second call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery, all } = await situation(2);
    // Connections are warm: after a pause a worker drops those that it has, and both workers here have the same.
    for (const before of all.slice(1)) await deliver([messageOf(before.delivery)]);
    const door = closedDoor();
    receiver.answer = async (_, reply) => {
      if (receiver.received.length === 2) await door.opened;
      reply.end();
    };
    const first = deliver([messageOf(delivery)]);
    await eventually(() => (receiver.received.length === 2 ? true : undefined));
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(2);
    door.open();
    expect(await first).toEqual(none);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", claims: 1, last: { error: null } });
  });

  it("goes back when the function's time is too short for an attempt", async () => {
    const { delivery } = await situation();
    expect(await deliver([messageOf(delivery)], { remainingMs: 11_000, queue: "retry-5m" })).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect(queues.takeMessages()).toMatchObject([{ queue: "retry-5m", delaySeconds: 5, body: { returns: 1 } }]);
    expect((await stored(delivery)).delivery).toMatchObject(delivery);
  });
});

describe("the slots of an endpoint", () => {
  it("let four attempts run at a time, however many messages come to however many workers", async () => {
    const { all } = await situation(20);
    receiver.answer = (_, reply) => {
      setTimeout(() => reply.end(), 40);
    };
    const messages = all.map(({ delivery }) => messageOf(delivery));
    const halves = [messages.slice(0, 10), messages.slice(10)];
    for (const answer of await Promise.all(halves.map((half) => deliver(half)))) expect(answer).toEqual(none);
    expect(receiver.mostAtOnce).toBe(4);
    const returned = queues.takeMessages();
    expect(receiver.received.length + returned.length).toBe(20);
    expect(returned.every(({ delaySeconds, body }) => delaySeconds === 5 && body["returns"] === 1)).toBe(true);
    const states = await Promise.all(all.map(({ delivery }) => stored(delivery)));
    expect(states.filter(({ delivery }) => delivery.status === "succeeded")).toHaveLength(receiver.received.length);
    expect(states[0]?.health.slots).toEqual({});
  });

  const busy = (end: number) =>
    Object.fromEntries(
      [1, 2, 3, 4].map((n) => [`dlv_0000000000000000000000000${n}`, new Date(nowMs + end).toISOString()]),
    );

  it("that are all taken send a message back, and do not count the attempt", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000) });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    expect(await deliver([messageOf(delivery, 1, 4)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect(queues.takeMessages()).toMatchObject([
      { queue: "deliver", delaySeconds: 5, body: { attempt: 1, returns: 5 } },
    ]);
    expect((await stored(delivery)).delivery).toMatchObject(delivery);
  });

  it("that an unproven endpoint holds are not waited for: the worker is free for others at once", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000), proven_at: null });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const startMs = Date.now();
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(Date.now() - startMs).toBeLessThan(bounds.slot_wait_ms);
    expect(queues.takeMessages()).toMatchObject([{ queue: "deliver", delaySeconds: 1, body: { returns: 1 } }]);
  });

  it("that stay taken leave the delivery to the sweep, which looks for it later", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000) });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    expect(await deliver([messageOf(delivery, 1, bounds.max_returns)])).toEqual(none);
    expect(queues.takeMessages()).toEqual([]);
    const after = (await stored(delivery)).delivery;
    expect(Date.parse(after.wake_at ?? "")).toBeGreaterThanOrEqual(nowMs + 900_000);
    expect({ ...after, wake_at: delivery.wake_at }).toMatchObject(delivery);
  });

  it("of workers that died are free again when their leases have ended", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(-1) });
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    expect((await stored(delivery)).health.slots).toEqual({});
  });

  it("are not made anew for an endpoint whose health is gone", async () => {
    const { delivery, endpoint } = await situation();
    receiver.answer = async (_, reply) => {
      const { DeleteItemCommand } = await import("@aws-sdk/client-dynamodb");
      const Key = marshall(webhookHealths.key(endpoint.tenant_id, endpoint.id));
      await emulator.client.send(new DeleteItemCommand({ TableName: emulator.tableName, Key }));
      reply.end();
    };
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    const after = await stored(delivery);
    expect(after.health).toBeUndefined();
    expect(after.delivery.status).toBe("succeeded");
  });
});

describe("the unproven lane", () => {
  const fresh = { proven_at: null, last_success_at: null };
  const seconds = (from: number, count: number) => new Date(from + count * 1000).toISOString();
  const silence = (_: Received, reply: ServerResponse) => {
    // What the worker sees of a receiver that never answers, ten seconds later.
    at(nowMs + 10_000);
    reply.destroy();
  };
  const bodies = () => queues.takeMessages().map(({ queue, delaySeconds, body }) => ({ queue, delaySeconds, body }));

  it("gets one delivery of an endpoint that nothing is known of; its others come back in a second", async () => {
    const { all } = await situation(3, {}, fresh);
    expect(
      await deliver(
        all.map(({ delivery }) => messageOf(delivery)),
        { queue: "deliver" },
      ),
    ).toEqual(none);
    expect(receiver.received).toEqual([]);
    const sent = bodies();
    expect(sent.map(({ queue, delaySeconds }) => `${queue} ${delaySeconds}`).sort()).toEqual([
      "deliver 1",
      "deliver 1",
      "deliver-unproven 0",
    ]);
    const moved = sent.find(({ queue }) => queue === "deliver-unproven")?.body;
    expect(moved).toMatchObject({ attempt: 1, returns: 1 });
    const [first] = all;
    if (first === undefined) throw new Error("There are three deliveries.");
    expect((await stored(first.delivery)).health.probe).toEqual({
      delivery_id: moved?.["delivery_id"],
      until: seconds(nowMs, bounds.probe_seconds),
    });
    await deliver([moved as unknown as DeliveryMessage], { queue: "deliver-unproven" });
    expect(receiver.received).toHaveLength(1);
    expect((await stored(first.delivery)).health).toMatchObject({ probe: null, closed_until: null, slots: {} });
    // It is proven now: the others are attempted where they are.
    const others = sent
      .filter(({ queue }) => queue === "deliver")
      .map(({ body }) => body as unknown as DeliveryMessage);
    await deliver(others, { queue: "deliver" });
    expect(receiver.received).toHaveLength(3);
    expect(queues.takeMessages()).toEqual([]);
  });

  it("gives back what belongs to a proven endpoint, and takes a retry of one that is not", async () => {
    const { delivery } = await situation();
    await deliver([messageOf(delivery)], { queue: "deliver-unproven" });
    expect(bodies()).toMatchObject([{ queue: "deliver", delaySeconds: 0, body: { attempt: 1, returns: 1 } }]);
    const silent = await situation(1, {}, { proven_at: null, consecutive_failures: 1 });
    await deliver([messageOf(silent.delivery)], { queue: "retry-5m" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 0, body: { returns: 1 } }]);
    expect(receiver.received).toEqual([]);
  });

  it("closes an endpoint that does not answer for 30 s, doubling to five minutes, with one probe each", async () => {
    const { all } = await situation(9, {}, fresh);
    receiver.answer = silence;
    for (const [turn, { delivery }] of all.slice(0, 6).entries()) {
      const [moved] = await movedBy(delivery);
      const least = [0, 30, 60, 120, 240, 300];
      expect(moved).toMatchObject({ queue: "deliver-unproven" });
      expectBetween(moved?.delaySeconds, least[turn] ?? 0);
      at(nowMs + (moved?.delaySeconds ?? 0) * 1000);
      expect(await deliver([messageOf(delivery)], { queue: "deliver-unproven" })).toEqual(none);
      expect(receiver.received).toHaveLength(turn + 1);
      queues.takeMessages();
      const { health } = await stored(delivery);
      expect(health).toMatchObject({ timeouts_in_a_row: turn + 1, probe: null });
      expectBetween((Date.parse(health.closed_until ?? "") - nowMs) / 1000, least[turn + 1] ?? 300);
    }
  });

  /** A closing lasts so many seconds, and up to a quarter longer, in whole seconds of a queue. */
  function expectBetween(value: number | undefined, least: number) {
    expect(value).toBeGreaterThanOrEqual(least);
    expect(value).toBeLessThanOrEqual(Math.ceil(least * (1 + bounds.closed_jitter_max)));
  }

  async function movedBy(delivery: Delivery) {
    await deliver([messageOf(delivery)], { queue: "deliver" });
    return bodies();
  }

  it("lets rest what comes beside the probe of a closed endpoint: no message, a wake after the closing", async () => {
    const closed_until = seconds(nowMs, 60);
    const { all, delivery } = await situation(3, {}, { ...fresh, consecutive_failures: 2, closed_until });
    const [probe, ...others] = all.map((each) => each.delivery);
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 60, body: { delivery_id: probe?.id } }]);
    await deliver(
      others.map((each) => messageOf(each)),
      { queue: "deliver" },
    );
    // Also one that was let in before and comes too early.
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver-unproven" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 60 }]);
    expect(receiver.received).toEqual([]);
    for (const each of others) {
      const { delivery: resting } = await stored(each);
      expect(resting).toMatchObject({ status: "pending", attempt: 1, version: 1, resting: true });
      expect((resting.wake_at ?? "") >= seconds(nowMs, bounds.rest_min_seconds)).toBe(true);
      const latest = bounds.rest_min_seconds + bounds.rest_spread_seconds;
      expect((resting.wake_at ?? "") <= seconds(nowMs, latest)).toBe(true);
    }
  });

  it("opens an endpoint with its first success, and notes for the sweep that what rests may go", async () => {
    const closed_until = seconds(nowMs, -1);
    const { delivery } = await situation(
      1,
      {},
      { ...fresh, consecutive_failures: 2, timeouts_in_a_row: 2, closed_until },
    );
    expect(await deliver([messageOf(delivery)], { queue: "deliver-unproven" })).toEqual(none);
    const now = seconds(nowMs, 0);
    const { health } = await stored(delivery);
    expect(health).toMatchObject({ timeouts_in_a_row: 0, closed_until: null, proven_at: now, reopened_at: now });
    expect(health).toMatchObject({ wake_at: now, consecutive_failures: 0 });
    expect(isProven(health, nowMs, unscaled)).toBe(true);
  });

  it("lets rest what it had no place for too often, until a success of an endpoint that was never closed", async () => {
    const { all, delivery } = await situation(2, {}, { proven_at: null, consecutive_failures: 3 });
    const [probe, other] = all.map((each) => each.delivery);
    await movedBy(probe ?? delivery);
    await deliver([messageOf(other ?? delivery, 1, bounds.max_returns)], { queue: "deliver" });
    expect(queues.takeMessages()).toEqual([]);
    const { delivery: resting, health } = await stored(other ?? delivery);
    expect(resting).toMatchObject({ resting: true, wake_at: seconds(nowMs, bounds.sent_again_after_seconds) });
    expect(health).toMatchObject({ closed_until: seconds(nowMs, 0), consecutive_failures: 3 });
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver-unproven" });
    const now = seconds(nowMs, 0);
    expect((await stored(delivery)).health).toMatchObject({ closed_until: null, reopened_at: now, wake_at: now });
  });

  it("keeps its lane and its slots where it fails at once: that holds no worker", async () => {
    const { all, delivery } = await situation(2);
    receiver.answer = answerWith(500);
    for (const each of all) await deliver([messageOf(each.delivery)]);
    expect(receiver.received).toHaveLength(2);
    const { health } = await stored(delivery);
    expect([health.consecutive_failures, isProven(health, nowMs, unscaled)]).toEqual([2, true]);
  });

  it("does not close a proven endpoint that fails once; its next success proves it again", async () => {
    const { all, delivery } = await situation(2);
    receiver.answer = silence;
    await deliver([messageOf(delivery)]);
    queues.takeMessages();
    expect((await stored(delivery)).health).toMatchObject({ consecutive_failures: 1, closed_until: null });
    receiver.answer = answerByDefault;
    const second = all[1]?.delivery ?? delivery;
    await deliver([messageOf(second)], { queue: "deliver-unproven" });
    const { health } = await stored(second);
    expect(health).toMatchObject({ reopened_at: null, wake_at: null });
    expect(isProven(health, nowMs, unscaled)).toBe(true);
  });

  it("reads health that was stored before there were lanes", async () => {
    const { delivery, endpoint } = await situation();
    const {
      proven_at: _,
      timeouts_in_a_row: __,
      closed_until: ___,
      probe: ____,
      reopened_at: _____,
      ...old
    } = {
      ...draftHealth(endpoint),
      last_success_at: seconds(nowMs, -60),
    };
    await put(webhookHealths, old);
    await deliver([messageOf(delivery)], { queue: "deliver" });
    expect(receiver.received).toHaveLength(1);
    const other = await situation(2);
    await put(webhookHealths, {
      ...old,
      endpoint_id: other.endpoint.id,
      tenant_id: other.endpoint.tenant_id,
      last_success_at: null,
    });
    expect(await movedBy(other.delivery)).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 0 }]);
    receiver.answer = silence;
    await deliver([messageOf(other.delivery)], { queue: "deliver-unproven" });
    expect((await stored(other.delivery)).health).toMatchObject({ timeouts_in_a_row: 1, probe: null });
  });

  it("leaves the place of a delivery whose message was lost to another one after a minute", async () => {
    const { all, delivery } = await situation(2, {}, fresh);
    expect(await movedBy(delivery)).toHaveLength(1);
    at(nowMs + bounds.probe_seconds * 1000);
    const second = all[1]?.delivery ?? delivery;
    expect(await movedBy(second)).toMatchObject([{ queue: "deliver-unproven", body: { delivery_id: second.id } }]);
  });

  it("is asked for again by a message that comes a second time, and by none that came too often", async () => {
    const { delivery } = await situation(1, {}, fresh);
    expect(await movedBy(delivery)).toEqual(await movedBy(delivery));
    await deliver([messageOf(delivery, 1, bounds.max_returns)], { queue: "deliver" });
    expect(queues.takeMessages()).toEqual([]);
    expect(Date.parse((await stored(delivery)).delivery.wake_at ?? "")).toBeGreaterThanOrEqual(nowMs + 900_000);
  });
});

describe("a worker that dies", () => {
  /** Lets the n-th write of this kind fail, as it would look to everybody else if the process had ended there. */
  function dieAt(operation: string, what: RegExp): void {
    watched.interfere = (call) =>
      call.operation === operation && what.test(JSON.stringify(call.input))
        ? failure("ValidationException")
        : undefined;
  }

  it("after it posted holds the attempt for its lease, and no longer", async () => {
    const { delivery } = await situation();
    dieAt("PutItem", /ATTEMPT/);
    expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
    watched.interfere = () => undefined;
    const held = (await stored(delivery)).delivery;
    expect(held).toMatchObject({ claims: 1, lease_until: new Date(nowMs + bounds.lease_ms).toISOString() });
    expect((held.wake_at ?? "") >= (held.lease_until ?? "")).toBe(true);
    at(nowMs + bounds.lease_ms - 1);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    at(nowMs + 2);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(2);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", attempt: 1, claims: 2 });
    const seen = after.attempts.map(({ number, claim, error }) => [number, claim, error]);
    expect(seen).toEqual([
      [1, 1, "worker_crash"],
      [1, 2, null],
    ]);
    expect(after.health.slots).toEqual({});
  });

  it("three times at one attempt makes it a failure, and the ladder goes on", async () => {
    const { delivery } = await situation();
    for (let claim = 1; claim <= 3; claim += 1) {
      dieAt("PutItem", /"http_status":\{"N"/);
      expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
      at(nowMs + bounds.lease_ms + 1);
    }
    watched.interfere = () => undefined;
    expect(receiver.received).toHaveLength(3);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(3);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({
      status: "retrying",
      attempt: 2,
      claims: 0,
      last: { number: 1, http_status: null, error: "worker_crash" },
    });
    expect(after.attempts.map(({ claim, error }) => [claim, error])).toEqual(
      [1, 2, 3].map((claim) => [claim, "worker_crash"]),
    );
    expect(after.health).toMatchObject({ slots: {}, consecutive_failures: 0 });
    expect(queues.takeMessages()).toMatchObject([{ queue: "retry-1m", body: { attempt: 2 } }]);
  });

  it("after it wrote its entry has said what came of it: nobody posts again", async () => {
    const { delivery } = await situation();
    dieAt("UpdateItem", /succeeded/);
    expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
    watched.interfere = () => undefined;
    at(nowMs + bounds.lease_ms + 1);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", last: { http_status: 200, error: null } });
    expect(after.attempts).toHaveLength(1);
  });

  it("after it posted leaves an entry also when the endpoint is switched off before anybody looks", async () => {
    const { delivery, endpoint } = await situation();
    dieAt("PutItem", /ATTEMPT/);
    await deliver([messageOf(delivery)]);
    watched.interfere = () => undefined;
    await put(webhooks, { ...endpoint, status: "disabled" });
    at(nowMs + bounds.lease_ms + 1);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "cancelled", attempt: 1 });
    expect(after.attempts).toMatchObject([{ number: 1, claim: 1, error: "worker_crash" }]);
  });

  it("before its claim leaves nothing but a slot that ends by itself", async () => {
    const { delivery } = await situation();
    dieAt("UpdateItem", /lease_until/);
    expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
    watched.interfere = () => undefined;
    expect((await stored(delivery)).delivery).toMatchObject(delivery);
    expect(receiver.received).toEqual([]);
    at(nowMs + bounds.lease_ms + 1);
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    expect((await stored(delivery)).health.slots).toEqual({});
  });
});

describe("an endpoint", () => {
  it.each([
    ["disabled", { status: "disabled" }],
    ["switched off by the service", { status: "auto_disabled" }],
    ["deleted", { status: "deleted" }],
    ["switched off and on again since", { epoch: 1 }],
  ] as const)("that was %s gets nothing, and the delivery is cancelled", async (_, more) => {
    const { delivery, endpoint } = await situation();
    await put(webhooks, { ...endpoint, ...more });
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "cancelled", wake_at: null, version: 2 });
  });

  it("that answers 410 is off at once, by a note beside it, and gets nothing more", async () => {
    const { delivery, all, endpoint } = await situation(2);
    receiver.answer = answerWith(410);
    await deliver([messageOf(delivery)]);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "cancelled", last: { http_status: 410 } });
    expect(after.endpoint).toEqual(endpoint);
    expect(after.standing).toMatchObject({
      status: "auto_disabled",
      disabled_reason: expect.stringContaining("410"),
      wake_at: new Date(nowMs).toISOString(),
      version: 2,
    });
    const [, second] = all;
    if (second === undefined) throw new Error("There are two deliveries.");
    await deliver([messageOf(second.delivery)]);
    expect(receiver.received).toHaveLength(1);
    expect((await stored(second.delivery)).delivery.status).toBe("cancelled");
  });

  it("that was moved to another address while the old one answered 410 stays on", async () => {
    const { delivery, endpoint } = await situation();
    receiver.answer = async (call, reply) => {
      await put(webhooks, { ...endpoint, url: `${receiver.url}/new`, version: 2 });
      answerWith(410)(call, reply);
    };
    await deliver([messageOf(delivery)]);
    expect((await stored(delivery)).standing).toMatchObject({ status: "enabled", version: 2 });
  });

  const failing = (days: number, failures: number) => ({
    consecutive_failures: failures,
    first_failure_at: new Date(nowMs - days * 86_400_000).toISOString(),
    last_failure_at: new Date(nowMs - 1000).toISOString(),
  });

  it.each([
    ["nine failures in five days", 5, 8, "enabled"],
    ["ten failures in a moment less than five days", 4.99, 9, "enabled"],
    ["ten failures in five days", 5, 9, "auto_disabled"],
  ] as const)("after %s and no success is %s", async (_, days, before, status) => {
    const { delivery } = await situation(1, {}, failing(days, before));
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    const after = await stored(delivery);
    expect(after.standing.status).toBe(status);
    expect(after.endpoint.status).toBe("enabled");
    expect(after.health.consecutive_failures).toBe(before + 1);
  });

  it("that accepts once starts anew", async () => {
    const { all } = await situation(2, {}, failing(6, 20));
    const [first, second] = all.map(({ delivery }) => delivery);
    if (first === undefined || second === undefined) throw new Error("There are two deliveries.");
    await deliver([messageOf(first)]);
    receiver.answer = answerWith(500);
    await deliver([messageOf(second)]);
    const after = await stored(second);
    expect(after.standing.status).toBe("enabled");
    expect(after.health).toMatchObject({ consecutive_failures: 1, first_failure_at: new Date(nowMs).toISOString() });
  });

  it("counts failures that end at the same moment, each once", async () => {
    const { all, delivery } = await situation(4);
    receiver.answer = answerWith(500);
    await Promise.all(all.map((each) => deliver([messageOf(each.delivery)])));
    const { health } = await stored(delivery);
    expect(health).toMatchObject({
      consecutive_failures: 4,
      slots: {},
      first_failure_at: new Date(nowMs).toISOString(),
    });
  });
});

describe("secrets", () => {
  it("that are rotated both sign, until the old one's time is over", async () => {
    const owner = { tenant_id: newId("brk"), id: newId("whe") };
    const secrets = {
      secret: await sealWebhookSecret(owner, secret),
      previous_secret: await sealWebhookSecret(owner, secretOf(2)),
      previous_secret_expires_at: new Date(nowMs + 1000).toISOString(),
    };
    const { delivery } = await situation(1, { ...owner, ...secrets });
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    at(Date.parse((await stored(delivery)).delivery.next_attempt_at ?? ""));
    await deliver([messageOf(delivery, 2)]);
    const [during, after] = receiver.received;
    if (during === undefined || after === undefined) throw new Error("There are two calls.");
    vi.setSystemTime(Number(during.headers["webhook-timestamp"]) * 1000);
    expect(() => verify(during)).not.toThrow();
    expect(() => verify(during, secretOf(2))).not.toThrow();
    const header = String(during.headers["x-service-signature"]);
    expect(() => Stripe.webhooks.constructEvent(during.body, header, secretOf(2))).not.toThrow();
    vi.setSystemTime(Number(after.headers["webhook-timestamp"]) * 1000);
    expect(() => verify(after)).not.toThrow();
    expect(() => verify(after, secretOf(2))).toThrow();
  });

  it("that do not open make a failed attempt, not a message that comes for ever", async () => {
    const other = { tenant_id: newId("brk"), id: newId("whe") };
    const { delivery } = await situation(1, { secret: await sealWebhookSecret(other, secret) });
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "retrying", attempt: 2, last: { error: "worker_crash" } });
    expect(after.health).toMatchObject({ consecutive_failures: 0, slots: {} });
    expect(queues.takeMessages()).toHaveLength(1);
  });

  it("and bodies are in no line of the log", () => {
    expect(logged.length).toBeGreaterThan(0);
    const text = logged.join("\n");
    for (const word of [canary, "whsec_", secret.slice(6), "v1,", "thanks"]) expect(text).not.toContain(word);
  });
});
