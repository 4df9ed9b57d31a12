import { DeleteItemCommand, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import type { Attempt, Delivery } from "../../../shared/domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../../../shared/domain/records/webhook.ts";
import { draftDelivery } from "../../../shared/domain/webhooks/delivery.ts";
import { isProven } from "../../../shared/domain/webhooks/lane.ts";
import { draftHealth, inForce } from "../../../shared/domain/webhooks/webhook.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import type { DeliveryMessage } from "../../../shared/runtime/queues.ts";
import type { Entity, PublishedEvent } from "../../../shared/table/entities.ts";
import { packPayload } from "../../../shared/table/event-payload.ts";
import { functionEnvironment, startEmulator } from "../../support/emulator/emulator.ts";
import { startQueueEndpoint } from "../../support/emulator/queue-endpoint.ts";
import { lambdaContext } from "../../support/emulator/request.ts";
import { startSecretsManager } from "../../support/emulator/secrets-manager.ts";
import { watchEndpoint } from "../../support/emulator/watched-endpoint.ts";
import { startReceiver } from "../../support/stack/receiver.ts";

export const emulator = await startEmulator();

export const watched = await watchEndpoint(emulator.endpoint);

const secretsManager = await startSecretsManager();

export const queues = await startQueueEndpoint();

export const receiver = await startReceiver();

export const logged: string[] = [];

for (const stream of [process.stdout, process.stderr]) {
  vi.spyOn(stream, "write").mockImplementation((line) => logged.push(String(line)) > 0);
}

Object.assign(process.env, functionEnvironment(emulator), secretsManager.environment, queues.environment, {
  AWS_ENDPOINT_URL_DYNAMODB: watched.endpoint,
  BROKERAGE_LOCAL: "1",
  POWERTOOLS_LOG_LEVEL: "INFO",
});

const { attempts, deliveries, deliveryId, eventId, events, webhookCounts, webhookHealths, webhooks } = await import(
  "../../../shared/table/entities.ts"
);

export { deliveries, events, webhookCounts, webhookHealths, webhooks };

const { readKeys } = await import("../../../shared/table/store.ts");

const { itemOf } = await import("../../../shared/table/write.ts");

export const { releaseSlot, takeSlot } = await import("../../../shared/webhooks/endpoint-health.ts");

export const { sealWebhookSecret } = await import("../../../shared/webhooks/secrets.ts");

const { handler } = await import("../../../functions/events/deliver.ts");

export const bounds = limits.webhooks;

export const canary = "canary-of-a-person@example.com";

export const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`;

export const secret = secretOf(1);

export const answerByDefault = receiver.answer;

export const unscaled = (seconds: number) => seconds * 1000;

export let nowMs = Date.parse("2026-11-21T06:30:00.000Z");

/** Lets the service see this moment; timers and sockets go on in real time. */
export function at(ms: number): void {
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

export async function put<T extends object>(entity: Entity<T>, item: T): Promise<void> {
  const Item = marshall(itemOf(entity, item), { removeUndefinedValues: true });
  await emulator.client.send(new PutItemCommand({ TableName: emulator.tableName, Item }));
}

interface Situation {
  readonly endpoint: WebhookEndpoint;
  /** Each delivery with its event, and the text that is to be posted of it. */
  readonly all: readonly { readonly delivery: Delivery; readonly event: PublishedEvent; readonly text: string }[];
  readonly delivery: Delivery;
}

/** An endpoint, proven unless `health` says otherwise, with events and deliveries as the publisher leaves them. */
export async function situation(
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
  const all: { delivery: Delivery; event: PublishedEvent; text: string }[] = [];
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const { event, text } = eventOf(endpoint.tenant_id, sequence, now);
    const draft = draftDelivery(deliveryId(event.id, endpoint.id, 0), endpoint, event, now, unscaled);
    await put(events, event);
    await put(deliveries, draft);
    all.push({ delivery: draft, event, text });
  }
  const [first] = all;
  if (first === undefined) throw new Error("There is no delivery.");
  return { endpoint, all, delivery: first.delivery };
}

/** The same where no worker has stored a delivery yet, and the sweep looks at the events in a minute. */
export async function owed(
  count = 1,
  more: Partial<WebhookEndpoint> = {},
  health: Partial<WebhookHealth> = {},
): Promise<Situation & { readonly messages: readonly DeliveryMessage[] }> {
  const found = await situation(count, more, health);
  const { endpoint, all } = found;
  for (const { delivery, event } of all) {
    const endpoints = [{ id: endpoint.id, epoch: endpoint.epoch }];
    await put(events, { ...event, endpoints, wake_at: new Date(nowMs + 60_000).toISOString() });
    const Key = marshall(deliveries.keyOf(delivery));
    await emulator.client.send(new DeleteItemCommand({ TableName: emulator.tableName, Key }));
  }
  const messages = all.map(({ delivery, event }) => ({
    ...messageOf(delivery),
    event_id: event.id,
    endpoint_id: endpoint.id,
  }));
  return { ...found, messages };
}

function eventOf(tenant_id: string, sequence: number, created_at: string) {
  const id = eventId(Date.parse(created_at), newId("evt"), sequence);
  const text = JSON.stringify({ id, type: "client.created", data: { object: { email: canary } } });
  const resource_id = "cli_01JD0000000000000000000001";
  const identity = { id, created_at, resource_id, account_id: null, client_id: null };
  const event: PublishedEvent = {
    ...identity,
    tenant_id,
    sequence,
    type: "client.created",
    published_at: created_at,
    payload: packPayload(identity, text),
    expires_at: Math.floor(Date.parse(created_at) / 1000) + 1000,
  };
  return { event, text };
}

export const messageOf = ({ tenant_id, id }: Delivery, attempt = 1, returns = 0): DeliveryMessage => ({
  tenant_id,
  delivery_id: id,
  attempt,
  returns,
});

/** Hands messages to the function, as one batch of a queue: by default that of its lane. */
export async function deliver(
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

export async function stored({ tenant_id, id, endpoint_id }: Delivery) {
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

export const none = { batchItemFailures: [] };
