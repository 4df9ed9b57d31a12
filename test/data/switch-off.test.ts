import { afterAll, afterEach, describe, expect, it } from "vitest";
import { webhookHealths, webhooks } from "../../shared/data/entities.ts";
import { itemOf } from "../../shared/data/write.ts";
import type { WebhookEndpoint, WebhookHealth } from "../../shared/domain/webhook.ts";
import { startApi } from "../support/api.ts";
import { atOnce, brokerage } from "../support/brokerage.ts";
import { putRaw, waitingDeliveries } from "../support/deliveries.ts";
import { findings } from "../support/oracle.ts";
import { scanTable } from "../support/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../support/request.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(async () => {
  api.watched.interfere = () => undefined;
  expect(await findings(api.emulator)).toEqual([]);
  api.queues.takeMessages();
});

const { handler: promote } = await import("../../functions/events/promote.ts");
const { readKeys } = await import("../../shared/data/store.ts");
const { noteOff } = await import("../../shared/data/switch-off.ts");
const sweep = () => promote({}, lambdaContext(60_000));

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
    ["was switched on anew", { epoch: 2 }],
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
