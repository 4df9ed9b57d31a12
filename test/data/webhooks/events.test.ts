import type { DynamoDBBatchResponse } from "aws-lambda";
import { describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { routes } from "../../../shared/routes/index.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { readStream, type StreamRecord, scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { cancelled, failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startJudgedApi();

const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);
const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");
/** A sweep, and what the publisher then does with the keys that it sent. */
async function sweepEvents(event: { action?: string } = {}): Promise<Record<string, number>> {
  const done = await sweepHandler(event, lambdaContext());
  expect(await work.publishSent()).toEqual([]);
  return done;
}

/** The outbox records of these callers' tenants, in the order of the stream, as the trigger's filter leaves them. */
async function waiting(...callers: TestCaller[]): Promise<StreamRecord[]> {
  const tenants = new Set(callers.map(({ tenant_id }) => tenant_id));
  return (await readStream(api.emulator)).filter(
    ({ dynamodb: { NewImage: image } }) => image?.["et"]?.S === "OUTBOX" && tenants.has(image["tenant_id"]?.S ?? ""),
  );
}

function deliver(records: readonly StreamRecord[]): Promise<DynamoDBBatchResponse> {
  return work.publish(records);
}

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly sequence: string;
  readonly resource: { readonly id: string; readonly version: number };
  readonly data: { readonly object: { readonly id: string }; readonly previous?: object };
}

async function eventsOf(caller: TestCaller, query = "limit=100"): Promise<Shown[]> {
  return (await brokerage(api, caller).get(`/events?${query}`)).data;
}

/** A client, an account, a deposit and its completion: six commits, ten events. */
async function history(caller: TestCaller) {
  const broker = brokerage(api, caller);
  const client = await broker.client();
  await api.call(caller, "PATCH", `/clients/${client.id}`, { body: { verification_status: "verified" } });
  const account = (await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } })).body;
  const deposit = await broker.deposit(account, "10.00");
  await broker.move(deposit, "completed");
  await broker.deposit(account, "5.00", { status: "completed" });
  return { client, account, deposit };
}

const kinds = [
  "client.created",
  "client.verified",
  "client.updated",
  "account.created",
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
];

const numbers = kinds.map((_, index) => String(index + 1));

describe("what happened", () => {
  it("is listed in the order in which it happened, numbered from 1, once it is published and not before", async () => {
    const caller = newCaller();
    const { client, account } = await history(caller);
    expect(await eventsOf(caller)).toEqual([]);
    expect(await deliver(await waiting(caller))).toEqual({ batchItemFailures: [] });
    const events = await eventsOf(caller);
    expect(events.map(({ type }) => type)).toEqual(kinds);
    expect(events.map(({ sequence }) => sequence)).toEqual(numbers);
    const row = routes.find(({ id }) => id === "get_event");
    for (const event of events) expect(row && safeParse(row.reply, event).error?.issues).toBeUndefined();
    expect(events[0]?.data.object).toEqual(client);
    expect(events[3]?.data.object).toEqual(account);
    expect(events[1]?.data).toEqual(events[2]?.data);
    expect(events[1]?.data.previous).toMatchObject({ verification_status: "unverified" });
  });

  it("is published though the function dies right after its change", async () => {
    const caller = newCaller();
    let changed = false;
    api.watched.interfere = ({ operation }) => {
      if (changed) return failure("AccessDeniedException");
      changed = operation === "TransactWriteItems";
      return undefined;
    };
    await brokerage(api, caller)
      .client()
      .catch(() => undefined);
    api.watched.interfere = () => undefined;
    expect(await deliver(await waiting(caller))).toEqual({ batchItemFailures: [] });
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(["client.created"]);
  });

  it("shows the resource exactly as it was read after that change", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const account = await broker.account("10.00");
    const withdrawal = await broker.withdrawal(account, "3.00", { metadata: { b: "1", a: "2" } });
    const { body: completed } = await broker.move(withdrawal, "completed");
    await deliver(await waiting(caller));
    const own = (await eventsOf(caller)).filter(({ resource }) => resource.id === withdrawal.id);
    expect(own.map(({ data }) => data.object)).toEqual([withdrawal, completed, completed]);
    expect(own.map(({ resource }) => resource.version)).toEqual([1, 2, 2]);
  });

  it("to a drift shows it as it was found, and links to it", async () => {
    const caller = newCaller();
    const source = await bridge(api, caller).newSource();
    const account = { platform_login: "7", balance: "1.00", credit: "0", positions: [] };
    const whole = { snapshot_id: "S-1", taken_at: new Date().toISOString(), as_of_seq: "0", part: 1, parts: 1 };
    const body = { ...whole, complete: false, accounts: [account] };
    expect((await api.call(caller, "POST", `${source.path}/snapshots`, { body })).status).toBe(200);
    await deliver(await waiting(caller));
    const [drift] = (await brokerage(api, caller).get("/drift")).data;
    expect(await eventsOf(caller)).toMatchObject([
      { type: "drift.detected", data: { object: drift }, _links: { resource: drift._links.self } },
    ]);
  });

  it("to a command of a platform shows its identifiers alone, and links to the command", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const { newSource, unusedLogin } = bridge(api, caller);
    const source = await newSource();
    const link = { platform: "mt5", platform_login: unusedLogin(), source_id: source.id };
    const account = await broker.account(undefined, link);
    const { id, command_id } = await broker.deposit(account, "10.00", { status: "completed" });
    await broker.move({ id }, "failed", { reason: { code: "bank" } });
    await deliver(await waiting(caller));
    const own = (await eventsOf(caller)).filter(({ resource }) => resource.id === command_id);
    const about = { source_id: source.id, account_id: account.id, drift_id: null };
    const object = { id: command_id, object: "command", ...about };
    const path = expect.stringMatching(new RegExp(`/v2${source.path}/commands/${command_id}$`, "u"));
    const _links = { self: { href: path } };
    const data = (version: number) => ({ object: { ...object, transaction_id: id, version, _links } });
    expect(own).toMatchObject([
      { type: "command.issued", resource: { version: 1 }, _links: { resource: { href: path } } },
      { type: "command.settled", resource: { version: 2 }, _links: { resource: { href: path } } },
    ]);
    expect(own.map((event) => event.data)).toEqual([data(1), { ...data(2), previous: { status: "waiting" } }]);
  });

  it("is one item by its id, the same as in the list, for its own tenant only", async () => {
    const caller = newCaller();
    await history(caller);
    await deliver(await waiting(caller));
    for (const event of await eventsOf(caller)) {
      expect(await brokerage(api, caller).get(`/events/${event.id}`)).toEqual(event);
      expect((await api.call(newCaller(), "GET", `/events/${event.id}`)).status).toBe(404);
      const forged = event.id.replace(/^(evt_.{10})(.)/, (_, head, letter) => head + (letter === "0" ? "1" : "0"));
      expect((await api.call(caller, "GET", `/events/${forged}`)).status).toBe(404);
    }
  });

  it("is listed from the number that a reader has seen, without a gap", async () => {
    const caller = newCaller();
    await history(caller);
    await deliver(await waiting(caller));
    const all = await eventsOf(caller);
    for (let seen = 0; seen <= all.length; seen += 1) {
      expect(await eventsOf(caller, `after_sequence=${seen}`)).toEqual(all.slice(seen));
    }
    expect(await eventsOf(caller, "sort=-sequence")).toEqual(all.toReversed());
  });
});

