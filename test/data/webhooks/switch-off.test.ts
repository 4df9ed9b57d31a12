import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Delivery } from "../../../shared/domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../../../shared/domain/records/webhook.ts";
import { limits } from "../../../shared/limits.ts";
import { deliveries, webhookHealths, webhooks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw, waitingDeliveries } from "../../support/emulator/deliveries.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);
afterEach(async () => {
  api.watched.interfere = () => undefined;
  expect(await findings(api.emulator)).toEqual([]);
  api.queues.takeMessages();
});

const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
const { readKeys } = await import("../../../shared/table/store.ts");
const { noteOff, switchOffNoted } = await import("../../../shared/webhooks/switch-off.ts");
const sweep = () => sweepEvents({}, lambdaContext(60_000));

const reason = "The endpoint answered 410 Gone.";
const url = "https://hooks.example.com/broker";
const other = "https://hooks.example.com/other";

interface Own {
  readonly caller: TestCaller;
  readonly path: string;
  /** Endpoint and health as they are stored. */
  readonly stored: () => Promise<{ endpoint: WebhookEndpoint; health: WebhookHealth }>;
}

/** An endpoint of a tenant of its own. */
async function ownEndpoint(): Promise<Own> {
  const caller = newCaller();
  const { body } = await api.call(caller, "POST", "/webhook_endpoints", { body: { url, event_types: ["*"] } });
  const keys = [webhooks.key(caller.tenant_id, body.id), webhookHealths.key(caller.tenant_id, body.id)];
  const stored = async () => {
    const [endpoint, health] = await readKeys(keys);
    return { endpoint: endpoint as WebhookEndpoint, health: health as WebhookHealth };
  };
  return { caller, path: `/webhook_endpoints/${body.id}`, stored };
}

/** An endpoint that the deliverer has noted to be off. */
async function notedEndpoint(): Promise<Own> {
  const own = await ownEndpoint();
  expect(await noteOff((await own.stored()).endpoint, reason)).toBe(true);
  return own;
}

const get = ({ caller, path }: Own) => api.call(caller, "GET", path);
const patch = ({ caller, path }: Own, body: object, headers: Record<string, string> = {}) =>
  api.call(caller, "PATCH", path, { body, headers });

/** Whether the due index holds the health of this endpoint. */
async function isDue({ caller }: Own): Promise<boolean> {
  const items = await scanTable(api.emulator);
  const own = items.find(({ et, pk }) => et === "HEALTH" && String(pk).startsWith(caller.tenant_id));
  return own?.["due_pk"] !== undefined;
}

