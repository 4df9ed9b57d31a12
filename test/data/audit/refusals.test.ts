import { afterEach, describe, expect, it, vi } from "vitest";
import type { PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { limits } from "../../../shared/limits.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { keyedOperator } from "../../support/builders/persons.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { whole } from "../../support/emulator/raw-items.ts";
import { itemsOf, readStream } from "../../support/emulator/raw-table.ts";
import { asOperator, newCaller, type TestCaller, withScopes } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { auditsIn } from "../../support/oracles/audit-oracle.ts";

const api = await startJudgedApi();

const { publishing } = await import("../../support/emulator/publishing.ts");
const { recordAll, someRefusal, sweepNow } = await import("../../support/emulator/refusals.ts");
const work = publishing(api);

const reported = () => api.queues.takeFrom("refusals").map(({ body }) => body as unknown as PolicyRefusal);

/** Publishes what waits in the outbox of a brokerage and returns the entries of its audit. */
async function entriesOf({ tenant_id }: TestCaller) {
  const waiting = (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) =>
      eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === tenant_id,
  );
  await work.publish(waiting);
  const audits = auditsIn(await itemsOf(api.emulator, { type: "AUDIT", tenant: tenant_id }));
  return audits.map(
    ({ members }) => members as { request_id: string; count: number; outcome: string; code: string; actor: object },
  );
}

afterEach(() => {
  api.queues.takeMessages();
  api.queues.interfere = () => undefined;
  vi.unstubAllEnvs();
});

describe("a request that gives something out", () => {
  const caller = newCaller();

  it("leaves an entry: a ticket of the stream, and a report as a table; the same as JSON is only read", async () => {
    const viewer = await keyedOperator(api, caller, "Vic", "finance");
    const ticket = await api.call(viewer, "POST", "/stream_tickets");
    expect(ticket.status, ticket.text).toBe(201);
    const usage = "/usage?from=2026-11-01&to=2026-11-02";
    expect((await api.call(viewer, "GET", usage)).status).toBe(200);
    const table = await api.call(viewer, "GET", `${usage}&format=csv`);
    expect(table.status, table.text).toBe(200);
    const sent = reported();
    for (const text of ["Vic", ticket.body.ticket]) expect(JSON.stringify(sent)).not.toContain(text);
    expect(await recordAll([...sent, ...sent])).toEqual([]);
    await entriesOf(caller);
    const { body } = await api.call(caller, "GET", `/audit_log?actor=${viewer.operator?.id}&sort=sequence`);
    const given = { outcome: "succeeded", code: null, resource: null, changes: [], count: 1, user_agent: "tests" };
    const byAction = (body.data as { action: string }[]).toSorted((a, b) => (a.action < b.action ? -1 : 1));
    expect(byAction).toMatchObject(
      ["create_stream_ticket", "report_usage"].map((action) => ({ ...given, action, actor: { name: "Vic" } })),
    );
    expect(JSON.stringify(body)).not.toContain(ticket.body.ticket);
  });

  it("in a loop leaves its first entries and one count, separate from those that were refused", async () => {
    const looping = newCaller({ tenant_id: caller.tenant_id });
    const { refusals_per_minute } = limits.audit;
    vi.useFakeTimers({ toFake: ["Date"], now: Math.ceil(Date.now() / 60_000) * 60_000 });
    for (let times = 0; times < refusals_per_minute + 3; times += 1) {
      expect((await api.call(looping, "POST", "/stream_tickets")).status).toBe(201);
    }
    await api.call({ ...looping, scopes: ["webhooks:read"] }, "POST", "/stream_tickets");
    expect(await recordAll(reported())).toEqual([]);
    vi.setSystemTime(Date.now() + 600_000);
    await sweepNow();
    vi.useRealTimers();
    const own = (await entriesOf(caller)).filter(
      ({ actor }) => (actor as { id: string }).id === looping.application_id,
    );
    const counts = (outcome: string) => own.filter((entry) => entry.outcome === outcome).map(({ count }) => count);
    expect(counts("refused")).toEqual([1]);
    expect(counts("succeeded").toSorted((a, b) => a - b)).toEqual([...Array(refusals_per_minute).fill(1), 3]);
  });
});

