import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { checkChain } from "../../../shared/domain/audit/chain.ts";
import type { Operator } from "../../../shared/domain/records/operator.ts";
import { personalMembers } from "../../../shared/personal-members.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { keyedOperator } from "../../support/builders/persons.ts";
import { startApi } from "../../support/emulator/api.ts";
import { type RawItem, readChanges, readStream, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startUserPool } from "../../support/emulator/user-pool.ts";
import { auditsIn, hashedForm, judgeAudit } from "../../support/oracles/audit-oracle.ts";

const api = await startApi("stream", "watched");
const pool = await startUserPool();
Object.assign(process.env, pool.environment);
afterAll(async () => {
  await api.stop();
  await pool.stop();
});

const { publishing } = await import("../../support/emulator/publishing.ts");
const { eraseClientAudit } = await import("../../../shared/table/audit/erasure.ts");
const { settleOperator } = await import("../../../shared/oauth/operator-items.ts");
const { operators } = await import("../../../shared/table/entities.ts");
const work = publishing(api);

/** A client whose personal members all hold the word. */
function clientOf(word: string) {
  const text = `${word}-text`;
  return {
    ...{ email: `${word}@example.com`, first_name: text, middle_name: text, last_name: text, company_name: text },
    ...{ registration_number: text, external_id: text, phone: "+351912345678", date_of_birth: "1990-12-24" },
    ...{ nationality: "PT", country: "PT", language: "pt", time_zone: "Europe/Lisbon", tags: [text] },
    address: { line1: text, city: text, country: "PT" },
    metadata: { note: text },
  };
}

const words = new Set<string>();

/** A word that stands for a person, and in nothing else. */
function newWord(): string {
  const word = `canary${words.size}${newId("x").slice(-8).toLowerCase()}`;
  words.add(word);
  return word;
}

async function send(caller: TestCaller, method: string, address: string, body?: object) {
  const answer = await api.call(caller, method, address, body === undefined ? {} : { body });
  expect([address, answer.status, answer.text]).toEqual([address, expect.toSatisfy((n) => n < 300), answer.text]);
  return answer.body;
}

async function publishAll({ tenant_id }: TestCaller): Promise<void> {
  const waiting = (await readStream(api.emulator)).filter(
    ({ eventName, dynamodb: { NewImage: image } }) =>
      eventName === "INSERT" && image?.["et"]?.S === "OUTBOX" && image["tenant_id"]?.S === tenant_id,
  );
  await work.publish(waiting);
}

/** The stored audit, and the waiting parts of it. */
async function storedAudit(): Promise<string> {
  const waiting = (await readChanges(api.emulator)).map(({ after }) => after?.["audit"]);
  return JSON.stringify([auditsIn(await scanTable(api.emulator)), waiting]);
}

const keyItems = () => scanTable(api.emulator, api.emulator.keyTableName);

async function close(caller: TestCaller, id: string): Promise<void> {
  await send(caller, "PATCH", `/clients/${id}`, { status: "closed" });
}

async function shownBy(caller: TestCaller) {
  const { data } = await send(caller, "GET", "/audit_log?limit=100&sort=sequence");
  return data as Parameters<typeof hashedForm>[0][];
}

/** The chain verifies: by the endpoint, by the raw items, and by what is shown, read as the document says. */
async function expectWhole(caller: TestCaller): Promise<void> {
  expect(await send(caller, "GET", "/audit_log/verification")).toMatchObject({ intact: true, broken: null });
  const items = await scanTable(api.emulator);
  expect(judgeAudit(items.filter(({ pk }) => String(pk).startsWith(caller.tenant_id)))).toEqual([]);
  const shown = (await shownBy(caller)).map(hashedForm) as unknown as Parameters<typeof checkChain>[0];
  expect(checkChain(shown, { digest: sha256 }).broken).toBeNull();
}

