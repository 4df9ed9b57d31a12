import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findNew, wantedBy } from "../../../shared/domain/accounts/finding.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { clients, findables } from "../../../shared/table/entities.ts";
import { brokerage, clientRequest } from "../../support/builders/brokerage.ts";
import { changesOf, someClient } from "../../support/builders/decisions.ts";
import { putItems, writeOf } from "../../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { closedDoor } from "../../support/emulator/watched-endpoint.ts";
import { type ModelClient, modelFold, modelSearch } from "../../support/model/client-search.ts";

const api = await startApi("watched");
afterAll(api.stop);
const { resetOverdue } = await import("../../../shared/sandbox/reset.ts");
const { eraseClientAudit } = await import("../../../shared/table/audit/erasure.ts");

/** Clients of both brokerages together; the long form has 50,000. */
const count = Number(process.env["SEARCH_CLIENTS"] ?? 1500);
const runs = Number(process.env["SEARCH_RUNS"] ?? 60);

const callers = [newCaller(), newCaller()] as const;
const searchOf = (caller: TestCaller, search: string, limit?: number): Promise<TestAnswer> => {
  const size = limit === undefined ? "" : `&limit=${limit}`;
  return api.call(caller, "GET", `/clients?search=${encodeURIComponent(search)}${size}`);
};
const idsOf = async (caller: TestCaller, search: string, limit?: number): Promise<string[]> => {
  const { status, text, body } = await searchOf(caller, search, limit);
  expect([status, text]).toEqual([200, text]);
  return body.data.map(({ id }: { id: string }) => id);
};

/** Holds every query until so many wait: one that were made after the answer of another would wait for ever. */
function allTogether(queries: number): void {
  const door = closedDoor();
  let waiting = 0;
  api.watched.interfere = async ({ operation }) => {
    if (operation !== "Query") return undefined;
    waiting += 1;
    if (waiting === queries) door.open();
    await door.opened;
    return undefined;
  };
}