describe("a batch", () => {
  it("that comes twice changes nothing the second time", async () => {
    const caller = newCaller();
    await history(caller);
    const records = await waiting(caller);
    await deliver(records);
    const before = await eventsOf(caller);
    expect(await deliver(records)).toEqual({ batchItemFailures: [] });
    expect(await deliver(records.toReversed())).toEqual({ batchItemFailures: [] });
    expect(await eventsOf(caller)).toEqual(before);
  });

  it("is listed in the order of the versions of a resource, in whatever order the records come", async () => {
    const caller = newCaller();
    await history(caller);
    await deliver((await waiting(caller)).toReversed());
    const events = await eventsOf(caller);
    const versions = new Map<string, number>();
    for (const { resource } of events) {
      expect(resource.version).toBeGreaterThanOrEqual(versions.get(resource.id) ?? 0);
      versions.set(resource.id, resource.version);
    }
    expect(events).toHaveLength(kinds.length);
  });

  it("that holds a record twice publishes it once", async () => {
    const caller = newCaller();
    await history(caller);
    const records = await waiting(caller);
    expect(await deliver(records.flatMap((record) => [record, record]))).toEqual({ batchItemFailures: [] });
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });

  it("that comes to five publishers at once is published once", async () => {
    const caller = newCaller();
    await history(caller);
    const records = await waiting(caller);
    const answers = await atOnce(5, () => deliver(records));
    expect(answers).toEqual(Array.from({ length: 5 }, () => ({ batchItemFailures: [] })));
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });

  it("that was published in part is published to its end", async () => {
    const caller = newCaller();
    await history(caller);
    const records = await waiting(caller);
    await deliver(records.slice(0, 3));
    await deliver(records);
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });

  it("of three tenants gives each its own numbers and nothing of the others", async () => {
    const callers = [newCaller(), newCaller(), newCaller()];
    await Promise.all(callers.map(history));
    await deliver(await waiting(...callers));
    for (const caller of callers) {
      const events = await eventsOf(caller);
      expect(events.map(({ sequence }) => sequence)).toEqual(numbers);
      for (const other of callers) {
        if (other !== caller) expect(JSON.stringify(events)).not.toContain(other.tenant_id);
      }
    }
  });

  it("of more events than one transaction takes is numbered through", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const account = await broker.account();
    await atOnce(45, () => broker.deposit(account, "1.00"));
    await deliver(await waiting(caller));
    const events = await eventsOf(caller);
    expect(events.map(({ sequence }) => Number(sequence))).toEqual(Array.from({ length: 47 }, (_, index) => index + 1));
  });

  it("whose answer from the table is lost publishes nothing twice", async () => {
    const caller = newCaller();
    await history(caller);
    let lost = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems" || lost === 3) return undefined;
      lost += 1;
      return "lose_answer";
    };
    const records = await waiting(caller);
    await deliver(records);
    await deliver(records);
    api.watched.interfere = () => undefined;
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });

  it("that meets another publisher in the table is sent again", async () => {
    const caller = newCaller();
    await history(caller);
    let left = 2;
    api.watched.interfere = ({ operation, input }) => {
      if (operation !== "TransactWriteItems" || left === 0) return undefined;
      left -= 1;
      return cancelled(...(input["TransactItems"] as unknown[]).map(() => "TransactionConflict"));
    };
    expect(await deliver(await waiting(caller))).toEqual({ batchItemFailures: [] });
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });

  it("without anything to do is done", async () => {
    expect(await deliver([])).toEqual({ batchItemFailures: [] });
  });
});