describe("the audit of persons", () => {
  it("stores nothing personal in clear, shows it while the key lives, and a mark after that", async () => {
    const caller = newCaller();
    const [ana, eva, owner] = [newWord(), newWord(), newWord()];
    const operator = await keyedOperator(api, caller, `${owner}-name`, "owner");
    const client = await send(caller, "POST", "/clients", clientOf(ana));
    const changed = { email: `${ana}@example.org`, metadata: { more: `${ana}-more` } };
    await send(operator, "PATCH", `/clients/${client.id}`, changed);
    const invited = { email: `${eva}@example.com`, name: `${eva}-name`, role: "viewer" };
    const second = await send(operator, "POST", "/operators", invited);
    await send(operator, "PATCH", `/operators/${second.id}`, { name: `${eva}-another` });
    await publishAll(caller);
    const stored = await storedAudit();
    for (const word of [ana, eva, owner, "912345678", "1990-12-24", "Lisbon"]) expect(stored).not.toContain(word);
    const operatorEntries = auditsIn(await scanTable(api.emulator)).filter(
      ({ members }) => (members["actor"] as { type: string }).type === "operator",
    );
    expect(JSON.stringify(operatorEntries)).not.toMatch(/198\.51\.100\.7|"tests"/);
    const [created, updated, made, renamed] = (await shownBy(caller)) as Record<string, unknown>[];
    expect(created).toMatchObject({ ip: "198.51.100.7", changes: [{ before: null, after: clientOf(ana) }] });
    expect(updated).toMatchObject({
      ...{ actor: { id: operator.operator.id, name: `${owner}-name` }, ip: "198.51.100.7", user_agent: "tests" },
      changes: [{ before: { email: `${ana}@example.com` }, after: changed }],
    });
    expect(made).toMatchObject({ changes: [{ after: { email: `${eva}@example.com`, name: `${eva}-name` } }] });
    expect(renamed).toMatchObject({
      changes: [{ before: { name: `${eva}-name` }, after: { name: `${eva}-another` } }],
    });
    const personal = Object.keys(clientOf(ana)).filter((name) => !personalMembers.client.has(name));
    expect(personal).toEqual([]);
    await expectWhole(caller);

    await close(caller, client.id);
    expect(await eraseClientAudit(caller.tenant_id, client.id)).toMatchObject({ erased_now: true });
    await publishAll(caller);
    const after = await shownBy(caller);
    expect(JSON.stringify(after)).not.toContain(ana);
    for (const word of [eva, owner]) expect(JSON.stringify(after)).toContain(word);
    expect(after[0]).toMatchObject({
      changes: [{ after: { email: "[erased]", address: "[erased]", status: "active" } }],
    });
    expect(after.at(-1)).toMatchObject({
      ...{ action: "erase_client", actor: { type: "system", id: "erasure" }, changes: [], ip: null },
      resource: { type: "client", id: client.id },
    });
    expect(await send(caller, "GET", `/audit_log/${(after[0] as { id: string }).id}`)).toEqual(after[0]);
    await expectWhole(caller);
  });

  it("is written by a command whose calls are as many as without it, and published by as many", async () => {
    const caller = newCaller();
    const operator = await keyedOperator(api, caller, newWord(), "owner");
    const callsOf = async (act: () => Promise<unknown>) => {
      api.watched.takeCalls();
      await act();
      return api.watched.takeCalls().map(({ operation, tables }) => `${operation} ${tables.length}`);
    };
    const client = await send(caller, "POST", "/clients", clientOf(newWord()));
    const change = (by: TestCaller, language: string) =>
      callsOf(() => send(by, "PATCH", `/clients/${client.id}`, { language }));
    const plain = await change(caller, "en");
    const sealed = await change(operator, "de");
    expect(sealed).toEqual(plain);
    expect(plain.toSorted()).toEqual(["BatchGetItem 1", "TransactWriteItems 1", "UpdateItem 1"]);
    const created = await callsOf(() => send(caller, "POST", "/clients", clientOf(newWord())));
    expect(created.toSorted()).toEqual(["TransactWriteItems 2", "UpdateItem 1"]);
    const published = await callsOf(() => publishAll(caller));
    expect(published.filter((call) => call.startsWith("TransactWriteItems"))).toHaveLength(1);
    // The counter of events is read with the flag of the stream, which is in the other table.
    expect(published.filter((call) => !call.endsWith(" 1"))).toEqual(["BatchGetItem 2"]);
    const listed = await callsOf(() => send(caller, "GET", "/audit_log?limit=100"));
    expect(listed.toSorted()).toEqual(["BatchGetItem 1", "Query 1", "UpdateItem 1"]);
  });

  it("is readable of those alone whose key lives, whatever was changed and erased in any order", async () => {
    const step = fc.record({ act: fc.constantFrom("change", "change", "erase", "publish"), who: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        const caller = newCaller();
        const people = await Promise.all(
          [...Array(4)].map(async () => {
            const word = newWord();
            return { word, id: String((await send(caller, "POST", "/clients", clientOf(word))).id), erased: false };
          }),
        );
        for (const [number, { act, who }] of steps.entries()) {
          const person = people[who];
          if (person === undefined || person.erased) continue;
          if (act === "publish") await publishAll(caller);
          if (act === "change") {
            const body = { first_name: `${person.word}-${number}`, phone: `+35191234567${number % 10}` };
            await send(caller, "PATCH", `/clients/${person.id}`, body);
          }
          if (act === "erase") {
            await close(caller, person.id);
            await eraseClientAudit(caller.tenant_id, person.id);
            person.erased = true;
          }
        }
        await publishAll(caller);
        const [stored, shown] = [await storedAudit(), JSON.stringify(await shownBy(caller))];
        for (const { word, erased } of people) {
          expect(stored).not.toContain(word);
          expect([word, shown.includes(word)]).toEqual([word, !erased]);
        }
        await expectWhole(caller);
      }),
      { numRuns: 5 },
    );
  });

  it("is erased for closed clients alone, and of a client that is there", async () => {
    const caller = newCaller();
    const { id } = await send(caller, "POST", "/clients", clientOf(newWord()));
    await expect(eraseClientAudit(caller.tenant_id, id)).rejects.toThrow("only a closed one");
    await expect(eraseClientAudit(caller.tenant_id, newId("cli"))).rejects.toThrow("has no client");
    await expect(eraseClientAudit(newCaller().tenant_id, id)).rejects.toThrow("has no client");
    expect((await keyItems()).find(({ person_id }) => person_id === id)).toHaveProperty("private_key");
  });
});

