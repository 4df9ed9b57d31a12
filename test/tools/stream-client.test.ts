import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Socket } from "../../infra/sdk/stream/connection.ts";
import type { EventMessage, ServerMessage, Subscription } from "../../infra/sdk/stream/messages.ts";
import {
  AccessEnded,
  StreamClient,
  type StreamHandlers,
  type StreamOptions,
} from "../../infra/sdk/stream/stream-client.ts";
import type { ClientMessageBody } from "../../shared/schema/stream/client-messages.ts";
import type { ServerMessageBody } from "../../shared/schema/stream/server-messages.ts";
import { StreamService } from "../support/stack/stream-service.ts";
import { eventually } from "../support/wait.ts";

let service: StreamService;
const clients: StreamClient[] = [];

beforeEach(async () => {
  service = await StreamService.start();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await service.stop();
});

const connect = (url: string, protocol: string): Socket => new WebSocket(url, [protocol]) as unknown as Socket;

function open(handlers: StreamHandlers, options: Partial<StreamOptions> = {}): StreamClient {
  const quick = { connect, firstDelayMs: 1, longestDelayMs: 4, address: async () => service.address() };
  const client = new StreamClient({ ...quick, handlers, ...options });
  clients.push(client);
  return client;
}

const all: Subscription = { id: "all", channels: [{ name: "events", after_sequence: "0" }] };
const some: Subscription = { id: "some", channels: [{ name: "events", types: ["b"], after_sequence: "0" }] };
const news: Subscription = { id: "news", channels: [{ name: "events" }] };

/** Messages of the handlers, by subscription. */
class Seen {
  readonly events = new Map<string, number[]>();
  readonly statuses: string[] = [];
  readonly reasons: string[] = [];
  readonly errors: string[] = [];
  /** Numbers of the first `sync_end` of each subscription. */
  readonly began = new Map<string, number>();
  /** Numbers of events at which the handler throws once. */
  readonly throwsAt = new Set<number>();

  readonly handlers: StreamHandlers = {
    event: ({ subscriptions, sequence }: EventMessage) => {
      if (this.throwsAt.delete(Number(sequence))) throw new Error("The handler failed.");
      for (const id of subscriptions) this.events.set(id, [...this.of(id), Number(sequence)]);
    },
    synced: ({ subscription, sequence }) => {
      if (!this.began.has(subscription)) this.began.set(subscription, Number(sequence));
    },
    refused: ({ code }) => void this.errors.push(code),
    status: (status, reason) => {
      this.statuses.push(status);
      this.reasons.push(reason);
    },
  };

  of(id: string): readonly number[] {
    return this.events.get(id) ?? [];
  }
}

const isLive = (seen: Seen) => eventually(() => seen.statuses.at(-1) === "live" || undefined);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

type Step = { readonly publish: readonly string[] } | "break" | "expiring" | "expired" | "too_slow" | "repeat" | "wait";

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ publish: fc.array(fc.constantFrom("a", "b"), { maxLength: 8 }) }) },
  { weight: 5, arbitrary: fc.constantFrom("break", "expiring", "expired", "too_slow", "repeat", "wait") },
);

async function run(one: Step, caughtUp: () => Promise<unknown>): Promise<void> {
  if (typeof one === "object") service.publish(one.publish);
  else if (one === "break") service.breakAll();
  else if (one === "expiring") service.sendAll({ type: "batch", messages: [{ type: "expiring", expires_at: "" }] });
  else if (one === "repeat") service.repeat(4);
  else if (one === "wait") await caughtUp();
  else service.closeAll(one);
  await new Promise(setImmediate);
}