describe("a note that an endpoint is to be off", () => {
  it.each<readonly [string, object]>([
    ["goes to another address by now", { url: other }],
    ["was disabled", { status: "disabled" }],
    ["was deleted", { status: "deleted" }],
    ["was enabled again", { epoch: 2 }],
  ])("is not made of one that %s", async (_, more) => {
    const own = await ownEndpoint();
    const { endpoint: judged } = await own.stored();
    await putRaw(api, itemOf(webhooks, { ...judged, ...more, version: 2 }));
    expect(await noteOff(judged, reason)).toBe(false);
    expect((await own.stored()).health.off).toBeNull();
    expect(await isDue(own)).toBe(false);
  });

  it("is made once, however many find the same at once", async () => {
    const own = await ownEndpoint();
    const { endpoint } = await own.stored();
    const made = await atOnce(5, () => noteOff(endpoint, reason));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect((await own.stored()).endpoint).toEqual(endpoint);
    expect(await isDue(own)).toBe(true);
  });

  it("counts at once: the endpoint is shown as off, with another tag and version", async () => {
    const own = await ownEndpoint();
    const before = await get(own);
    await noteOff((await own.stored()).endpoint, reason);
    const shown = await get(own);
    expect(shown.body).toMatchObject({ status: "auto_disabled", disabled_reason: reason, version: 2 });
    expect(shown.headers["ETag"]).not.toBe(before.headers["ETag"]);
    const stale = { "If-Match": before.headers["ETag"] ?? "" };
    expect((await patch(own, { description: "x" }, stale)).status).toBe(412);
    expect((await api.call(own.caller, "DELETE", own.path, { headers: stale })).status).toBe(412);
    const listed = async (status: string) =>
      (await brokerage(api, own.caller).get(`/webhook_endpoints?status=${status}`)).data;
    expect(await listed("auto_disabled")).toEqual([shown.body]);
    expect(await listed("enabled,disabled")).toEqual([]);
  });

  it("counts at once: nothing more is sent by hand", async () => {
    const own = await ownEndpoint();
    const { endpoint } = await own.stored();
    const [ended = ""] = await waitingDeliveries(api, endpoint, 1, { status: "succeeded", wake_at: null });
    await noteOff(endpoint, reason);
    const calls = [
      await api.call(own.caller, "POST", `${own.path}/test`, { body: { type: "client.created" } }),
      await api.call(own.caller, "POST", `/deliveries/${ended}/retry`),
      await api.call(own.caller, "POST", `${own.path}/replay`, { body: { after_sequence: "0" } }),
      await patch(own, { status: "disabled" }),
    ];
    expect(calls.map(({ status, body }) => [status, body.code])).toEqual([
      [409, "webhook_endpoint_disabled"],
      [409, "webhook_endpoint_disabled"],
      [409, "webhook_endpoint_disabled"],
      [409, "illegal_transition"],
    ]);
    expect(api.queues.takeMessages()).toEqual([]);
  });
});

describe("the sweep", () => {
  it("writes on the endpoint what was shown before, and takes the note away, two sweeps at once included", async () => {
    const own = await notedEndpoint();
    const { endpoint } = await own.stored();
    const open = await waitingDeliveries(api, endpoint, 3, { wake_at: null });
    const shown = await get(own);
    await Promise.all([sweep(), sweep()]);
    const after = await own.stored();
    expect(after.endpoint).toMatchObject({ status: "auto_disabled", disabled_reason: reason, version: 2 });
    expect(after.health).toMatchObject({ off: null, wake_at: null });
    expect(await isDue(own)).toBe(false);
    expect((await get(own)).text).toBe(shown.text);
    await sweep();
    for (const id of open) {
      expect((await api.call(own.caller, "GET", `/deliveries/${id}`)).body.status).toBe("cancelled");
    }
    expect((await get(own)).text).toBe(shown.text);
  });

  it("that died before the note was gone is followed by one that takes it away", async () => {
    const own = await notedEndpoint();
    api.watched.interfere = ({ operation, input }) =>
      operation === "UpdateItem" && JSON.stringify(input).includes("HEALTH")
        ? { status: 400, body: { __type: "com.amazonaws#AccessDeniedException" } }
        : undefined;
    expect(await sweep()).toMatchObject({ failed: 1, switched_off: 0 });
    expect((await own.stored()).endpoint.status).toBe("auto_disabled");
    expect(await isDue(own)).toBe(true);
    api.watched.interfere = () => undefined;
    expect(await sweep()).toMatchObject({ failed: 0, switched_off: 1 });
    expect((await own.stored()).endpoint.version).toBe(2);
    expect(await isDue(own)).toBe(false);
  });

  it("leaves an endpoint on that its owner has switched on meanwhile", async () => {
    const own = await notedEndpoint();
    const on = await patch(own, { status: "enabled" }, { "If-Match": '"2"' });
    expect(on.body).toMatchObject({ status: "enabled", disabled_reason: null, version: 3 });
    await sweep();
    expect((await get(own)).text).toBe(on.text);
    expect((await own.stored()).endpoint.epoch).toBe(2);
    expect(await isDue(own)).toBe(false);
  });

  it("takes the note of a deleted endpoint away with it", async () => {
    const own = await notedEndpoint();
    expect((await api.call(own.caller, "DELETE", own.path)).status).toBe(200);
    expect((await own.stored()).endpoint).toMatchObject({ status: "deleted", version: 3 });
    await sweep();
    await sweep();
    expect(await own.stored()).toEqual({ endpoint: undefined, health: undefined });
  });
});