describe("a request that is refused by policy or scope", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);

  it("leaves one entry: who asked for what, from where, about what, and why it was refused", async () => {
    const client = await broker.client();
    const viewer = await keyedOperator(api, caller, "Vic", "viewer");
    const parts = { body: { first_name: "Eva" }, sourceIp: "203.0.113.9" };
    const answer = await api.call(viewer, "PATCH", `/clients/${client.id}`, parts);
    expect([answer.status, answer.body.code]).toEqual([403, "insufficient_scope"]);
    const sent = reported();
    expect(sent).toHaveLength(1);
    for (const text of ["Vic", "203.0.113.9"]) expect(JSON.stringify(sent)).not.toContain(text);
    expect(await recordAll(sent)).toEqual([]);
    await entriesOf(caller);
    const { body } = await api.call(caller, "GET", "/audit_log?outcome=refused");
    expect(body.data).toEqual([
      expect.objectContaining({
        actor: { type: "operator", id: viewer.operator?.id, name: "Vic" },
        ...{ ip: "203.0.113.9", user_agent: "tests", request_id: answer.body.request_id, action: "update_client" },
        ...{ resource: { type: "client", id: client.id }, outcome: "refused", code: "insufficient_scope" },
        ...{ changes: [], count: 1 },
      }),
    ]);
    const named = await api.call(caller, "GET", `/audit_log?resource=${client.id}&outcome=refused`);
    expect(named.body.data).toEqual(body.data);
  });

  it("is reported for every policy: addresses, the dashboard's entrance, four eyes, missing approvals", async () => {
    const elsewhere = { ...caller, allowed_ips: ["192.0.2.0/24"] };
    await api.call(elsewhere, "GET", "/me");
    await api.call(caller, "GET", "/clients", { browserIp: "203.0.113.5" });
    const finance = asOperator(caller, "Ana", "finance");
    const rules = [{ kind: "withdrawal", over: { USD: "5.00" }, approvers: 2, roles: ["finance"] }];
    await api.call(caller, "PATCH", "/settings", { body: { approval_rules: rules } });
    const account = await broker.account("100.00");
    const body = { account_id: account.id, amount: "10.00", status: "completed" };
    const keyed = { body, headers: { "Idempotency-Key": "direct" } };
    await api.call(finance, "POST", "/transactions/withdrawal", keyed);
    const pending = await api.call(finance, "POST", "/transactions/withdrawal", {
      body: { ...body, status: "pending" },
    });
    const own = `/transactions/${pending.body.id}`;
    await api.call(finance, "POST", `${own}/approve`);
    expect(reported().map(({ code, action, resource }) => [code, action, resource?.id ?? null])).toEqual([
      ["address_not_allowed", "get_me", null],
      ["operators_only", "list_clients", null],
      ["approval_required", "create_withdrawal", null],
      ["four_eyes_required", "approve_transaction", pending.body.id],
    ]);
    // The stored answer is given again: nothing is decided, so nothing is reported.
    expect((await api.call(finance, "POST", "/transactions/withdrawal", keyed)).body.code).toBe("approval_required");
    expect(reported()).toEqual([]);
  });

  it("is no entry when no caller is known, when it is wrong, or when it comes too often", async () => {
    await api.call(undefined, "GET", "/me");
    await api.call(caller, "GET", "/clients/cli_01JD0000000000000000000009");
    await api.call(caller, "POST", "/clients", { body: {} });
    const atMs = 1_700_000_000_000;
    for (let sent = 0; sent <= limits.rate.burst_per_second; sent += 1) await api.call(caller, "GET", "/me", { atMs });
    expect(reported()).toEqual([]);
  });

  it("gets the same answer when the queue does not take the message, which is logged and counted", async () => {
    vi.stubEnv("LOG_LEVEL", "INFO");
    vi.stubEnv("POWERTOOLS_LOG_LEVEL", undefined);
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const narrow = withScopes(caller, "clients:read");
    const refused = () => api.call(narrow, "GET", "/audit_log");
    const usual = await refused();
    api.queues.interfere = () => "unavailable";
    const answer = await refused();
    const lines = write.mock.calls.map(([line]) => String(line));
    write.mockRestore();
    const { request_id, ...body } = answer.body;
    expect([answer.status, { ...body, request_id: usual.body.request_id }]).toEqual([403, usual.body]);
    expect(lines.some((line) => line.includes("could not be queued") && line.includes(request_id))).toBe(true);
    expect(lines.filter((line) => line.includes('"RefusalNotReported":1'))).toHaveLength(1);
  });
});

