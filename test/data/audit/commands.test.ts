import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { WebhookEndpoint } from "../../../shared/domain/records/webhook.ts";
import { routes } from "../../../shared/routes/index.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { waitingDeliveries } from "../../support/emulator/deliveries.ts";
import { readChanges, readStream, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { auditsIn } from "../../support/oracles/audit-oracle.ts";
import { findings } from "../../support/oracles/oracle.ts";
import { someClient } from "../../support/stack/api-client.ts";

const api = await startApi("stream");
afterAll(api.stop);

const { readKeys } = await import("../../../shared/table/store.ts");
const { webhooks } = await import("../../../shared/table/entities.ts");
const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);

/** Previews are computed in memory. */
const tries = ["create_margin_preview"];
const changing = routes.filter(({ id, method, auth }) => method !== "GET" && auth === "token" && !tries.includes(id));

/**
 * Reports of a platform or a market are data: their record are the events, the ledger and the prices. The money in a
 * batch has its entries (ADR 0059).
 */
const reports = ["send_feed_quotes", "send_feed_snapshot", "set_sandbox_prices"];
/** A ticket changes no resource: its entry comes by the queue of refusals, and those of one minute are counted. */
const tickets = ["create_stream_ticket"];

describe("every row that changes something", () => {
  const textOf = (file: string) => readFileSync(`functions/${file}.ts`, "utf8");
  const kindOf = (file: string) => /await (command|secretCommand|ingest)\(/.exec(textOf(file))?.[1];

  it("is a command, whose commit leaves one entry, reports what a platform or a market did, or is a ticket", () => {
    const kinds = changing.map((row) => [row.id, row.named === true ? "ingest" : "command"]);
    expect(changing.map(({ id, file }) => [id, kindOf(file)?.replace("secretCommand", "command")])).toEqual(kinds);
    const commanded = ({ file }: { file: string }) => textOf(file).includes("newCommandContext");
    const named = changing.filter(({ file }) => kindOf(file) === "ingest");
    expect(
      named
        .filter((row) => !commanded(row))
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([...reports, ...tickets].toSorted());
  });
});

describe("a command without an event", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const made: [action: string, id: string][] = [];
  const secrets: string[] = [];

  /** Sends a command and notes which entry it must leave. */
  async function send(action: string, method: string, path: string, body?: object, id?: string) {
    const answer = await api.call(caller, method, path, body === undefined ? {} : { body });
    expect([action, answer.status]).toEqual([action, expect.toSatisfy((status: number) => status < 300)]);
    for (const name of ["client_secret", "secret"]) if (name in answer.body) secrets.push(answer.body[name]);
    made.push([action, id ?? answer.body.id]);
    return answer.body;
  }

  it("leaves exactly one entry, about its resource, and no secret anywhere in the table", async () => {
    await putMarket(api, caller.tenant_id);
    const application = await send("create_application", "POST", "/applications", {
      name: "A",
      scopes: ["clients:read"],
    });
    await send("update_application", "PATCH", `/applications/${application.id}`, { name: "B" });
    await send("rotate_application_secret", "POST", `/applications/${application.id}/rotate_secret`, {});
    await send("revoke_application", "DELETE", `/applications/${application.id}`);
    await send("update_settings", "PATCH", "/settings", { transaction_expiry_days: 9 }, caller.tenant_id);
    const endpoint = await send("create_webhook_endpoint", "POST", "/webhook_endpoints", {
      url: "https://example.com/hook",
      event_types: ["*"],
    });
    await send("update_webhook_endpoint", "PATCH", `/webhook_endpoints/${endpoint.id}`, {
      event_types: ["client.created"],
    });
    await send("rotate_webhook_secret", "POST", `/webhook_endpoints/${endpoint.id}/rotate_secret`, {});
    await send("delete_webhook_endpoint", "DELETE", `/webhook_endpoints/${endpoint.id}`);
    const source = await send("create_feed_source", "POST", "/feed/sources", { name: "mt5:live-1", platform: "mt5" });
    await send("update_feed_source", "PATCH", `/feed/sources/${source.id}`, { paused: true });
    await send("delete_feed_source", "DELETE", `/feed/sources/${source.id}`);
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) => eventName === "INSERT" && image?.["et"]?.S === "OUTBOX",
    );
    expect(waiting).toHaveLength(made.length);
    await work.publish(waiting);
    const items = await scanTable(api.emulator);
    const entries = auditsIn(items);
    const told = entries.map(({ members }) => [members["action"], (members["resource"] as { id: string }).id]);
    expect(told).toEqual(made);
    expect(secrets).toHaveLength(4);
    for (const secret of secrets) {
      expect(JSON.stringify(entries)).not.toContain(secret);
      expect(JSON.stringify(await readChanges(api.emulator))).not.toContain(secret);
    }
    expect(entries[1]?.members["changes"]).toMatchObject([{ before: { name: "A" }, after: { name: "B" } }]);
    expect(entries[4]?.members["changes"]).toMatchObject([
      { before: { transaction_expiry_days: 7 }, after: { transaction_expiry_days: 9 } },
    ]);
    expect(await findings(api.emulator)).toEqual([]);
    const found = await api.call(caller, "GET", `/audit_log?resource=${application.id}&sort=sequence`);
    expect(found.body.data.map(({ action }: { action: string }) => action)).toEqual(
      made.slice(0, 4).map(([action]) => action),
    );
  });

  it("that changes nothing, is refused, or is answered again leaves none", async () => {
    const before = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX").length;
    await api.call(caller, "PATCH", "/settings", { body: { transaction_expiry_days: 9 } });
    await api.call(caller, "PATCH", "/settings", { body: { transaction_expiry_days: 0 } });
    await api.call({ ...caller, scopes: [] }, "PATCH", "/settings", { body: { transaction_expiry_days: 8 } });
    expect((await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX")).toHaveLength(before);
    const keyed = { body: { transaction_expiry_days: 8 }, headers: { "Idempotency-Key": "audit" } };
    for (let time = 0; time < 3; time += 1)
      expect((await api.call(caller, "PATCH", "/settings", keyed)).status).toBe(200);
    expect((await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX")).toHaveLength(before + 1);
    await broker.client();
  });
});

describe("a rejected item that a person tries again", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const call = (method: string, path: string, body: object = {}) => api.call(caller, method, path, { body });

  /** Entries of retries, once everything that waits is published. */
  async function retries(): Promise<{ resource: { id: string }; changes: { after: object }[]; request_id: string }[]> {
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) =>
        eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === caller.tenant_id,
    );
    await work.publish(waiting);
    const found = await api.call(caller, "GET", "/audit_log?action=retry_feed_reject&sort=sequence");
    return found.body.data;
  }

  it("leaves one entry each time: in the commit of what it books, or of what it notes of the item", async () => {
    await putMarket(api, caller.tenant_id);
    const { id } = (await call("POST", "/feed/sources", { name: "mt5:retry", platform: "mt5" })).body;
    const data = { operation_id: "B-1", platform_login: "7001", amount: "50.00", kind: "deposit" };
    const items = [{ seq: "1", type: "balance_operation", data }];
    await call("POST", `/feed/sources/${id}/batches`, { first_seq: "1", items });
    const retry = () => api.call(caller, "POST", `/feed/sources/${id}/rejects/1/retry`);
    expect((await retry()).body.status).toBe("rejected");
    expect(await retries()).toMatchObject([
      { resource: { id }, changes: [{ after: { seq: "1", status: "rejected" } }] },
    ]);
    const client = await broker.client();
    const login = { platform: "mt5", platform_login: "7001", source_id: id };
    expect((await call("POST", "/accounts", { client_id: client.id, type: "demo", ...login })).status).toBe(201);
    const applied = await retry();
    expect(applied.body.status).toBe("applied");
    expect((await retry()).body.status).toBe("duplicate");
    const entries = await retries();
    expect(entries.map(({ resource }) => resource.id)).toEqual([id, applied.body.transaction_id]);
    expect(await findings(api.emulator)).toEqual([]);
  });
});

