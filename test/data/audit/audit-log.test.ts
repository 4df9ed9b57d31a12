import { DeleteItemCommand, QueryCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChainedEntry, checkChain } from "../../../shared/domain/audit/chain.ts";
import { limits } from "../../../shared/limits.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { auditPage, entriesOf } from "../../../shared/table/audit-entry.ts";
import { type AuditPage, auditPages, type Key, sequences } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { keyedOperator } from "../../support/builders/persons.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { hashedForm } from "../../support/oracles/audit-oracle.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(api.stop);

const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);

interface Shown extends ChainedEntry {
  readonly ip: string | null;
  readonly action: string;
  readonly resource: { readonly id: string };
  readonly actor: { readonly id: string };
  readonly at: string;
  readonly _links: object;
}

/** Publishes what waits in the outbox of a brokerage, in transactions of a few commits. */
async function publishAll(caller: TestCaller): Promise<void> {
  const waiting = (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) =>
      eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === caller.tenant_id,
  );
  for (let at = 0; at < waiting.length; at += 4) await work.publish(waiting.slice(at, at + 4));
}

/** Commands of a brokerage: three clients with an account each, and a change of each client. */
async function history(caller: TestCaller): Promise<{ readonly clients: readonly string[] }> {
  const broker = brokerage(api, caller);
  const clients: string[] = [];
  for (let made = 0; made < 3; made += 1) {
    const { client_id } = await broker.account();
    clients.push(client_id);
    await api.call(caller, "PATCH", `/clients/${client_id}`, { body: { first_name: `Ana-${made}` } });
  }
  await publishAll(caller);
  return { clients };
}

async function get(caller: TestCaller, address: string) {
  const { status, body } = await api.call(caller, "GET", address);
  expect([address, status]).toEqual([address, 200]);
  return body;
}

/** Every entry of a list, by its links. */
async function walk(caller: TestCaller, address: string): Promise<Shown[]> {
  const found: Shown[] = [];
  for (let next: string | undefined = address; next !== undefined; ) {
    const page: { data: Shown[]; _links: { next?: { href: string } } } = await get(caller, next);
    found.push(...page.data);
    next = page._links.next?.href.replace(/^.*\/v2/, "");
  }
  return found;
}

const numbersOf = (entries: readonly Shown[]) => entries.map(({ sequence }) => Number(sequence));

