import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { someClient } from "../support/stack/api-client.ts";
import { answerWith, type Received, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, startStack } from "../support/stack/stack.ts";
import { arrivals, callsTo, type Registered, register, verified } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

/** How much faster the ladder is climbed; the long form is `LADDER_SCALE=600`. */
const scale = Number(process.env["LADDER_SCALE"] ?? 3000);
/** Seconds between an attempt and the next one, as the specification has them. */
const waits = [60, 300, 1800, 7200, 86_400];
const scaledMs = (seconds: number) => (seconds * 1000) / scale;
/** Delay of a wait on a busy machine: waits whose difference is less mean no order of the gaps. */
const busyMs = 8_000;
/** Longest time that the whole ladder takes: with all its jitter, and what a busy machine adds. */
const wholeMs = scaledMs(95_760) * 1.1 + 30_000;

const rungs = [1, 2, 3, 4, 5];
const paths = ["/always", "/redirects", "/rotated", "/switched-off", ...rungs.map((n) => `/fails-${n}`)] as const;

let stack: Stack;
let receiver: Receiver;
const endpoints = new Map<string, Registered>();
/** The secret that the endpoint `/rotated` has got since, and when that was answered. */
let rotated = { secret: "", atMs: 0 };
let switchedOffMs = 0;
let accepting = false;

function statusOf(path: string): number {
  const failures = Number(/^\/fails-(\d)$/.exec(path)?.[1] ?? 0);
  if (failures > 0) return callsTo(receiver, path).length > failures ? 204 : 500;
  if (path === "/redirects") return 307;
  return accepting && path === "/always" ? 200 : 503;
}

/** All deliveries of one event side by side, so that the ladder is waited for once. */
beforeAll(async () => {
  [stack, receiver] = await Promise.all([startStack({ timeScale: scale }), startReceiver()]);
  receiver.answer = (call, reply) => answerWith(statusOf(call.path), { location: "/followed" })(call, reply);
  for (const path of paths) endpoints.set(path, await register(stack.api, receiver.url + path));
  const made = await stack.api.call("POST", "/clients", { body: someClient() });
  expect(made.status).toBe(201);
  await Promise.all([rotate(), switchOff()]);
});
afterAll(async () => {
  await stack?.stop();
  await receiver?.stop();
});

async function rotate(): Promise<void> {
  await arrivals(receiver, "/rotated", 1);
  const path = `/webhook_endpoints/${registered("/rotated").id}/rotate_secret`;
  const { status, body } = await stack.api.call<Registered>("POST", path, { body: { grace_seconds: 3600 } });
  expect([status, body.secret]).toEqual([200, expect.not.stringContaining(registered("/rotated").secret)]);
  rotated = { secret: body.secret, atMs: Date.now() };
}

async function switchOff(): Promise<void> {
  await arrivals(receiver, "/switched-off", 1);
  for (const status of ["disabled", "enabled"]) {
    const path = `/webhook_endpoints/${registered("/switched-off").id}`;
    expect(await stack.api.call("PATCH", path, { body: { status } })).toMatchObject({ status: 200 });
  }
  switchedOffMs = Date.now();
}

const registered = (path: string): Registered => endpoints.get(path) ?? { id: "", secret: "" };
const idOf = (call: Received | undefined) => String(call?.headers["x-service-delivery"]);

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: readonly { readonly number: number; readonly http_status: number }[];
}

function settled(call: Received | undefined, status: string): Promise<Delivery> {
  return eventually(async () => {
    const { body } = await stack.api.call<Delivery>("GET", `/deliveries/${idOf(call)}`);
    return body.status === status ? body : undefined;
  }, 60_000);
}

const six = Array.from({ length: 6 }, (_, index) => index + 1);

