import { afterAll, afterEach, describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { routes } from "../../shared/routes/index.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";
import { openWebhookSecret } from "../../shared/webhooks/secrets.ts";
import { atOnce, brokerage, statusCounts } from "../support/builders/brokerage.ts";
import { startApi } from "../support/emulator/api.ts";
import { putRaw } from "../support/emulator/deliveries.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

const api = await startApi("stream");
afterAll(api.stop);
afterEach(async () => {
  expect(await findings(api.emulator)).toEqual([]);
  api.queues.takeMessages();
});

const url = "https://hooks.example.com/broker";
const create = (caller: TestCaller, more: object = {}, headers: Record<string, string> = {}) =>
  api.call(caller, "POST", "/webhook_endpoints", { body: { url, event_types: ["*"], ...more }, headers });
const patch = (caller: TestCaller, id: string, body: object, headers: Record<string, string> = {}) =>
  api.call(caller, "PATCH", `/webhook_endpoints/${id}`, { body, headers });
const get = (caller: TestCaller, id: string) => api.call(caller, "GET", `/webhook_endpoints/${id}`);
const secretForm = /^whsec_[A-Za-z0-9+/]{43}=$/;

async function stored(caller: TestCaller, type: string) {
  return (await scanTable(api.emulator)).filter(({ et, pk }) => et === type && String(pk).startsWith(caller.tenant_id));
}

describe("creating an endpoint", () => {
  it.each<readonly [string, object, string]>([
    ["an address of this machine", { url: "https://127.1/" }, "#/url"],
    ["an address in clear", { url: "http://hooks.example.com/" }, "#/url"],
    ["an address that is no text", { url: 1 }, "#/url"],
    ["no kind at all", { event_types: [] }, "#/event_types"],
    ["a kind that does not exist", { event_types: ["client.deleted"] }, "#/event_types/0"],
    ["an account that is none", { account_ids: ["acc_01JD0000000000000000000009"] }, "#/account_ids/0"],
    ["an unknown member", { status: "disabled" }, "#/status"],
  ])("refuses %s and says where", async (_, more, pointer) => {
    const answer = await create(newCaller(), more);
    expect([answer.status, answer.body.code]).toEqual([422, "validation_failed"]);
    expect(answer.body.errors.map((each: { pointer: string }) => each.pointer)).toEqual([pointer]);
  });

  it("shows the secret once, and stores it encrypted for this endpoint only", async () => {
    const caller = newCaller();
    const { status, body, headers } = await create(caller, { description: "CRM", metadata: { team: "a" } });
    expect(status).toBe(201);
    expect(headers["Location"]).toBe(`https://api.test.example/v2/webhook_endpoints/${body.id}`);
    expect(body).toMatchObject({ status: "enabled", account_ids: [], consecutive_failures: 0, version: 1 });
    expect(body.secret).toMatch(secretForm);
    const { secret, ...shown } = body;
    expect((await get(caller, body.id)).body).toEqual(shown);
    const items = JSON.stringify(await scanTable(api.emulator));
    expect(items).not.toContain(secret.slice(6));
    const [item] = await stored(caller, "WEBHOOK");
    const owner = { tenant_id: caller.tenant_id, id: body.id };
    expect(await openWebhookSecret(owner, String(item?.["secret"]))).toBe(secret);
    await expect(openWebhookSecret({ ...owner, id: "whe_other" }, String(item?.["secret"]))).rejects.toThrow();
  });

  it("is repeated by its key with the same secret, which the table does not show", async () => {
    const caller = newCaller();
    const first = await create(caller, {}, { "Idempotency-Key": "k-1" });
    const second = await create(caller, {}, { "Idempotency-Key": "k-1" });
    expect(second.text).toBe(first.text);
    expect(second.headers["Idempotent-Replayed"]).toBe("true");
    expect(await stored(caller, "WEBHOOK")).toHaveLength(1);
    expect(JSON.stringify(await stored(caller, "IDEM"))).not.toContain("whsec_");
  });

  it("thirty times at once creates twenty and no more, and a deleted one makes room for another", async () => {
    const caller = newCaller();
    const answers = await atOnce(30, () => create(caller));
    expect(statusCounts(answers)).toEqual({ 201: 20, 409: 10 });
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe("too_many_webhook_endpoints");
    const { data } = await brokerage(api, caller).get("/webhook_endpoints?limit=100");
    expect(data).toHaveLength(20);
    expect((await api.call(caller, "DELETE", `/webhook_endpoints/${data[0].id}`)).status).toBe(200);
    expect(statusCounts(await atOnce(5, () => create(caller)))).toEqual({ 201: 1, 409: 4 });
  });
});

describe("an endpoint of another tenant", () => {
  it("does not exist for this tenant", async () => {
    const { body } = await create(newCaller());
    const stranger = newCaller();
    const answers = await Promise.all([
      get(stranger, body.id),
      patch(stranger, body.id, { status: "disabled" }),
      api.call(stranger, "DELETE", `/webhook_endpoints/${body.id}`),
      api.call(stranger, "POST", `/webhook_endpoints/${body.id}/rotate_secret`, { body: {} }),
      api.call(stranger, "POST", `/webhook_endpoints/${body.id}/test`, { body: { type: "client.created" } }),
      api.call(stranger, "GET", `/webhook_endpoints/${body.id}/deliveries`),
    ]);
    expect(statusCounts(answers)).toEqual({ 404: 6 });
  });
});

describe("changing an endpoint", () => {
  it("disables and enables it, which resets its failures", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const [health] = await stored(caller, "HEALTH");
    await putRaw(api, { ...plain(health), consecutive_failures: 7, first_failure_at: made.created_at });
    const off = await patch(caller, made.id, { status: "disabled" });
    expect(off.body).toMatchObject({ status: "disabled", version: 2, consecutive_failures: 7 });
    expect((await patch(caller, made.id, { status: "disabled" })).body.version).toBe(2);
    const on = await patch(caller, made.id, { status: "enabled" });
    expect(on.body).toMatchObject({ status: "enabled", version: 3, consecutive_failures: 0 });
    expect((await get(caller, made.id)).text).toBe(on.text);
    expect((await stored(caller, "WEBHOOK"))[0]?.["epoch"]).toEqual({ number: "2" });
  });

  it("does not let an endpoint that the service disabled be disabled, only enabled", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const [item] = await stored(caller, "WEBHOOK");
    await putRaw(api, { ...plain(item), status: "auto_disabled", disabled_reason: "answered 410", version: 2 });
    const refused = await patch(caller, made.id, { status: "disabled" });
    expect([refused.status, refused.body.code, refused.body.allowed]).toEqual([409, "illegal_transition", ["enabled"]]);
    const on = await patch(caller, made.id, { status: "enabled" });
    expect(on.body).toMatchObject({ status: "enabled", disabled_reason: null });
  });

  it("honours If-Match, and an empty patch changes nothing", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    expect((await patch(caller, made.id, { description: "x" }, { "If-Match": '"2"' })).status).toBe(412);
    expect((await patch(caller, made.id, {})).body.version).toBe(1);
    expect((await patch(caller, made.id, { secret: "whsec_x" })).status).toBe(422);
  });

  it("ends with its deletion: it is not found, and its unfinished deliveries are left to the sweep", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const gone = await api.call(caller, "DELETE", `/webhook_endpoints/${made.id}`);
    expect(gone.body).toEqual({ id: made.id, object: "webhook_endpoint", deleted: true });
    expect((await get(caller, made.id)).status).toBe(404);
    expect((await api.call(caller, "DELETE", `/webhook_endpoints/${made.id}`)).status).toBe(404);
    expect((await brokerage(api, caller).get("/webhook_endpoints")).data).toEqual([]);
    expect((await stored(caller, "WEBHOOK"))[0]?.["due_pk"]).toMatch(/^DUE\|WEBHOOK\|/);
  });
});