describe("refusals of one actor and action in one minute", () => {
  const { refusals_per_minute: most } = limits.audit;

  /** As many refusals of a new caller as that, a hundredth of a second after each other. */
  function flood(count: number): { caller: TestCaller; refusals: PolicyRefusal[] } {
    const caller = newCaller();
    const beganMs = Date.parse("2020-01-06T12:00:00.000Z");
    const refusals = Array.from({ length: count }, (_, at) =>
      someRefusal(caller, { at: new Date(beganMs + 10 * at).toISOString() }),
    );
    return { caller, refusals };
  }

  const sweepAtOnce = () => {
    vi.stubEnv("TIME_SCALE", "1000000");
    return sweepNow();
  };

  it("are sixty entries, and one with the exact count of the others, which shows the first of them", async () => {
    const { caller, refusals } = flood(most + 190);
    vi.stubEnv("TIME_SCALE", "1000000");
    for (let at = 0; at < refusals.length; at += 90) expect(await recordAll(refusals.slice(at, at + 90))).toEqual([]);
    await sweepAtOnce();
    await sweepAtOnce();
    const entries = await entriesOf(caller);
    expect(entries.map(({ count }) => count)).toEqual([...Array(most).fill(1), 190]);
    const shown = new Set([...refusals.slice(0, most), refusals[most]].map((refusal) => refusal?.request_id));
    expect(new Set(entries.map(({ request_id }) => request_id))).toEqual(shown);
  });

  it("are counted once each, in whatever order and however often their messages come, also concurrently", async () => {
    const { caller, refusals } = flood(most + 40);
    vi.stubEnv("TIME_SCALE", "1000000");
    const shuffled = refusals.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1));
    const batches = [shuffled.slice(0, 70), shuffled.slice(30), refusals.slice(10, 90), [...refusals.slice(0, 30)]];
    let waiting = batches.flat();
    await Promise.all(batches.map(async (batch) => recordAll(batch)));
    waiting = await recordAll([...waiting.slice(0, 80), ...waiting.slice(0, 10)]);
    expect(waiting).toEqual([]);
    for (let at = 0; at < refusals.length; at += 50) expect(await recordAll(refusals.slice(at, at + 50))).toEqual([]);
    await sweepAtOnce();
    expect(await recordAll(refusals.slice(0, 90))).toEqual([]);
    await sweepAtOnce();
    const counts = (await entriesOf(caller)).map(({ count }) => count);
    expect(counts.toSorted((a, b) => a - b)).toEqual([...Array(most).fill(1), 40]);
  });

  it("that come after the count was written are counted by themselves", async () => {
    const { caller, refusals } = flood(most + 5);
    vi.stubEnv("TIME_SCALE", "1000000");
    await recordAll(refusals.slice(0, most + 3));
    await sweepAtOnce();
    await recordAll(refusals);
    await sweepAtOnce();
    const entries = await entriesOf(caller);
    expect(entries.slice(most).map(({ count }) => count)).toEqual([3, 2]);
    expect(entries.at(-1)?.request_id).toBe(refusals[most + 3]?.request_id);
  });

  it("are one entry with those of a batch that failed once and came again after three minutes", async () => {
    const { caller, refusals } = flood(most + 5);
    const ended = Date.parse("2026-11-23T12:01:00.000Z");
    const at = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: ended + seconds * 1000 });
    const counts = async () => (await entriesOf(caller)).slice(most).map(({ count }) => count);
    try {
      at(0);
      expect(await recordAll(refusals.slice(0, most + 3))).toEqual([]);
      // The queue hides a message for this time, after it was received at the end of the minute.
      at(limits.queues.visibility_timeouts * 30 + 1);
      await sweepNow();
      expect(await counts()).toEqual([]);
      expect(await recordAll(refusals.slice(most))).toEqual([]);
      at(241);
      await sweepNow();
      expect(await counts()).toEqual([5]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("wait for the end of their minute, and for messages that are late", async () => {
    const { caller, refusals } = flood(most + 1);
    await recordAll(refusals);
    await sweepNow();
    expect((await entriesOf(caller)).filter(({ count }) => count === 1)).toHaveLength(most);
    const [item] = await itemsOf(api.emulator, { type: "REFUSALS", tenant: caller.tenant_id });
    expect([item && whole(item, "single"), item && whole(item, "counted")]).toEqual([BigInt(most), 1n]);
    await sweepAtOnce();
    expect(await entriesOf(caller)).toHaveLength(most);
  });

  it("of another actor, action, minute or brokerage are not counted with them", async () => {
    const { caller, refusals } = flood(most);
    const [first] = refusals as [PolicyRefusal];
    const others = [
      someRefusal(caller, { actor: { ...first.actor, id: newCaller().application_id } }),
      someRefusal(caller, { action: "update_client" }),
      someRefusal(caller, { at: "2020-01-06T12:01:00.000Z" }),
    ];
    const foreign = newCaller({ application_id: caller.application_id });
    await recordAll([...refusals, ...others, someRefusal(foreign)]);
    expect((await entriesOf(caller)).map(({ count }) => count)).toEqual(Array(most + others.length).fill(1));
    expect(await entriesOf(foreign)).toHaveLength(1);
  });

  it("are recorded when many come again that were recorded, among some that were not", async () => {
    vi.stubEnv("TIME_SCALE", "1000000");
    const { caller, refusals } = flood(most + 15);
    expect(await recordAll(refusals.slice(0, 5))).toEqual([]);
    let writes = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation === "TransactWriteItems") writes += 1;
      return writes < 6 ? undefined : failure("ResourceNotFoundException");
    };
    const again = await recordAll(refusals.slice(5));
    expect(again).not.toEqual([]);
    api.watched.interfere = () => undefined;
    expect(await recordAll(again)).toEqual([]);
    await sweepAtOnce();
    expect((await entriesOf(caller)).map(({ count }) => count)).toEqual([...Array(most).fill(1), 15]);
  });

  it("are recorded exactly when the function ends before or after any of its calls", async () => {
    vi.stubEnv("TIME_SCALE", "1000000");
    for (let after = 0; after < 6; after += 1) {
      for (const lost of [false, true]) {
        const { caller, refusals } = flood(most + 60);
        let calls = 0;
        api.watched.interfere = () => {
          calls += 1;
          if (calls <= after) return undefined;
          return lost && calls === after + 1 ? "lose_answer" : failure("ResourceNotFoundException");
        };
        await recordAll(refusals.slice(0, 90));
        api.watched.interfere = () => undefined;
        for (const batch of [refusals.slice(0, 90), refusals.slice(90)]) expect(await recordAll(batch)).toEqual([]);
        calls = 0;
        api.watched.interfere = ({ operation }) => {
          if (operation !== "TransactWriteItems") return undefined;
          calls += 1;
          return calls > 1 ? undefined : lost ? "lose_answer" : failure("ResourceNotFoundException");
        };
        await sweepNow().catch(() => undefined);
        api.watched.interfere = () => undefined;
        await sweepNow();
        const counts = (await entriesOf(caller)).map(({ count }) => count);
        expect([after, lost, counts]).toEqual([after, lost, [...Array(most).fill(1), 60]]);
      }
    }
  });
});

describe("a message that is no refusal", () => {
  it("comes again, so that it ends in the dead letters, and holds no other", async () => {
    const caller = newCaller();
    const good = someRefusal(caller);
    const bad = [
      {},
      { ...good, code: "not_found" },
      { ...good, tenant_id: "brk_1" },
      { ...good, at: "yesterday" },
      { ...good, actor: { type: "application" } },
      { ...good, request_id: 7 },
    ];
    expect(await recordAll<object>([...bad, good])).toEqual(bad);
    expect((await entriesOf(caller)).map(({ request_id }) => request_id)).toEqual([good.request_id]);
  });
});