/** Lets the service end at one of its calls: all from this one on fail, and this one may have been carried out. */
async function dyingAt(call: number, carriedOut: boolean, act: () => Promise<unknown>): Promise<boolean> {
  let count = 0;
  api.watched.interfere = () => {
    count += 1;
    if (count < call) return undefined;
    if (count === call && carriedOut) return "lose_answer";
    return { status: 400, body: { __type: "com.amazonaws.dynamodb.v20120810#AccessDeniedException", message: "gone" } };
  };
  const done = await act().then(
    () => true,
    () => false,
  );
  api.watched.interfere = () => undefined;
  return done;
}

/** Ends at each of so many calls, which may have been carried out or not. */
function deaths(calls: number): (readonly [call: number, carriedOut: boolean])[] {
  return [...Array(calls)].flatMap((_, at) => [true, false].map((carriedOut) => [at + 1, carriedOut] as const));
}

describe("an erasure that is cut off at any of its calls", () => {
  const noteOf = async (id: string): Promise<RawItem | undefined> =>
    (await keyItems()).find(({ person_id }) => person_id === id);

  it("of a client is completed by the next one, with one entry of the audit", async () => {
    const caller = newCaller();
    const ends: boolean[] = [];
    for (const [call, carriedOut] of deaths(8)) {
      const word = newWord();
      const { id } = await send(caller, "POST", "/clients", clientOf(word));
      await close(caller, id);
      ends.push(await dyingAt(call, carriedOut, () => eraseClientAudit(caller.tenant_id, id)));
      await eraseClientAudit(caller.tenant_id, id);
      await publishAll(caller);
      expect(await noteOf(id)).toEqual(expect.objectContaining({ destroyed_at: expect.any(String) }));
      expect(await noteOf(id)).not.toHaveProperty("private_key");
      const { data } = await send(caller, "GET", `/audit_log?resource=${id}`);
      expect(data.filter(({ action }: { action: string }) => action === "erase_client")).toHaveLength(1);
      expect(JSON.stringify(data)).not.toContain(word);
    }
    expect(ends).toContain(true);
    expect(ends).toContain(false);
    await expectWhole(caller);
  });

  it("of a removed operator is completed by provisioning, which forgets the names last", async () => {
    const caller = newCaller();
    const owner = await keyedOperator(api, caller, newWord(), "owner");
    for (const [call, carriedOut] of deaths(10)) {
      const word = newWord();
      const invited = { email: `${word}@example.com`, name: word, role: "viewer" };
      const { id } = await send(owner, "POST", "/operators", invited);
      const key = operators.key(caller.tenant_id, id);
      await settleOperator(key);
      await send(owner, "DELETE", `/operators/${id}`);
      await dyingAt(call, carriedOut, () => settleOperator(key));
      await settleOperator(key);
      expect(await noteOf(id)).not.toHaveProperty("private_key");
      const item = (await scanTable(api.emulator)).find(({ id: own, et }) => own === id && et === "OPERATOR");
      expect(item).toMatchObject({ status: "removed", email: "", name: "", wake_at: null } satisfies Partial<Operator>);
      expect(item).not.toHaveProperty("audit_key");
      expect(pool.users.find(invited.email)).toBeUndefined();
    }
    await publishAll(caller);
    const shown = JSON.stringify(await shownBy(caller));
    expect([...words].filter((word) => shown.includes(word))).toEqual([owner.operator.name]);
    await expectWhole(caller);
  });

  it("leaves a note that no key takes the place of", async () => {
    const caller = newCaller();
    const { id } = await send(caller, "POST", "/clients", clientOf(newWord()));
    await close(caller, id);
    await eraseClientAudit(caller.tenant_id, id);
    const { transactOnce } = await import("../../../shared/table/transact.ts");
    const { putNew } = await import("../../../shared/table/write.ts");
    const { personKeys } = await import("../../../shared/table/entities.ts");
    const again = { tenant_id: caller.tenant_id, person_id: id, private_key: "another" };
    expect(await transactOnce([putNew(personKeys, again)])).toMatchObject({ ok: false });
  });
});