describe("a change of an endpoint that was noted to be off", () => {
  it.each<readonly [string, (own: Own) => Promise<{ body: { version: number } }>]>([
    ["another address", (own) => patch(own, { url: other })],
    ["another description", (own) => patch(own, { description: "CRM" })],
    ["a new secret", (own) => api.call(own.caller, "POST", `${own.path}/rotate_secret`, { body: {} })],
  ])("by %s writes along that it is off", async (_, change) => {
    const own = await notedEndpoint();
    expect((await change(own)).body).toMatchObject({ status: "auto_disabled", disabled_reason: reason, version: 3 });
    const { endpoint } = await own.stored();
    expect(endpoint).toMatchObject({ status: "auto_disabled", disabled_reason: reason, version: 3 });
    await sweep();
    expect((await own.stored()).endpoint).toMatchObject({ status: "auto_disabled", version: 3 });
    expect(await isDue(own)).toBe(false);
  });

  it("that changes nothing answers with the endpoint as it stands", async () => {
    const own = await notedEndpoint();
    const shown = await get(own);
    expect((await patch(own, {})).text).toBe(shown.text);
  });

  it("back to the address of an older note does not switch it off", async () => {
    const own = await ownEndpoint();
    const { endpoint, health } = await own.stored();
    await patch(own, { url: other });
    const at = new Date().toISOString();
    const off = { epoch: endpoint.epoch, url, reason, at };
    await putRaw(api, itemOf(webhookHealths, { ...health, off, wake_at: at }));
    expect((await get(own)).body).toMatchObject({ status: "enabled", url: other });
    expect((await patch(own, { url })).body).toMatchObject({ status: "enabled", url, version: 3 });
    await sweep();
    expect((await get(own)).body).toMatchObject({ status: "enabled", version: 3 });
    expect(await isDue(own)).toBe(false);
  });
});

describe("a closed endpoint", () => {
  it("gets one of its overdue deliveries from a sweep, which lets the others rest on", async () => {
    const own = await ownEndpoint();
    const { endpoint, health } = await own.stored();
    const closed_until = new Date(Date.now() + 60_000).toISOString();
    const closed = { ...health, consecutive_failures: 2, timeouts_in_a_row: 2, closed_until };
    await putRaw(api, itemOf(webhookHealths, closed));
    const ids = await waitingDeliveries(api, endpoint, 60);
    await sweep();
    const sent = api.queues.takeMessages();
    expect(sent).toHaveLength(1);
    const keys = [...ids].map((id) => deliveries.key(own.caller.tenant_id, id));
    const items = (await readKeys(keys)) as Delivery[];
    const resting = items.filter((item) => item.resting === true);
    expect(resting).toHaveLength(59);
    // They are an hour late, so they rest for a quarter of an hour, and not for the closing alone.
    for (const { wake_at } of resting) expect(Date.parse(wake_at ?? "")).toBeGreaterThan(Date.now() + 890_000);
    await sweep();
    expect(api.queues.takeMessages()).toEqual([]);
    await putRaw(api, itemOf(webhookHealths, { ...closed, closed_until: null }));
    await waitingDeliveries(api, endpoint, 5);
    await sweep();
    expect(api.queues.takeMessages()).toHaveLength(5);
  });
});

