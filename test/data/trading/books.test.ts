import { DeleteItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { ReconciliationBody } from "../../../shared/schema/internal-money/reconciliation.ts";
import { applicationRefs } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { publishDirectly } from "../../support/emulator/publishing.ts";
import { ofType, text, whole } from "../../support/emulator/raw-items.ts";
import { itemsOf, type RawItem, readStream } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);
const { handler } = await import("../../../functions/reports/reconcile.ts");
const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");

/** Compares the books of every brokerage from the beginning; what an invocation has no time for the next one does. */
const start = () => handler({ action: "start" }, lambdaContext(600_000));
const goOn = () => handler({}, lambdaContext(600_000));

/** References that make brokerages known to the function, which compares those of one test at a time. */
const references: RawItem[] = [];
afterEach(async () => {
  for (const item of references.splice(0)) await remove(item);
});

/** The time of an invocation that ends after so many steps. */
function withTimeFor(steps: number) {
  let left = steps + 1;
  const getRemainingTimeInMillis = () => {
    left -= 1;
    return left < 0 ? 0 : 600_000;
  };
  return { ...lambdaContext(600_000), getRemainingTimeInMillis };
}

let last: string | undefined;
/** Publishes what waits in the outbox. */
async function publish(): Promise<void> {
  const records = await readStream(api.emulator, last);
  last = records.at(-1)?.dynamodb.SequenceNumber ?? last;
  const made = records.filter(({ eventName, dynamodb: { NewImage: image } }) => {
    return eventName === "INSERT" && image?.["et"]?.S === "OUTBOX";
  });
  expect(await publishDirectly(made)).toBe(0);
}

/** A brokerage of its own with money in every state, whose events are published. */
async function books(currencies: readonly string[] = ["USD"]) {
  const own = await written(currencies);
  await publish();
  return own;
}

/** A brokerage of its own with money in every state. */
async function written(currencies: readonly string[] = ["USD"]) {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const { tenant_id, application_id, client_id } = caller;
  const reference = itemOf(applicationRefs, { client_id, application_id, owner_tenant_id: tenant_id });
  await putRaw(api, reference);
  references.push(reference as unknown as RawItem);
  const account = await broker.account("1000.00");
  const other = await broker.account("90000", { currency: currencies.at(-1) });
  const withdrawal = await broker.withdrawal(account, "300.00", { fee: "1.00" });
  await broker.deposit(account, "50.00");
  const paid = await broker.withdrawal(other, "500");
  await broker.move(paid, "processing");
  await broker.move(await broker.withdrawal(account, "20.00"), "completed");
  return { caller, broker, account, other, withdrawal, tenant: tenant_id };
}

const reportOf = async (caller: Parameters<typeof brokerage>[1]): Promise<readonly ReconciliationBody[]> =>
  (await brokerage(api, caller).get("/reports/reconciliation")).data;

const keyOf = (item: RawItem) => ({ pk: { S: text(item, "pk") }, sk: { S: text(item, "sk") } });

/** An item of a tenant, as it is stored. */
async function stored(tenant: string, type: string, wanted: (item: RawItem) => boolean = () => true): Promise<RawItem> {
  const items = await itemsOf(api.emulator, { type, tenant });
  const found = items.toSorted((a, b) => (text(a, "sk") < text(b, "sk") ? -1 : 1)).find(wanted);
  if (found === undefined) throw new Error(`There is no ${type}.`);
  return found;
}

async function remove(item: RawItem): Promise<void> {
  await api.emulator.client.send(new DeleteItemCommand({ TableName: api.emulator.tableName, Key: keyOf(item) }));
}

/** Writes a status into an item, past the service. */
async function setStatus(item: RawItem, status: string): Promise<void> {
  await api.emulator.client.send(
    new UpdateItemCommand({
      TableName: api.emulator.tableName,
      Key: keyOf(item),
      UpdateExpression: "SET #s = :s",
      ExpressionAttributeNames: { "#s": "status" },
      ExpressionAttributeValues: { ":s": { S: status } },
    }),
  );
}

/** Adds to amounts of an item, past the service. */
async function add(item: RawItem, amounts: Readonly<Record<string, number>>): Promise<void> {
  const names = Object.keys(amounts);
  await api.emulator.client.send(
    new UpdateItemCommand({
      TableName: api.emulator.tableName,
      Key: keyOf(item),
      UpdateExpression: `ADD ${names.map((_, place) => `#n${place} :v${place}`).join(", ")}`,
      ExpressionAttributeNames: Object.fromEntries(names.map((name, place) => [`#n${place}`, name])),
      ExpressionAttributeValues: Object.fromEntries(
        names.map((name, place) => [`:v${place}`, { N: String(amounts[name]) }]),
      ),
    }),
  );
}