describe("rotating a secret", () => {
  const rotate = (caller: TestCaller, id: string, body: object = {}) =>
    api.call(caller, "POST", `/webhook_endpoints/${id}/rotate_secret`, { body });

  it("shows a new one, keeps the previous one for a day, and refuses to end that early but for no grace", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const { status, body } = await rotate(caller, made.id);
    expect(status).toBe(200);
    expect(body.secret).toMatch(secretForm);
    expect(body.secret).not.toBe(made.secret);
    const left = Date.parse(body.previous_secret_expires_at) - Date.parse(body.updated_at);
    expect(left).toBe(24 * 3_600_000);
    const [item] = await stored(caller, "WEBHOOK");
    const owner = { tenant_id: caller.tenant_id, id: made.id };
    expect(await openWebhookSecret(owner, String(item?.["secret"]))).toBe(body.secret);
    expect(await openWebhookSecret(owner, String(item?.["previous_secret"]))).toBe(made.secret);
    const again = await rotate(caller, made.id, { grace_seconds: 1 });
    expect([again.status, again.body.code]).toEqual([409, "secret_rotation_in_progress"]);
    const ended = await rotate(caller, made.id, { grace_seconds: 0 });
    expect([ended.status, ended.body.previous_secret_expires_at]).toEqual([200, null]);
    const [after] = await stored(caller, "WEBHOOK");
    expect(await openWebhookSecret(owner, String(after?.["secret"]))).toBe(ended.body.secret);
    expect(after?.["previous_secret"]).toBeNull();
  });

  it("without a grace period ends the previous one at once; more than a day is refused", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    expect((await rotate(caller, made.id, { grace_seconds: 86_401 })).status).toBe(422);
    const { body } = await rotate(caller, made.id, { grace_seconds: 0 });
    expect(body.previous_secret_expires_at).toBeNull();
    expect((await stored(caller, "WEBHOOK"))[0]?.["previous_secret"]).toBeNull();
    expect((await rotate(caller, made.id)).status).toBe(200);
  });
});