/** Six calls of one delivery: none early, the same event and bytes, signed again each time. */
function expectLadder(calls: readonly Received[], secret: string): void {
  expect(calls.map(({ headers }) => Number(headers["x-service-attempt"]))).toEqual(six);
  expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
  expect(new Set(calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(calls.map(idOf)).size).toBe(1);
  const gaps = calls.slice(1).map((call, index) => call.atMs - (calls[index]?.atMs ?? 0));
  for (const [index, gap] of gaps.entries()) {
    expect([index, gap]).toEqual([index, expect.toSatisfy((ms: number) => ms >= scaledMs(waits[index] ?? 0))]);
  }
  for (const [index, wait] of waits.entries()) {
    const shorter = gaps.slice(0, index).filter((_, at) => scaledMs(wait - 1.1 * (waits[at] ?? 0)) > busyMs);
    for (const gap of shorter) expect(gap).toBeLessThan(gaps[index] ?? 0);
  }
  for (const call of calls) {
    expect(verified(call, secret)).toHaveLength(3);
    expect(Math.abs(Number(call.headers["webhook-timestamp"]) * 1000 - call.atMs)).toBeLessThan(5000);
  }
  const stamps = new Set(calls.map(({ headers }) => headers["webhook-timestamp"]));
  const signatures = new Set(calls.map(({ headers }) => headers["webhook-signature"]));
  // Two in one second differ when the secret was rotated between them.
  expect(signatures.size).toBeGreaterThanOrEqual(stamps.size);
  expect(stamps.size).toBeGreaterThan(2);
}

describe("a receiver that always fails", () => {
  it(
    "gets six calls, none early, and then a person may send the event again",
    async () => {
      const calls = await arrivals(receiver, "/always", 6, wholeMs);
      const seconds = calls.map(({ atMs }) => Math.round(((atMs - (calls[0]?.atMs ?? 0)) * scale) / 1000));
      console.log(`At a time scale of ${scale} the six attempts came at ${seconds.join(", ")} s.`);
      expectLadder(calls, registered("/always").secret);
      const over = await settled(calls[0], "exhausted");
      expect(over.attempts).toMatchObject(six.map((number) => ({ number, http_status: 503, error: "http_status" })));
      expect(callsTo(receiver, "/always")).toHaveLength(6);
      accepting = true;
      const again = await stack.api.call<Delivery>("POST", `/deliveries/${over.id}/retry`);
      expect([again.status, again.body]).toEqual([202, expect.objectContaining({ redelivery_of: over.id })]);
      const seventh = (await arrivals(receiver, "/always", 7)).at(-1);
      expect(idOf(seventh)).toBe(again.body.id);
      expect(seventh?.body).toBe(calls[0]?.body);
      await settled(seventh, "succeeded");
      expect(callsTo(receiver, "/always")).toHaveLength(7);
    },
    wholeMs + 90_000,
  );

  it(
    "by redirecting elsewhere is not followed",
    async () => {
      expectLadder(await arrivals(receiver, "/redirects", 6, wholeMs), registered("/redirects").secret);
      expect(callsTo(receiver, "/followed")).toEqual([]);
    },
    wholeMs + 10_000,
  );
});

describe("a receiver that accepts after some failures", () => {
  it.each(rungs)(
    "gets one call more than the %i that failed",
    async (failures) => {
      const path = `/fails-${failures}`;
      const calls = await arrivals(receiver, path, failures + 1, wholeMs);
      const delivery = await settled(calls[0], "succeeded");
      const told = [...Array.from({ length: failures }, () => 500), 204];
      expect(delivery.attempts.map(({ http_status }) => http_status)).toEqual(told);
      expect(callsTo(receiver, path)).toHaveLength(failures + 1);
    },
    wholeMs + 60_000,
  );
});

describe("while a delivery is on the ladder", () => {
  it(
    "its secret may be rotated, and the receiver can verify each call by the old one and later ones by either",
    async () => {
      const calls = await arrivals(receiver, "/rotated", 6, wholeMs);
      expectLadder(calls, registered("/rotated").secret);
      // A call that was signed before the answer was there may arrive after it.
      const later = calls.filter(({ atMs }) => atMs > rotated.atMs + 1000);
      expect(later.length).toBeGreaterThan(0);
      for (const call of later) expect(verified(call, rotated.secret)).toHaveLength(3);
    },
    wholeMs + 10_000,
  );

  it(
    "its endpoint may be switched off, and gets nothing more, not even when it is switched on again",
    async () => {
      // Another delivery of the same event shows that the whole ladder has passed.
      await arrivals(receiver, "/fails-5", 6, wholeMs);
      const calls = callsTo(receiver, "/switched-off");
      expect(calls.filter(({ atMs }) => atMs > switchedOffMs + 1000)).toEqual([]);
      await settled(calls[0], "cancelled");
    },
    wholeMs + 60_000,
  );
});