type Books = Awaited<ReturnType<typeof books>>;
const ofAccount =
  ({ account }: Pick<Books, "account">) =>
  (item: RawItem) =>
    item["account_id"] === account.id;

/** The planted differences, and the report of each. */
const planted: Readonly<Record<string, (own: Books) => Promise<object>>> = {
  "a balance that is a cent off": async (own) => {
    await add(await stored(own.tenant, "BALANCE", ofAccount(own)), { balance_minor: 1, available_minor: 1 });
    return { object_id: own.account.id, field: "balance", expected: "980.00", found: "980.01" };
  },
  "a missing entry of a ledger": async (own) => {
    await remove(
      await stored(own.tenant, "LEDGER", (item) => ofAccount(own)(item) && whole(item, "balance_version") === 1n),
    );
    return { object_id: own.account.id, field: "ledger_entry", expected: "1", found: null };
  },
  "a missing last entry of a ledger": async (own) => {
    await remove(
      await stored(own.tenant, "LEDGER", (item) => ofAccount(own)(item) && whole(item, "balance_version") === 2n),
    );
    return { object_id: own.account.id, field: "ledger_entry", expected: "2", found: null };
  },
  "a changed entry of a ledger": async (own) => {
    const entry = await stored(
      own.tenant,
      "LEDGER",
      (item) => ofAccount(own)(item) && whole(item, "balance_version") === 1n,
    );
    await add(entry, { amount_minor: 1 });
    return { object_id: entry["id"], field: "balance_after", expected: "1000.01", found: "1000.00" };
  },
  "an entry that was changed with everything after it": async (own) => {
    const entries = await Promise.all(
      [1n, 2n].map((version) =>
        stored(own.tenant, "LEDGER", (item) => ofAccount(own)(item) && whole(item, "balance_version") === version),
      ),
    );
    const [first, second] = entries as [RawItem, RawItem];
    await add(first, { amount_minor: 1, balance_after_minor: 1 });
    await add(second, { balance_before_minor: 1, balance_after_minor: 1 });
    await add(await stored(own.tenant, "BALANCE", ofAccount(own)), { balance_minor: 1, available_minor: 1 });
    return { object_id: first["transaction_id"], field: "ledger_entries", expected: "1000.00", found: "1000.01" };
  },
  "a completed withdrawal that was set to failed": async (own) => {
    const paid = await stored(
      own.tenant,
      "TXN",
      (item) => item["kind"] === "withdrawal" && item["status"] === "completed",
    );
    await setStatus(paid, "failed");
    return { object_id: paid["id"], field: "ledger_entries", expected: "0.00", found: "-20.00" };
  },
  "a pending deposit that was set to completed": async (own) => {
    const pending = await stored(
      own.tenant,
      "TXN",
      (item) => item["kind"] === "deposit" && item["status"] === "pending",
    );
    await setStatus(pending, "completed");
    return { object_id: pending["id"], field: "ledger_entries", expected: "50.00", found: null };
  },
  "a transaction that is gone": async (own) => {
    const paid = await stored(
      own.tenant,
      "TXN",
      (item) => item["kind"] === "withdrawal" && item["status"] === "completed",
    );
    await remove(paid);
    return { object_id: paid["id"], field: "ledger_entries", expected: null, found: "-20.00" };
  },
  "a hold without its withdrawal": async (own) => {
    await remove(await stored(own.tenant, "TXN", (item) => item["id"] === own.withdrawal.id));
    return { object_id: own.account.id, field: "held", expected: "0.00", found: "300.00" };
  },
  "a withdrawal without its hold": async (own) => {
    const balance = await stored(own.tenant, "BALANCE", ofAccount(own));
    await add(balance, { held_minor: -30000, available_minor: 30000, pending: -2 });
    return { object_id: own.account.id, field: "held", expected: "300.00", found: "0.00" };
  },
  "a control account that is a cent off": async (own) => {
    const leg = await stored(
      own.tenant,
      "CONTRA",
      (item) => ofAccount(own)(item) && item["control_account"] === "clearing",
    );
    await add(leg, { amount_minor: -1 });
    return { object_id: leg["ledger_id"], field: "control_accounts", expected: "-1000.00", found: "-1000.01" };
  },
  "a missing entry of a control account": async (own) => {
    const leg = await stored(own.tenant, "CONTRA", (item) => item["control_account"] === "payouts");
    await remove(leg);
    return { object_id: leg["ledger_id"], field: "control_accounts", found: "0.00" };
  },
  "a missing event of an entry": async (own) => {
    const event = await stored(own.tenant, "EVENT", (item) => item["type"] === "transaction.completed");
    await remove(event);
    return { object_type: "event", object_id: String(whole(event, "sequence")), field: "sequence", found: null };
  },
  "a commit whose events were lost before they were published": async (own) => {
    const deposit = await own.broker.deposit(own.account, "1.00", { status: "completed" });
    const outbox = await stored(own.tenant, "OUTBOX");
    await remove(outbox);
    const { id } = await stored(own.tenant, "LEDGER", (item) => item["transaction_id"] === deposit.id);
    return { object_type: "ledger_entry", object_id: id, field: "event", found: null };
  },
  "a page of the audit log that is gone": async (own) => {
    const page = await stored(own.tenant, "AUDIT");
    await remove(page);
    return { object_type: "audit_log", field: "sequence", found: null };
  },
};