const ways = {
  "a test": (caller: TestCaller, id: string, type: string) =>
    api.call(caller, "POST", `/webhook_endpoints/${id}/test`, { body: { type } }),
  "a trigger of the sandbox": (caller: TestCaller, endpoint_id: string, type: string) =>
    api.call(caller, "POST", "/sandbox/events/trigger", { body: { type, endpoint_id } }),
};

describe("a trigger of the sandbox", () => {
  it("names the unknown endpoint", async () => {
    const { body: foreign } = await create(newCaller());
    const caller = newCaller();
    for (const id of [foreign.id, newId("whe")]) {
      const { status, body } = await ways["a trigger of the sandbox"](caller, id, "stop.out");
      expect([status, body.code, body.errors[0].pointer]).toEqual([422, "webhook_endpoint_not_found", "#/endpoint_id"]);
    }
    const malformed = await ways["a trigger of the sandbox"](caller, "cli_1", "stop.out");
    expect([malformed.status, malformed.body.errors[0].pointer]).toEqual([422, "#/endpoint_id"]);
  });
});

describe.each(Object.entries(ways))("%s", (_, trigger) => {
  it("of every type is a delivery of a marked sample that is not in the list of events", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    for (const type of [...eventTypes, ...optInEventTypes]) {
      const { status, body } = await trigger(caller, made.id, type);
      expect([status, body.status, body.event_type]).toEqual([202, "pending", type]);
      const [message] = api.queues.takeMessages();
      expect(message).toMatchObject({ queue: "deliver", group: made.id, body: { delivery_id: body.id, attempt: 1 } });
      expect((await api.call(caller, "GET", `/events/${body.event_id}`)).status).toBe(404);
      const sample = (await stored(caller, "SAMPLE")).find(({ id }) => id === body.event_id);
      const payload = JSON.parse(String(sample?.["payload"]));
      expect(payload).toMatchObject({ id: body.event_id, type, synthetic: true, sequence: "0" });
      expect(payload.timestamp).toBe(payload.created_at);
      const links = Object.values<{ href: string }>(payload.data.object._links ?? {});
      for (const { href } of links) expect(href).toMatch(/^https:\/\/api\.test\.example\/v2\//);
      const row = routes.find(({ id }) => id === "get_event");
      expect(row && safeParse(row.reply, payload).error?.issues).toBeUndefined();
    }
    expect((await brokerage(api, caller).get("/events")).data).toEqual([]);
  });

  it("of a disabled endpoint, or of an unknown type, is refused and sends nothing", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    await patch(caller, made.id, { status: "disabled" });
    const send = (type: string) => trigger(caller, made.id, type);
    expect((await send("client.created")).body.code).toBe("webhook_endpoint_disabled");
    expect((await send("client.deleted")).status).toBe(422);
    expect(api.queues.takeMessages()).toEqual([]);
    expect(await stored(caller, "DELIVERY")).toEqual([]);
  });
});