describe("a search over many clients", () => {
  const first = [
    "Ana",
    "İlker",
    "Žofie",
    "Олена",
    "Алёна",
    "محمد",
    "أحمد",
    "伟",
    "秀英",
    "Søren",
    "민수",
    "𠮷",
    "O'Neil",
  ];
  const last = [
    "Silva Santos",
    "IŞIK",
    "Müller-Łuczak",
    "Зайцев",
    "الخطيب",
    "李",
    "王",
    "Ørsted",
    "김",
    "D’Arc",
    "de la Cruz",
  ];
  const companies = ["Nord & Süd Handels GmbH", "100 Trading Ltd", "李记 贸易", "شركة النور"];
  const all = new Map<string, ModelClient[]>(callers.map(({ tenant_id }) => [tenant_id, []]));

  beforeAll(async () => {
    const drawn = fc.sample(
      fc.record({
        tenant: fc.nat(1),
        first: fc.constantFrom(...first),
        last: fc.constantFrom(...last),
        company: fc.option(fc.constantFrom(...companies), { freq: 6 }),
        mail: fc.constantFrom("ana", "sales", "o'neil", "müller", "100", "zoë.k"),
        phone: fc.option(fc.integer({ min: 351_910_000_000, max: 351_919_999_999 })),
        external: fc.option(fc.constantFrom("CRM-", "ana ", "1"), { freq: 2 }),
        accounts: fc.array(fc.integer({ min: 10_000_000, max: 19_999_999 }), { maxLength: 2 }),
      }),
      { numRuns: count, seed: 7 },
    );
    const writes = drawn.flatMap(({ tenant, accounts: numbers, ...each }, place) => {
      const tenant_id = callers[tenant]?.tenant_id ?? "";
      const client = someClient({
        id: newId("cli"),
        tenant_id,
        type: each.company === null ? "individual" : "corporate",
        first_name: each.company === null ? each.first : null,
        last_name: each.company === null ? each.last : null,
        company_name: each.company,
        email: `${each.mail}${place}@example.com`,
        phone: each.phone === null ? null : `+${each.phone}`,
        external_id: each.external === null ? null : `${each.external}${place}`,
      });
      const accounts = numbers.map((number) => ({ id: newId("acc"), number: String(number) }));
      all.get(tenant_id)?.push({ ...client, accounts });
      return [
        writeOf(api, clients, client),
        ...changesOf(findNew(client), "find").map(({ item }) => writeOf(api, findables, item)),
        ...accounts.map(({ id: account_id, number }) =>
          writeOf(api, findables, { tenant_id, client_id: client.id, account_id, number }),
        ),
      ];
    });
    await putItems(api, writes);
  }, 600_000);

  it("finds in two rounds what a model finds that folds and scans, and none of another brokerage", async () => {
    const caller = callers[0];
    const own = all.get(caller.tenant_id) ?? [];
    const texts = own.flatMap(({ first_name, last_name, company_name, email, phone, accounts }) => [
      ...(company_name === null ? [`${first_name} ${last_name}`, `${last_name} ${first_name}`] : [company_name]),
      ...[(last_name ?? company_name)?.split(" ").at(-1) ?? "", email, ...(phone === null ? [] : [phone])],
      ...accounts.map(({ number }) => number),
    ]);
    const drawn = fc.sample(
      fc.record({
        // As a place: fifty thousand clients have more texts than a call takes arguments.
        text: fc.nat(texts.length - 1).map((place) => texts[place] ?? ""),
        length: fc.integer({ min: 2, max: 20 }),
        limit: fc.constantFrom(1, 8, 25),
        form: fc.constantFrom("as it is", "upper", "decomposed"),
      }),
      { numRuns: runs, seed: 8 },
    );
    let [found, more] = [0, 0];
    for (const { text, length, limit, form } of drawn) {
      const cut = [...text].slice(0, length).join("");
      const search = form === "upper" ? cut.toUpperCase() : form === "decomposed" ? cut.normalize("NFD") : cut;
      const queries = Object.keys(wantedBy(search) ?? {}).length;
      allTogether(queries);
      api.watched.takeCalls();
      const { status, body } = await searchOf(caller, search, limit);
      const calls = api.watched.takeCalls().map(({ operation }) => operation);
      // Some beginnings fold to a single letter.
      if (modelFold(search, search.includes("@")).length < 2) {
        expect([search, status]).toEqual([search, 400]);
        continue;
      }
      const ids = body.data.map(({ id }: { id: string }) => id);
      const expected = modelSearch(own, search, limit);
      expect([search, limit, body.page.has_more, ids]).toEqual([search, limit, expected.has_more, expected.ids]);
      expect(body._links).not.toHaveProperty("next");
      // One round of queries and the claim of an external id, and one batch of clients.
      const reads = calls.filter((operation) => operation !== "UpdateItem").toSorted();
      expect(reads).toEqual([...Array(ids.length > 0 ? 2 : 1).fill("BatchGetItem"), ...Array(queries).fill("Query")]);
      found += ids.length;
      more += Number(body.page.has_more);
    }
    expect(Math.min(found, more)).toBeGreaterThan(10);
    api.watched.interfere = () => undefined;
    console.log(`${own.length} clients: ${drawn.length} searches found ${found}, ${more} of them had more`);
  }, 600_000);
});