describe("a commit that cannot be published", () => {
  it("holds none of the others, is parked on its third try, and is published when it is released", async () => {
    const caller = newCaller();
    process.env["TIME_SCALE"] = "1000000";
    const { id } = await brokerage(api, caller).client();
    delete process.env["TIME_SCALE"];
    const [poisoned] = await waiting(caller);
    const { pk = "", sk = "" } = {
      pk: poisoned?.dynamodb.NewImage?.["pk"]?.S,
      sk: poisoned?.dynamodb.NewImage?.["sk"]?.S,
    };
    await history(caller);
    api.watched.interfere = ({ operation, input }) => {
      const text = operation === "TransactWriteItems" ? JSON.stringify(input) : "";
      return text.includes(sk) && text.includes("|SEQ") ? failure("ValidationException") : undefined;
    };
    expect(await deliver(await waiting(caller))).toEqual({ batchItemFailures: [] });
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
    const stored = async () => (await scanTable(api.emulator)).filter((item) => item["pk"] === pk).map(({ et }) => et);
    expect((await sweepEvents())["unpublished"]).toBe(1);
    expect(await stored()).toContain("OUTBOX");
    expect((await sweepEvents())["unpublished"]).toBe(1);
    expect((await stored()).sort()).toEqual(["CLIENT", "FIND", "PARKED", "PUBLISHTRIES"]);
    expect((await sweepEvents())["unpublished"]).toBe(0);
    api.watched.interfere = () => undefined;
    expect(await sweepHandler({ action: "release_parked" }, lambdaContext(60_000))).toEqual({ released: 1, left: 0 });
    expect((await stored()).sort()).toEqual(["CLIENT", "FIND", "OUTBOX"]);
    expect(await deliver((await waiting(caller)).slice(-1))).toEqual({ batchItemFailures: [] });
    const [last] = (await eventsOf(caller)).slice(-1);
    expect(last).toMatchObject({ type: "client.created", resource: { id }, sequence: String(kinds.length + 1) });
  });
});

describe("what the stream did not bring", () => {
  it("is found by the sweep after its time, and not before", async () => {
    const caller = newCaller();
    await history(caller);
    await sweepEvents();
    expect(await eventsOf(caller)).toEqual([]);
    process.env["TIME_SCALE"] = "1000000";
    const late = newCaller();
    await history(late);
    delete process.env["TIME_SCALE"];
    await expect
      .poll(() => sweepEvents(), { timeout: 2000 })
      .toEqual({
        unpublished: 0,
        transferred: 0,
        announced: 0,
        retried: 0,
        fanned_out: 0,
        woken: 0,
        replayed: 0,
        switched_off: 0,
        cancelled: 0,
        expired: 0,
        lapsed: 0,
        settled: 0,
        refusals: 0,
        failed: 0,
      });
    expect((await eventsOf(late)).map(({ type }) => type)).toEqual(kinds);
    expect(await eventsOf(caller)).toEqual([]);
  });

  it("is published once when the stream brings it after all", async () => {
    process.env["TIME_SCALE"] = "1000000";
    const caller = newCaller();
    await history(caller);
    delete process.env["TIME_SCALE"];
    const records = await waiting(caller);
    await Promise.all([deliver(records), sweepEvents(), sweepEvents()]);
    expect((await eventsOf(caller)).map(({ type }) => type)).toEqual(kinds);
  });
});

describe("the outbox", () => {
  it("is empty when everything is published, and every event ends by itself after 90 days", async () => {
    const caller = newCaller();
    await history(caller);
    await deliver(await waiting(caller));
    const items = (await scanTable(api.emulator)).filter(({ pk }) => String(pk).startsWith(caller.tenant_id));
    expect(items.filter(({ et }) => et === "OUTBOX")).toEqual([]);
    for (const { et, expires_at } of items) {
      if (et !== "EVENT") continue;
      const seconds = Number((expires_at as { number: string }).number) - Date.now() / 1000;
      expect(Math.abs(seconds - 90 * 24 * 3600)).toBeLessThan(120);
    }
  });
});