describe("a note that a closed endpoint accepted something", () => {
  const later = () => new Date(Date.now() + 3_600_000).toISOString();
  const reopened = async (own: Own) => {
    const { health } = await own.stored();
    const at = new Date().toISOString();
    await putRaw(api, itemOf(webhookHealths, { ...health, reopened_at: at, wake_at: at }));
  };
  const resting = async (own: Own, count: number, fields: Partial<Delivery> = {}) =>
    waitingDeliveries(api, (await own.stored()).endpoint, count, { wake_at: later(), resting: true, ...fields });
  const messages = () => api.queues.takeMessages();
  const sent = (some = messages()) => some.map(({ queue, body }) => `${queue} ${body["delivery_id"]}`);

  it("sends everything that rests, each once, what is held back apart from the rest, and is taken away", async () => {
    const own = await ownEndpoint();
    const first = await resting(own, 120);
    const others = await resting(own, 3, { status: "retrying", attempt: 2 });
    // One that only waits for its time is left alone.
    await resting(own, 1, { resting: false });
    await reopened(own);
    expect(await sweep()).toMatchObject({ switched_off: 1, failed: 0 });
    const taken = messages();
    expect(taken.map(({ body }) => body["delivery_id"]).sort()).toEqual([...first, ...others].sort());
    // In the queue of first attempts a message that is held back would look late to its alarm.
    for (const { queue, delaySeconds = 0, body } of taken) {
      expect(queue).toBe(delaySeconds === 0 && body["attempt"] === 1 ? "deliver" : "retry-long");
    }
    // At the pace of the endpoint, so that they do not stand before what comes after them.
    const delays = taken.map(({ delaySeconds }) => delaySeconds ?? 0);
    const { woken_per_second: pace } = limits.webhooks;
    const seconds = Array.from({ length: Math.ceil(taken.length / pace) }, (_, second) => second);
    expect([...new Set(delays)].sort((a, b) => a - b)).toEqual(seconds);
    for (const second of seconds) expect(delays.filter((delay) => delay === second).length).toBeLessThanOrEqual(pace);
    expect((await own.stored()).health).toMatchObject({ reopened_at: null, wake_at: null });
    expect(await isDue(own)).toBe(false);
    const [some = ""] = first;
    const [woken] = await readKeys([deliveries.key(own.caller.tenant_id, some)]);
    expect(woken).not.toHaveProperty("resting");
    await reopened(own);
    await sweep();
    expect(sent()).toEqual([]);
  });

  it("stays until all of them are awake", async () => {
    const own = await ownEndpoint();
    const [id] = await resting(own, 1);
    await reopened(own);
    api.watched.interfere = ({ operation, input }) =>
      operation === "UpdateItem" && JSON.stringify(input).includes("REMOVE #resting")
        ? failure("ProvisionedThroughputExceededException")
        : undefined;
    await sweep();
    expect(sent()).toEqual([]);
    expect(await isDue(own)).toBe(true);
    api.watched.interfere = () => undefined;
    await sweep();
    expect(sent()).toEqual([`deliver ${id}`]);
    expect(await isDue(own)).toBe(false);
  });

  it("is gone on with, where the time ended, when the messages that were sent are through", async () => {
    const own = await ownEndpoint();
    await resting(own, 250);
    await reopened(own);
    let woken = 0;
    api.watched.interfere = ({ operation, input }) => {
      if (operation === "UpdateItem" && JSON.stringify(input).includes("REMOVE #resting")) woken += 1;
      return undefined;
    };
    const begun = Date.now();
    await switchOffNoted(() => woken < 200);
    expect(sent()).toHaveLength(200);
    const { health } = await own.stored();
    const { woken_per_second: pace } = limits.webhooks;
    expect(Date.parse(health.wake_at ?? "")).toBeGreaterThanOrEqual(begun + (200 / pace) * 1000);
    await sweep();
    expect(sent()).toEqual([]);
    await putRaw(api, itemOf(webhookHealths, { ...health, wake_at: new Date().toISOString() }));
    await sweep();
    expect(sent()).toHaveLength(50);
    expect(await isDue(own)).toBe(false);
  });

  it("comes after a note that the endpoint is to be off", async () => {
    const own = await notedEndpoint();
    await resting(own, 1);
    const { health } = await own.stored();
    await putRaw(api, itemOf(webhookHealths, { ...health, reopened_at: health.wake_at }));
    await sweep();
    expect(sent()).toEqual([]);
    expect((await own.stored()).endpoint.status).toBe("auto_disabled");
    expect(await isDue(own)).toBe(false);
  });
});
