import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { describe, expect, it, vi } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { answerWith, type Received } from "../../support/stack/receiver.ts";
import {
  at,
  bounds,
  canary,
  deliver,
  logged,
  messageOf,
  none,
  nowMs,
  put,
  queues,
  receiver,
  sealWebhookSecret,
  secret,
  secretOf,
  situation,
  stored,
  watched,
  webhooks,
} from "./deliver-cases.ts";

function verify({ body, headers }: Received, key = secret): unknown {
  const texts = headers as Record<string, string>;
  return new Webhook(key).verify(body, texts);
}

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

  it("after it wrote its entry has recorded the result: no worker posts again", async () => {
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

  it("that answers 410 is off at once, by a note in its health, and gets nothing more", async () => {
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

  it("that accepts once starts again", async () => {
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
