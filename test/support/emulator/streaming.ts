import { randomUUID } from "node:crypto";
import type { SQSEvent } from "aws-lambda";
import type { StreamConnection, StreamSet } from "../../../shared/domain/stream/connection.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import type { StreamCause } from "../../../shared/runtime/stream-queue.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import type { StreamChannel } from "../../../shared/schema/stream/client-messages.ts";
import {
  applications,
  eventId,
  events,
  streamConnections,
  streamFlags,
  streamSets,
} from "../../../shared/table/entities.ts";
import { packPayload } from "../../../shared/table/event-payload.ts";
import { isStored } from "../../../shared/table/expression.ts";
import { changeItem } from "../../../shared/table/items.ts";
import { advanceCounter, eventCounter } from "../../../shared/table/sequences.ts";
import { readAll } from "../../../shared/table/store.ts";
import { transactOnce } from "../../../shared/table/transact.ts";
import { putNew } from "../../../shared/table/write.ts";
import type { TestApi } from "./api.ts";
import type { SentMessage } from "./queue-endpoint.ts";
import { lambdaContext } from "./request.ts";
import type { SeenPost, SocketEndpoint } from "./socket-endpoint.ts";

const { handler: deliver } = await import("../../../functions/stream/deliver.ts");
const { joinStream } = await import("../../../shared/stream/membership.ts");
const { announceSubscription, storeSubscription } = await import("../../../shared/stream/subscriptions.ts");
const { wakeStream } = await import("../../../shared/events/wake-stream.ts");

/** A message that a client has received. */
// biome-ignore lint/suspicious/noExplicitAny: messages are checked by the assertions, not by the compiler.
export type Received = any;

/** Messages that a client has received, those of batches one by one. */
export function messagesIn(posts: readonly SeenPost[], connection_id: string): Received[] {
  return posts
    .filter((post) => post.connection_id === connection_id)
    .map(({ text }) => JSON.parse(text))
    .flatMap((message) => (message.type === "batch" ? message.messages : [message]));
}