describe("the client of the stream", () => {
  it("hands over every event once and in order, wherever sockets break and handlers fail", async () => {
    const program = fc.record({
      steps: fc.array(step, { maxLength: 12 }),
      lives: fc.array(fc.nat(6), { maxLength: 6 }),
      throwsAt: fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(program, async ({ steps, lives, throwsAt }) => {
        service.events.length = 0;
        service.lives.splice(0, Number.POSITIVE_INFINITY, ...lives);
        const seen = new Seen();
        for (const sequence of throwsAt) seen.throwsAt.add(sequence);
        const client = open(seen.handlers, { subscriptions: [all, some, news] });
        const caughtUp = () => eventually(() => client.position("all") === String(service.head) || undefined, 3_000);
        await new Promise(setImmediate);
        for (const one of steps) await run(one, caughtUp);
        service.publish(["b"]);
        for (const id of ["all", "some", "news"]) {
          await eventually(
            () => (seen.began.has(id) && client.position(id) === String(service.head)) || undefined,
            3_000,
          );
        }
        const began = seen.began.get("news") ?? 0;
        const expected = {
          all: numbers(service.head),
          some: service.events.filter(({ type }) => type === "b").map(({ sequence }) => sequence),
          news: numbers(service.head).slice(began),
        };
        client.close();
        expect({
          all: seen.of("all"),
          some: seen.of("some"),
          news: seen.of("news").filter((one) => one > began),
        }).toEqual(expected);
        expect(seen.of("news")).toEqual(seen.of("news").toSorted((one, other) => one - other));
      }),
      { numRuns: 60 },
    );
  });

  it("opens the next connection before the end of one, and closes that one when the next is live", async () => {
    const seen = new Seen();
    open(seen.handlers, { subscriptions: [all] });
    await isLive(seen);
    service.sendAll({ type: "batch", messages: [{ type: "expiring", expires_at: "" }] });
    await eventually(() => (service.handshakes === 2 && service.connections === 1) || undefined);
    service.publish(["a"]);
    await eventually(() => seen.of("all")[0]);
    expect(seen.statuses).toEqual(["connecting", "live"]);
    expect(seen.of("all")).toEqual([1]);
  });

  it("ends when the access has ended, and when an address is refused, and asks for no further one", async () => {
    const ended = new Seen();
    open(ended.handlers, { subscriptions: [all] });
    await isLive(ended);
    service.closeAll("access_ended");
    await eventually(() => ended.statuses.at(-1) === "ended" || undefined);
    expect(ended.reasons.at(-1)).toBe("Closed: access_ended.");
    expect(service.handshakes).toBe(1);
    const refused = new Seen();
    let asked = 0;
    open(refused.handlers, {
      address: async () => {
        asked += 1;
        if (asked < 3) throw new Error("No answer.");
        throw new AccessEnded("The token is not accepted.");
      },
    });
    await eventually(() => refused.statuses.at(-1) === "ended" || undefined);
    expect({ asked, reason: refused.reasons.at(-1) }).toEqual({ asked: 3, reason: "The token is not accepted." });
    expect(refused.statuses).toEqual(["connecting", "offline", "connecting", "offline", "connecting", "ended"]);
  });

  it("tries again with a new ticket when the handshake is refused", async () => {
    const seen = new Seen();
    const addresses = [service.address().replace("ticket=", "ticket=x"), service.address()];
    open(seen.handlers, { subscriptions: [all], address: async () => addresses.shift() ?? "" });
    await isLive(seen);
    expect(service.handshakes).toBe(2);
    expect(seen.statuses).toEqual(["connecting", "offline", "connecting", "live"]);
  });

  it("drops a connection that answers no ping", async () => {
    const seen = new Seen();
    open(seen.handlers, { subscriptions: [all], limits: { quietMs: 20, pongMs: 500 } });
    await isLive(seen);
    await eventually(() => service.received.filter((text) => text.includes("ping")).length >= 2 || undefined);
    expect(service.handshakes).toBe(1);
    service.silent = true;
    await eventually(() => service.handshakes > 1 || undefined);
  });

  it("sends a subscription added later, reports a refused one, and hands over nothing of an ended one", async () => {
    const seen = new Seen();
    const client = open(seen.handlers);
    await isLive(seen);
    client.subscribe(all);
    client.subscribe({ id: "prices", channels: [{ name: "quotes", symbols: ["EURUSD"] }] });
    await eventually(() => seen.errors[0]);
    expect(seen.errors).toEqual(["insufficient_scope"]);
    service.publish(["a"]);
    await eventually(() => seen.of("all")[0]);
    client.unsubscribe("all");
    client.subscribe(some);
    service.publish(["a", "b"]);
    await eventually(() => seen.of("some")[0]);
    expect({ all: seen.of("all"), some: seen.of("some") }).toEqual({ all: [1], some: [3] });
    expect(client.position("all")).toBeUndefined();
  });

  it("subscribes again after a fault of the moment, which it does not report", async () => {
    const seen = new Seen();
    service.faults.push("service_unavailable", "rate_limit_exceeded", "internal_error");
    open(seen.handlers, { subscriptions: [all] });
    await isLive(seen);
    service.publish(["a"]);
    await eventually(() => seen.of("all")[0]);
    expect({ errors: seen.errors, handshakes: service.handshakes, asked: service.received.length }).toEqual({
      errors: [],
      handshakes: 1,
      asked: 4,
    });
  });

  it("subscribes again where no answer comes", async () => {
    const seen = new Seen();
    service.faults.push("", "");
    open(seen.handlers, { subscriptions: [all], limits: { answerMs: 30 } });
    await isLive(seen);
    expect({ errors: seen.errors, handshakes: service.handshakes, asked: service.received.length }).toEqual({
      errors: [],
      handshakes: 1,
      asked: 3,
    });
  });

  it("sends at most five messages in a second, so that no second of the service has more than ten", async () => {
    const seen = new Seen();
    const subscriptions = Array.from({ length: 8 }, (_, index) => ({ ...all, id: `s${index}` }));
    open(seen.handlers, { subscriptions });
    await eventually(() => service.received.length >= 5 || undefined);
    const began = performance.now();
    expect(service.received).toHaveLength(5);
    await isLive(seen);
    expect(performance.now() - began).toBeGreaterThan(500);
    expect(service.received).toHaveLength(8);
  });

  it("opens a socket with the global WebSocket, where there is one, for the subprotocol of the stream", async () => {
    const asked: unknown[] = [];
    const given = Object.getOwnPropertyDescriptor(globalThis, "WebSocket");
    class Recorded extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        asked.push(protocols);
      }
    }
    Object.defineProperty(globalThis, "WebSocket", { value: Recorded, configurable: true, writable: true });
    try {
      const seen = new Seen();
      const address = async () => service.address();
      const client = new StreamClient({ address, handlers: seen.handlers, subscriptions: [all] });
      clients.push(client);
      await isLive(seen);
    } finally {
      if (given === undefined) Reflect.deleteProperty(globalThis, "WebSocket");
      else Object.defineProperty(globalThis, "WebSocket", given);
    }
    expect(asked).toEqual([["brokerage.v2+json"]]);
  });

  it("declares messages as the schemas of the service do", () => {
    const received = (message: ServerMessageBody): ServerMessage => message;
    const sent = (message: Extract<ClientMessageBody, { type: "subscribe" }>): Subscription => message;
    const pong = { type: "pong", id: "1" } as const;
    const subscribe = { type: "subscribe", id: "1", channels: [{ name: "margin" }] } as const;
    expect([received(pong), sent({ ...subscribe, channels: [...subscribe.channels] })]).toEqual([pong, subscribe]);
  });
});