describe("deliveries", () => {
  /** A delivery of a sample that went this way, as the deliverer would write it. */
  async function delivered(caller: TestCaller, endpointId: string, ...way: string[]) {
    const body = { type: "client.created" };
    const { body: made } = await api.call(caller, "POST", `/webhook_endpoints/${endpointId}/test`, { body });
    const { due_pk, due_sk, ...item } = plain((await stored(caller, "DELIVERY")).find(({ id }) => id === made.id));
    for (const [step, status] of way.entries()) {
      const state_pk = `${caller.tenant_id}|${endpointId}|DLV|${status}`;
      await putRaw(api, { ...item, wake_at: null, status, state_pk, version: step + 2 });
    }
    api.queues.takeMessages();
    return made.id as string;
  }

  it("are listed newest first, by status and type, and a single one shows its attempts in order", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const [first, second] = [
      await delivered(caller, made.id, "retrying", "exhausted"),
      await delivered(caller, made.id),
    ];
    const ids = async (query: string) =>
      (await brokerage(api, caller).get(`/webhook_endpoints/${made.id}/deliveries?${query}`)).data.map(
        ({ id }: { id: string }) => id,
      );
    expect(await ids("")).toEqual([second, first].toSorted().toReversed());
    expect(await ids("status=exhausted,cancelled")).toEqual([first]);
    expect(await ids("event_type=client.created&status=pending")).toEqual([second]);
    expect(await ids("event_type=stop.out")).toEqual([]);
    const attempt = { tenant_id: caller.tenant_id, delivery_id: first, at: made.created_at, duration_ms: 5 };
    for (const [number, claim] of [
      [2, 1],
      [1, 2],
      [1, 1],
    ] as const) {
      const key = { pk: `${caller.tenant_id}#${first}`, sk: `ATTEMPT#0${number}#${claim}`, et: "ATTEMPT" };
      const outcome = { http_status: 500, error: "http_status", response_excerpt: "no" };
      await putRaw(api, { ...key, ...attempt, number, claim, ...outcome, expires_at: 4_000_000_000 });
    }
    const shown = await brokerage(api, caller).get(`/deliveries/${first}`);
    expect(shown.attempts.map(({ number }: { number: number }) => number)).toEqual([1, 1, 2]);
    expect(Object.keys(shown.attempts[0])).toEqual([
      "number",
      "at",
      "duration_ms",
      "http_status",
      "error",
      "response_excerpt",
    ]);
    expect(shown).toMatchObject({ id: first, status: "exhausted", max_retries: 5 });
    const { headers } = await api.call(caller, "GET", `/deliveries/${first}`);
    const again = { headers: { "If-None-Match": headers["ETag"] ?? "" } };
    expect((await api.call(caller, "GET", `/deliveries/${first}`, again)).status).toBe(304);
    expect((await api.call(newCaller(), "GET", `/deliveries/${first}`)).status).toBe(404);
  });

  it("are retried when they have ended, but neither unfinished nor to a disabled endpoint", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const retry = (id: string) => api.call(caller, "POST", `/deliveries/${id}/retry`);
    const open = await delivered(caller, made.id, "retrying");
    expect((await retry(open)).body.code).toBe("illegal_transition");
    const ended = await delivered(caller, made.id, "retrying", "exhausted");
    const { status, body } = await retry(ended);
    expect(status).toBe(202);
    expect(body).toMatchObject({ status: "pending", attempt: 1, redelivery_of: ended, endpoint_id: made.id });
    expect(body.id).not.toBe(ended);
    expect(api.queues.takeMessages().map(({ body: sent }) => sent["delivery_id"])).toEqual([body.id]);
    expect((await brokerage(api, caller).get(`/deliveries/${ended}`)).status).toBe("exhausted");
    await patch(caller, made.id, { status: "disabled" });
    expect([(await retry(ended)).status, (await retry(ended)).body.code]).toEqual([409, "webhook_endpoint_disabled"]);
    await api.call(caller, "DELETE", `/webhook_endpoints/${made.id}`);
    expect((await retry(ended)).body.code).toBe("webhook_endpoint_disabled");
    expect(api.queues.takeMessages()).toEqual([]);
  });

  it("are retried once for the same Idempotency-Key", async () => {
    const caller = newCaller();
    const { body: made } = await create(caller);
    const ended = await delivered(caller, made.id, "succeeded");
    const headers = { "Idempotency-Key": "again" };
    const answers = await atOnce(5, () => api.call(caller, "POST", `/deliveries/${ended}/retry`, { headers }));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await stored(caller, "DELIVERY")).toHaveLength(2);
  });
});

describe("the catalogue of events", () => {
  it("shows every type with a sample that fits its schema, and says which are opt-in", async () => {
    const { data } = await brokerage(api, newCaller()).get("/event_types");
    expect(data.map(({ type }: { type: string }) => type)).toEqual([...eventTypes, ...optInEventTypes]);
    const row = routes.find(({ id }) => id === "get_event");
    for (const { type, opt_in, schema, sample } of data) {
      expect(opt_in).toBe(optInEventTypes.includes(type));
      expect(sample.type).toBe(type);
      expect(row && safeParse(row.reply, sample).error?.issues).toBeUndefined();
      expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
      const text = JSON.stringify(schema);
      expect(text).not.toContain("nullable");
      for (const [, name = ""] of text.matchAll(/"#\/\$defs\/(\w+)"/g)) expect(schema.$defs).toHaveProperty(name);
      expect(text).not.toContain("#/components/");
    }
  });
});

/** A raw item as it is written again. */
function plain(item: unknown): Record<string, unknown> {
  const value = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(value);
    if (typeof each !== "object" || each === null) return each;
    if ("number" in each) return Number(each.number);
    if ("map" in each) return plain(each.map);
    return each;
  };
  return Object.fromEntries(Object.entries(item as object).map(([name, each]) => [name, value(each)]));
}