describe("a client", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const patch = async (id: string, body: object) => {
    const answer = await api.call(caller, "PATCH", `/clients/${id}`, { body });
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
  };

  it("is found by what it is now, after each change, and by nothing that it was", async () => {
    const names = { first_name: "Þórdís", last_name: "de la Cruz", email: "Thor@Example.com", phone: "+351912000111" };
    const { id } = await broker.client({ ...names, external_id: "crm@1" });
    for (const text of ["thordis de", "de la cruz t", "cruz", "thor@ex", "+351 912 000", "crm@1"]) {
      expect([text, await idsOf(caller, text)]).toEqual([text, [id]]);
    }
    await patch(id, { first_name: "Bea", last_name: "Weiß", email: "bea@example.com", phone: null });
    for (const text of ["thordis", "cruz", "thor@", "351912"])
      expect([text, await idsOf(caller, text)]).toEqual([text, []]);
    for (const text of ["bea weiss", "weiss b", "bea@"])
      expect([text, await idsOf(caller, text)]).toEqual([text, [id]]);
    await patch(id, { status: "closed" });
    expect(await idsOf(caller, "bea w")).toEqual([id]);
    await eraseClientAudit(caller.tenant_id, id);
    expect([await idsOf(caller, "bea"), await idsOf(caller, "bea@")]).toEqual([[], []]);
    const left = JSON.stringify(await itemsOf(api.emulator, { type: "FIND", tenant: caller.tenant_id }));
    expect(left.toLowerCase()).not.toMatch(/bea|weiss/);
  });

  it("is found by an address whose domain is typed as it is written or in ASCII", async () => {
    const { id, email } = await broker.client({ email: "bo@Exämple.de" });
    for (const text of ["bo@exämple.de", "BO@EXÄMPLE.D", "bo@xn--ex", email]) {
      expect([text, await idsOf(caller, text)]).toEqual([text, [id]]);
    }
    expect(await idsOf(caller, "bo@example.de")).toEqual([]);
  });

  it("comes first where the whole text is its external id", async () => {
    const named = await broker.client({ first_name: "Zed", last_name: "A1", external_id: "x7 one" });
    const other = await broker.client({ first_name: "X7", last_name: "One" });
    expect(await idsOf(caller, " x7 one")).toEqual([named.id, other.id]);
    expect(await idsOf(caller, "x7 on")).toEqual([other.id]);
  });

  it("is found by the number of an account, also where others of it begin alike", async () => {
    const { id: client_id } = await broker.client();
    for (const number of ["77700001", "77700002"]) {
      const { status } = await api.call(caller, "POST", "/accounts", { body: { client_id, number } });
      expect(status).toBe(201);
    }
    expect(await idsOf(caller, "777")).toEqual([client_id]);
    expect(await idsOf(caller, "77700002")).toEqual([client_id]);
    expect(await idsOf(caller, "77")).toEqual([]);
  });

  it("is found no more after a reset of the sandbox", async () => {
    const other = newCaller();
    const { id } = await brokerage(api, other).client({ first_name: "Rosa", phone: "+351912000222" });
    const { status } = await api.call(other, "POST", "/accounts", { body: { client_id: id, number: "88800001" } });
    expect([status, await idsOf(other, "rosa")]).toEqual([201, [id]]);
    await api.call(other, "POST", "/sandbox/reset");
    await resetOverdue(() => true);
    for (const text of ["rosa", "351912", "888"]) expect(await idsOf(other, text)).toEqual([]);
    expect(await itemsOf(api.emulator, { type: "FIND", tenant: other.tenant_id })).toEqual([]);
  });
});

describe("a search", () => {
  const caller = newCaller();

  it.each([
    ["search=a", "search", "out_of_range"],
    ["search=%20-%20", "search", "out_of_range"],
    [`search=${"a".repeat(65)}`, "search", "out_of_range"],
    ["search=ana&limit=26", "limit", "too_big"],
    ["search=ana&status=active", "status", "not_allowed"],
    ["search=ana&country=DE", "country", "not_allowed"],
    ["search=ana&email=a@b.co", "email", "not_allowed"],
    ["search=ana&sort=created_at", "sort", "not_allowed"],
    ["search=ana&cursor=abc", "cursor", "not_allowed"],
    ["search=ana&tag=a", "tag", "not_allowed"],
  ])("is refused as %s", async (query, parameter, code) => {
    const { status, body } = await api.call(caller, "GET", `/clients?${query}`);
    expect([status, body.code, body.errors]).toMatchObject([400, "invalid_parameter", [{ parameter, code }]]);
  });

  it("leaves its text in no log, found or refused", async () => {
    vi.stubEnv("POWERTOOLS_LOG_LEVEL", "INFO");
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    try {
      await api.call(caller, "POST", "/clients", { body: clientRequest({ first_name: "Quintessa" }) });
      await searchOf(caller, "quintessa");
      await searchOf(caller, "quintessa", 26);
      const lines = write.mock.calls.map(([line]) => String(line));
      expect(lines.filter((line) => line.includes("list_clients")).length).toBe(2);
      expect(lines.filter((line) => /quintessa/i.test(line))).toEqual([]);
    } finally {
      write.mockRestore();
      vi.unstubAllEnvs();
    }
  });
});