/** Each of these is reported once, whatever other sums it is in. */
const once = new Set([
  "a missing entry of a ledger",
  "a missing last entry of a ledger",
  "a changed entry of a ledger",
  "an entry that was changed with everything after it",
  "a completed withdrawal that was set to failed",
  "a transaction that is gone",
]);

/** The events of differences that wait for a tenant. */
async function announcedBy(tenant: string) {
  const waiting = await itemsOf(api.emulator, { type: "OUTBOX", tenant });
  const bodies = waiting.flatMap((item) => item["events"] as readonly string[]).map((each) => JSON.parse(each).body);
  return bodies.filter(({ type }) => type === "reconciliation.difference_found");
}

describe("the nightly reconciliation", () => {
  it("finds nothing in books that agree, and counts what it compared", async () => {
    const own = await books(["USD", "JPY"]);
    await start();
    const [run] = await reportOf(own.caller);
    expect(run).toMatchObject({ status: "completed", difference_count: 0, differences: [], unsettled: 0 });
    expect(run?.checked).toMatchObject({ accounts: 2, ledger_entries: 4, transactions: 3 });
    const items = await itemsOf(api.emulator, { tenant: own.tenant });
    const count = (type: string) => ofType(items, type).length;
    expect(run?.checked).toMatchObject({ control_entries: count("CONTRA"), events: count("EVENT") });
    expect(run?.checked.audit_entries).toBeGreaterThan(5);
    expect(await findings(api.emulator)).toEqual([]);
  });

  it("finds nothing while requests change what it compares", async () => {
    const own = await books(["USD", "JPY"]);
    const open: { id: string }[] = [];
    const accounts = [own.account, own.other, await own.broker.account("500.00"), await own.broker.account("500.00")];
    const amounts = ["1", "7", "30"];
    let compared = false;
    let requests = 0;
    /** One client of the brokerage: its next request after the answer to the one before, whatever that was. */
    const traffic = async (seed: number) => {
      const next = fc.sample(fc.tuple(fc.nat(3), fc.nat(5), fc.nat(2)), { numRuns: 2000, seed });
      for (const [at, act, size] of next) {
        if (compared) return;
        requests += 1;
        const account = accounts[at] as { id: string };
        const body = { account_id: account.id, amount: amounts[size] };
        const moved = open[(at * 7 + size) % Math.max(1, open.length)];
        if (act > 1 && moved !== undefined) {
          await own.broker.move(moved, ["completed", "processing", "cancelled", "failed"][act - 2] ?? "completed");
        } else {
          const kind = act === 0 ? "deposit" : "withdrawal";
          const made = await api.call(own.caller, "POST", `/transactions/${kind}`, { body });
          if (made.status === 201) open.push(made.body);
        }
        if (seed === 1 && requests % 20 === 0) await publish();
      }
    };
    const clients = Promise.all([1, 2].map(traffic));
    expect(await start()).toMatchObject({ failed: 0 });
    compared = true;
    await clients;
    for (const run of await reportOf(own.caller)) expect(run).toMatchObject({ status: "completed", differences: [] });
    expect(requests).toBeGreaterThan(100);
    // And once it is quiet, nothing is left open.
    await start();
    const [quiet] = await reportOf(own.caller);
    expect(quiet).toMatchObject({ difference_count: 0, unsettled: 0 });
    expect(quiet?.checked.transactions).toBeGreaterThan(10);
  });

  it("goes on where a run was killed, counts nothing twice and announces its difference once", async () => {
    const own = await books();
    await start();
    const [whole] = await reportOf(own.caller);
    await add(await stored(own.tenant, "BALANCE", ofAccount(own)), { available_minor: 1 });
    await handler({ action: "start" }, withTimeFor(1));
    let killed = 0;
    for (let most = 1; most < 10_000; most = Math.ceil(most * 1.7)) {
      let calls = 0;
      api.watched.interfere = () => {
        calls += 1;
        if (calls < most) return undefined;
        return calls === most ? "lose_answer" : failure("ResourceNotFoundException");
      };
      await goOn().catch(() => undefined);
      api.watched.interfere = () => undefined;
      if (calls < most) break;
      killed += 1;
    }
    await goOn();
    expect(killed).toBeGreaterThan(5);
    const [run, ...before] = await reportOf(own.caller);
    expect(run).toMatchObject({ status: "completed", difference_count: 1, checked: whole?.checked });
    expect(before.map(({ status }) => status)).not.toContain("running");
    expect(await announcedBy(own.tenant)).toHaveLength(1);
  });

  it("goes on in the next invocation where one had no time, and never twice at once", async () => {
    const own = await books();
    await handler({ action: "start" }, withTimeFor(2));
    const [begun] = await reportOf(own.caller);
    expect(begun).toMatchObject({ status: "running", completed_at: null });
    await Promise.all([goOn(), goOn(), goOn()]);
    const [run, ...more] = await reportOf(own.caller);
    expect([run?.id, run?.status, run?.checked.accounts, more.length]).toEqual([begun?.id, "completed", 2, 0]);
    // A nightly run waits for the next day.
    await goOn();
    expect(await reportOf(own.caller)).toHaveLength(1);
  });

  it("misses no event whose number a restore left out, and one that is gone next to them", async () => {
    const own = await books();
    const last = Number(whole(await stored(own.tenant, "SEQ"), "last"));
    const left = { last_valid_sequence: String(last - 1), after_sequence: String(last + 2_100_000) };
    const action = { action: "resume_numbers", tenant_id: own.tenant, restored_to: "2026-11-23T12:00:00Z" };
    await sweepEvents({ ...action, ...left }, lambdaContext(60_000));
    await publish();
    await own.broker.deposit(own.account, "1.00");
    await publish();
    await start();
    expect((await reportOf(own.caller))[0]).toMatchObject({ status: "completed", differences: [] });
    // The last number is void, since the restore names the one before it as the last that is valid.
    for (const number of [last - 1, last]) {
      await remove(await stored(own.tenant, "EVENT", (item) => whole(item, "sequence") === BigInt(number)));
    }
    await start();
    const [run] = await reportOf(own.caller);
    const gone = run?.differences.filter(({ object_type }) => object_type === "event");
    expect(gone).toMatchObject([{ object_id: String(last - 1), field: "sequence" }]);
  });

  it("ends where a reset of the sandbox removes what it compares", async () => {
    const own = await books();
    await api.call(own.caller, "POST", "/sandbox/reset", {});
    await start();
    expect(await reportOf(own.caller)).toMatchObject([{ status: "cancelled", differences: [] }]);
  });

  it("finds each planted difference within one run, and announces the first one once", async () => {
    const names = Object.keys(planted);
    const all = await Promise.all(names.map(() => written()));
    await publish();
    const expected: object[] = [];
    for (const [place, name] of names.entries())
      expected.push(await (planted[name] as (own: Books) => Promise<object>)(all[place] as Books));
    await start();
    for (const [place, name] of names.entries()) {
      const [run] = await reportOf((all[place] as Books).caller);
      expect(run?.status, name).toBe("completed");
      expect(run?.differences, name).toContainEqual(expect.objectContaining(expected[place] as object));
      expect(run?.difference_count, name).toBe(run?.differences.length);
      if (once.has(name)) expect(run?.differences, name).toHaveLength(1);
      const found = await announcedBy(all[place]?.tenant ?? "");
      expect(found, name).toHaveLength(1);
      expect(found[0].data.object.differences[0], name).toEqual(run?.differences[0]);
    }
  });
});