describe("the audit log", () => {
  const caller = newCaller();
  let clients: readonly string[] = [];
  beforeAll(async () => {
    ({ clients } = await history(caller));
  });
  const newest = [9, 8, 7, 6, 5, 4, 3, 2, 1];

  it("has one entry for each command, newest first or oldest first, a page at a time", async () => {
    for (const limit of [1, 2, 5, 9, 25]) {
      expect(numbersOf(await walk(caller, `/audit_log?limit=${limit}`))).toEqual(newest);
      expect(numbersOf(await walk(caller, `/audit_log?limit=${limit}&sort=sequence`))).toEqual(newest.toReversed());
    }
    const second = await get(caller, `/audit_log?limit=4`);
    const third = await get(caller, second._links.next.href.replace(/^.*\/v2/, ""));
    const back = await get(caller, third._links.prev.href.replace(/^.*\/v2/, ""));
    expect(back.data).toEqual(second.data);
    expect(await findings(api.emulator)).toEqual([]);
  });

  it("says who asked for what, from where, and what it changed", async () => {
    const [entry] = await walk(caller, "/audit_log");
    expect(entry).toMatchObject({
      object: "audit_entry",
      actor: { type: "application", id: caller.application_id },
      ip: "198.51.100.7",
      user_agent: "tests",
      action: "update_client",
      resource: { type: "client", id: clients[2] },
      outcome: "succeeded",
      code: null,
      count: 1,
      changes: [{ resource: { type: "client", id: clients[2] }, after: { version: 2 } }],
    });
    expect(await get(caller, `/audit_log/${entry?.id}`)).toEqual(entry);
  });

  it("says which browser an operator sat at, at the dashboard's address", async () => {
    const other = newCaller();
    const owner = await keyedOperator(api, other, "Ana", "owner");
    const body = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };
    const parts = { body, browserIp: "203.0.113.9", headers: { "X-Forwarded-For": "192.0.2.1" } };
    expect((await api.call(owner, "POST", "/clients", parts)).status).toBe(201);
    await publishAll(other);
    expect((await walk(other, "/audit_log")).map(({ ip }) => ip)).toEqual(["203.0.113.9"]);
  });

  it("is filtered as a filter of all its entries would, alone and together", async () => {
    const all = await walk(caller, "/audit_log");
    const [middle] = all.slice(4, 5) as [Shown];
    const cases: [string, (entry: Shown) => boolean][] = [
      [`resource=${clients[1]}`, ({ resource }) => resource.id === clients[1]],
      [`actor=${caller.application_id}`, () => true],
      ["actor=app_01JD0000000000000000000000", () => false],
      ["action=update_client", ({ action }) => action === "update_client"],
      ["outcome=refused", () => false],
      ["outcome=refused,succeeded", () => true],
      [`from=${middle.at}`, ({ at }) => at >= middle.at],
      [`to=${middle.at}`, ({ at }) => at < middle.at],
      [
        `resource=${clients[1]}&action=create_client`,
        (e) => e.resource.id === clients[1] && e.action === "create_client",
      ],
    ];
    for (const [query, isWanted] of cases) {
      const wanted = numbersOf(all.filter(isWanted));
      for (const limit of [1, 3, 25]) {
        expect([query, numbersOf(await walk(caller, `/audit_log?${query}&limit=${limit}`))]).toEqual([query, wanted]);
        const rising = numbersOf(await walk(caller, `/audit_log?${query}&limit=${limit}&sort=sequence`));
        expect([query, rising]).toEqual([query, wanted.toReversed()]);
      }
    }
  });

  it("verifies by the rule that its description states, and by the endpoint, in parts too", async () => {
    const shown = await walk(caller, "/audit_log?sort=sequence");
    const entries = shown.map(hashedForm);
    expect(checkChain(entries, { digest: sha256 })).toMatchObject({ checked: 9, broken: null });
    const whole = await get(caller, "/audit_log/verification");
    expect(whole).toMatchObject({ intact: true, broken: null, from: "1", to: "9", checked: 9, has_more: false });
    expect(whole.hash).toBe(entries.at(-1)?.hash);
    expect(await get(caller, "/audit_log/verification?from=3&to=6")).toMatchObject({ from: "3", to: "6", checked: 4 });
    expect((await api.call(caller, "GET", "/audit_log/verification?from=3&to=2")).status).toBe(400);
  });

  it("shows no entry of another brokerage", async () => {
    const other = newCaller();
    const [entry] = await walk(caller, "/audit_log");
    expect((await api.call(other, "GET", `/audit_log/${entry?.id}`)).status).toBe(404);
    expect(await walk(other, "/audit_log")).toEqual([]);
    expect(await walk(other, `/audit_log?resource=${clients[0]}`)).toEqual([]);
    expect(await get(other, "/audit_log/verification")).toMatchObject({ intact: true, from: null, checked: 0 });
  });
});