/** Clients of the stream of a brokerage, and the worker that serves them. Loaded after the environment is set. */
export function streaming({ queues }: Pick<TestApi, "queues">, gateway: SocketEndpoint, tenant: string) {
  /** Connections, sets and flag look as if they had been there for long. */
  const age = async (connection: StreamConnection): Promise<void> => {
    const connected_at = new Date(Date.now() - 3_600_000).toISOString();
    await changeItem(streamConnections.keyOf(connection), { set: { connected_at }, when: [isStored] });
    await changeItem(streamFlags.key(tenant), { set: { created_at_ms: 1 }, when: [isStored] });
  };
  const work = {
    /** Opens a connection of a holder with all rights, which was greeted; by default as if that was an hour ago. */
    connect: async (isOld = true): Promise<StreamConnection> => {
      const holder = { type: "application", id: newId("app"), name: "test" } as const;
      // The sweep looks at this of its holder.
      await changeItem(applications.key(tenant, holder.id), { set: { et: applications.et, status: "active", scopes } });
      const connection_id = `${randomUUID().slice(0, 12)}=`;
      const connection = await joinStream({ holder, client_id: "cid", scopes }, { tenant_id: tenant, connection_id });
      if (connection === undefined) throw new Error("The connection was refused.");
      await changeItem(streamConnections.keyOf(connection), { set: { hello_sent: true }, when: [isStored] });
      if (isOld) await age(connection);
      return connection;
    },
    /** Subscribes, as a message of the client does. */
    subscribe: async (connection: StreamConnection, id: string, channels: StreamChannel[]): Promise<void> => {
      const stored = await storeSubscription(connection, { type: "subscribe", id, channels });
      if (!stored.ok) throw new Error(stored.refusal.detail);
      await announceSubscription(connection, channels);
    },
    /** Lets so much time pass that the next run is a lone one. */
    rest: async (set = 0): Promise<void> => {
      await changeItem(streamSets.key(tenant, set), {
        set: { last_run_at_ms: 1, quick_runs: 0 },
        when: [isStored],
      });
    },
    /** Publishes so many events past the publisher, and hands over as it does. */
    publish: async (count: number, fields: EventFields = {}) => {
      const [flag] = await readAll(streamFlags, [streamFlags.key(tenant)]);
      const counter = await eventCounter(tenant);
      for (let at = 0; at < count; at += 90) {
        const now = await eventCounter(tenant);
        const size = Math.min(90, count - at);
        const made = Array.from({ length: size }, (_, place) => eventOf(tenant, now.last + place + 1, fields));
        const to = { last: now.last + size, audit: now.audit };
        const outcome = await transactOnce([
          advanceCounter(tenant, now, to),
          ...made.map((one) => putNew(events, one)),
        ]);
        if (!outcome.ok) throw new Error("The events could not be published.");
      }
      await wakeStream(tenant, flag);
      return { from: counter.last + 1, to: counter.last + count };
    },
    /** Messages that wake the worker, taken out of their queue. */
    wakes: (): SentMessage[] => queues.takeFrom("stream.fifo"),
    /** A message of a cause, sent at this time or now. */
    wake: (cause: StreamCause, set = 0, sent_ms = Date.now()): SentMessage => ({
      queue: "stream.fifo",
      body: { tenant_id: tenant, set, cause },
      ...{ group: `${tenant}#${set}`, delaySeconds: undefined, deduplication: undefined, trace: undefined, sent_ms },
    }),
    /** Hands messages to the worker, ten at a time; returns those that come again. */
    run: async (messages: readonly SentMessage[], timeoutMs = 10_000): Promise<SentMessage[]> => {
      const again: SentMessage[] = [];
      for (let at = 0; at < messages.length; at += 10) {
        const some = messages.slice(at, at + 10);
        const records = some.map(({ body, sent_ms }, place) => ({
          messageId: String(place),
          body: JSON.stringify(body),
          attributes: { SentTimestamp: String(sent_ms) },
        }));
        const event = { Records: records } as unknown as SQSEvent;
        const { batchItemFailures: failed } = await deliver(event, lambdaContext(timeoutMs));
        again.push(...failed.flatMap(({ itemIdentifier }) => some[Number(itemIdentifier)] ?? []));
      }
      return again;
    },
    /** Runs the worker as long as there are messages for it. */
    runAll: async (): Promise<void> => {
      for (let sent = work.wakes(); sent.length > 0; sent = work.wakes()) {
        const again = await work.run(sent);
        if (again.length > 0) throw new Error(`${again.length} messages come again.`);
      }
    },
    /** Until when the set needs no message, in epoch milliseconds; 0 for now. */
    hotUntil: async (number = 0): Promise<number> => {
      const [flag] = await readAll(streamFlags, [streamFlags.key(tenant)]);
      return flag?.sets[String(number)]?.hot_until_ms ?? 0;
    },
    set: async (number = 0): Promise<StreamSet | undefined> =>
      (await readAll(streamSets, [streamSets.key(tenant, number)]))[0],
    /** Messages that a client has received since the last time that posts were taken. */
    messages: (connection: StreamConnection, posts: readonly SeenPost[] = gateway.takePosts()) =>
      messagesIn(posts, connection.connection_id),
  };
  return work;
}

/** Members of a published event that a test chooses. */
interface EventFields {
  readonly type?: string;
  readonly account_id?: string;
  readonly resource_id?: string;
}

/** A published event of an account, with a payload of its own. */
function eventOf(
  tenant_id: string,
  sequence: number,
  { type = "account.updated", account_id, resource_id = account_id ?? newId("acc") }: EventFields,
) {
  const now = new Date().toISOString();
  const identity = {
    ...{ id: eventId(Date.now(), newId("evt"), sequence), created_at: now, resource_id },
    ...{ account_id: account_id ?? null, client_id: null },
  };
  const text = JSON.stringify({ id: identity.id, object: "event", type, sequence: String(sequence) });
  return {
    ...identity,
    ...{ tenant_id, sequence, type, published_at: now, payload: packPayload(identity, text) },
    expires_at: Math.floor(Date.now() / 1000) + 3600,
  };
}