describe("a command that the tour only shows as refused leaves exactly one entry", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const call = (method: string, path: string, body?: object) =>
    api.call(caller, method, path, body === undefined ? {} : { body });

  /** How many entries the request of an answer has, and of which action, once everything that waits is published. */
  async function entriesOf({ headers }: TestAnswer): Promise<string[]> {
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) =>
        eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === caller.tenant_id,
    );
    await work.publish(waiting);
    const own = auditsIn(await scanTable(api.emulator)).filter(({ tenant }) => tenant === caller.tenant_id);
    const told = own.filter(({ members }) => members["request_id"] === headers["X-Request-Id"]);
    return told.map(({ members }) => String(members["action"]));
  }

  it("requeue_command", async () => {
    const source = await bridge(api, caller).newSource();
    const link = { platform: "mt5", platform_login: "88000001", source_id: source.id };
    const account = await broker.account(undefined, { type: "demo", ...link });
    const deposit = await broker.deposit(account, "1.00", { status: "completed" });
    const commands = `${source.path}/commands`;
    const take = async () => (await call("POST", `${commands}/take`, { lease_seconds: 10 })).body.data;
    await take();
    await call("POST", `${commands}/${deposit.command_id}/ack`, { attempt: 1, status: "unknown" });
    const [search] = await take();
    await call("POST", `${commands}/${search.id}/ack`, { attempt: 1, status: "done" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 620_000 });
    const requeued = await call("POST", `${commands}/${deposit.command_id}/requeue`);
    vi.useRealTimers();
    expect(requeued).toMatchObject({ status: 200, body: { status: "waiting" } });
    expect(await entriesOf(requeued)).toEqual(["requeue_command"]);
  });

  it("retry_delivery", async () => {
    const url = "https://example.com/hook";
    const { body: endpoint } = await call("POST", "/webhook_endpoints", { url, event_types: ["*"] });
    await entriesOf(await call("POST", "/clients", someClient()));
    const [event] = (await call("GET", "/events?type=client.created")).body.data;
    const stored = await readKeys([webhooks.key(caller.tenant_id, endpoint.id)]);
    const fields = { event_id: event.id, event_sequence: event.sequence, status: "succeeded", wake_at: null } as const;
    const [ended = ""] = await waitingDeliveries(api, stored[0] as WebhookEndpoint, 1, fields);
    const retried = await call("POST", `/deliveries/${ended}/retry`);
    expect([retried.status, retried.text]).toEqual([202, expect.stringContaining(event.id)]);
    expect(await entriesOf(retried)).toEqual(["retry_delivery"]);
  });
});