describe("a raw item of the audit", () => {
  /** A brokerage of its own, with its stored pages. */
  async function stored(): Promise<{ readonly caller: TestCaller; readonly pages: readonly AuditPage[] }> {
    const caller = newCaller();
    await history(caller);
    const { client, tableName: TableName } = api.emulator;
    const { Items: items = [] } = await client.send(
      new QueryCommand({
        TableName,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: marshall({ ":pk": auditPages.partition(caller.tenant_id) }),
      }),
    );
    const pages = items.map((item) => {
      const found = unmarshall(item);
      const { pk: _pk, sk: _sk, ...page } = found;
      return { ...page, ...auditPages.fromStored(found) } as AuditPage;
    });
    expect(pages.map(({ first }) => first)).toEqual([1, 5, 9]);
    return { caller, pages };
  }

  const broken = async (caller: TestCaller) => (await get(caller, "/audit_log/verification")).broken;

  it("that was changed is found, and the entry is named, also under hashes that were made again", async () => {
    const { caller, pages } = await stored();
    const page = pages[1] as AuditPage;
    const entries = entriesOf(page).map(
      ({ hash: _hash, previous_hash: _previous, sequence: _sequence, ...rest }) => rest,
    );
    const forged = entries.with(1, { ...(entries[1] as (typeof entries)[number]), action: "forged" });
    const head = { sequence: 4, hash: Buffer.from(page.previous_hash).toString("hex") };
    const made = auditPage(forged as never, head, page).page;
    await putRaw(api, itemOf(auditPages, { ...made, hashes: page.hashes }));
    expect(await broken(caller)).toMatchObject({ kind: "changed", sequence: "6", id: entries[1]?.id });
    await putRaw(api, itemOf(auditPages, made));
    expect(await broken(caller)).toMatchObject({ kind: "changed", sequence: "8" });
    await putRaw(api, itemOf(auditPages, { ...page, body: Buffer.from("x") }));
    expect(await broken(caller)).toMatchObject({ kind: "changed", sequence: "5" });
    // An unreadable entry keeps no other entry from its reader.
    expect(numbersOf(await walk(caller, "/audit_log"))).toEqual([9, 4, 3, 2, 1]);
    expect(numbersOf(await walk(caller, `/audit_log?actor=${caller.application_id}`))).toEqual([9, 4, 3, 2, 1]);
    expect((await api.call(caller, "GET", `/audit_log/${entries[1]?.id}`)).status).toBe(404);
  });

  const remove = ({ pk, sk }: Key) =>
    api.emulator.client.send(new DeleteItemCommand({ TableName: api.emulator.tableName, Key: marshall({ pk, sk }) }));

  it("that was removed is found and named, the oldest one by the next, the newest one by the counter", async () => {
    for (const [at, sequence] of [
      [0, "4"],
      [1, "5"],
      [2, "9"],
    ] as const) {
      const { caller, pages } = await stored();
      await remove(auditPages.keyOf(pages[at] as AuditPage));
      expect(await broken(caller)).toEqual({ kind: "removed", sequence, id: null });
    }
  });

  it("that was removed is found by every check of a part that it belongs to", async () => {
    const { caller, pages } = await stored();
    await remove(auditPages.keyOf(pages[1] as AuditPage));
    for (const part of ["from=5", "from=6", "from=9", "to=5", "to=8", "from=5&to=8", "from=6&to=7"]) {
      const found = (await get(caller, `/audit_log/verification?${part}`)).broken;
      expect([part, found]).toEqual([part, { kind: "removed", sequence: "5", id: null }]);
    }
    expect(await get(caller, "/audit_log/verification?to=4")).toMatchObject({ intact: true, to: "4" });
  });

  it("may be gone once it has expired, in any order, and all of them in a brokerage at rest", async () => {
    const { caller, pages } = await stored();
    const past = Math.floor(Date.now() / 1000) - 1;
    const [first, second, third] = pages as [AuditPage, AuditPage, AuditPage];
    await putRaw(api, itemOf(auditPages, { ...first, expires_at: past }));
    await remove(auditPages.keyOf(second));
    await putRaw(api, itemOf(auditPages, { ...third, previous_expires_at: past }));
    const rest = { intact: true, broken: null, from: "9", to: "9" };
    const nothing = { intact: true, broken: null, from: null, to: null, checked: 0 };
    expect(await get(caller, "/audit_log/verification")).toMatchObject(rest);
    expect(await get(caller, "/audit_log/verification?from=5")).toMatchObject(rest);
    expect(await get(caller, "/audit_log/verification?from=2&to=7")).toMatchObject(nothing);
    await remove(auditPages.keyOf(third));
    expect(await broken(caller)).toMatchObject({ kind: "removed", sequence: "9" });
    await api.emulator.client.send(
      new UpdateItemCommand({
        TableName: api.emulator.tableName,
        Key: marshall(sequences.key(caller.tenant_id)),
        UpdateExpression: "SET audit_expires_at = :past",
        ExpressionAttributeValues: marshall({ ":past": past }),
      }),
    );
    expect(await get(caller, "/audit_log/verification")).toMatchObject(nothing);
  });

  it("that stands behind the head was inserted; a check from there on finds nothing else", async () => {
    const { caller, pages } = await stored();
    for (const from of [10, 11, 1000]) {
      const address = `/audit_log/verification?from=${from}`;
      expect(await get(caller, address)).toMatchObject({ intact: true, broken: null, from: null, checked: 0 });
    }
    const page = pages[2] as AuditPage;
    const [entry] = entriesOf(page);
    await putRaw(api, itemOf(auditPages, { ...page, first: 10 }));
    const inserted = { kind: "inserted", sequence: "10", id: entry?.id };
    expect(await broken(caller)).toEqual(inserted);
    expect((await get(caller, "/audit_log/verification?from=10")).broken).toEqual(inserted);
  });

  it("that was inserted is found, and its first entry is named", async () => {
    const { caller, pages } = await stored();
    const page = pages[0] as AuditPage;
    await putRaw(api, itemOf(auditPages, { ...page, first: 6 }));
    const [first] = entriesOf(page);
    expect(await broken(caller)).toEqual({ kind: "inserted", sequence: "1", id: first?.id });
  });

  it("holds all commits of a full transaction", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    for (let made = 0; made < 49; made += 1) await broker.client();
    const waiting = (await readStream(api.emulator)).filter(
      ({ eventName, dynamodb: { NewImage: image } }) =>
        eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === caller.tenant_id,
    );
    api.watched.takeCalls();
    await work.publish(waiting);
    const transactions = api.watched.takeCalls().filter(({ operation }) => operation === "TransactWriteItems");
    expect(transactions.map(({ input }) => (input as { TransactItems: unknown[] }).TransactItems.length)).toEqual([
      limits.commit.max_items,
    ]);
    expect(numbersOf(await walk(caller, "/audit_log?limit=10"))).toHaveLength(49);
  });
});
