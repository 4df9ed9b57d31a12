import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { safeParse } from "zod/v4/core";
import { routes } from "../../shared/routes/index.ts";
import { type Cursor, encodeCursor, listFingerprint } from "../../shared/table/cursor.ts";
import type { Page, PageRequest } from "../../shared/table/list.ts";
import { atOnce, brokerage } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);

const base = "https://api.test.example/v2";

/** The address of a link as it is asked for: links are absolute and stay on the configured one. */
function addressOf(answer: TestAnswer, relation: string): string | undefined {
  const href: string | undefined = answer.body._links[relation]?.href;
  expect(href?.startsWith(`${base}/`) ?? true).toBe(true);
  return href?.slice(base.length);
}

async function page(caller: TestCaller, address: string): Promise<TestAnswer> {
  const answer = await api.call(caller, "GET", address);
  expect([address, answer.status]).toEqual([address, 200]);
  return answer;
}

const idsOf = (answer: TestAnswer): string[] => answer.body.data.map((item: { id: string }) => item.id);

/** Follows one relation to its end; `between` runs after each page. */
async function walk(
  caller: TestCaller,
  address: string,
  relation: "next" | "prev",
  between: (page: TestAnswer) => Promise<unknown> = async () => undefined,
): Promise<TestAnswer[]> {
  const pages: TestAnswer[] = [];
  let at: string | undefined = address;
  while (at !== undefined) {
    expect(pages.length).toBeLessThan(200);
    const found: TestAnswer = await page(caller, at);
    pages.push(found);
    await between(found);
    at = addressOf(found, relation);
  }
  return pages;
}

describe("the list of clients", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const made: string[] = [];

  it("walked over 60 clients while others are made shows each once, in order, forward and back", async () => {
    for (let index = 0; index < 60; index += 1) made.push((await broker.client()).id);
    const newest = made.toReversed();
    for (const limit of [7, 20, 25, 60, 100]) {
      const pages = await walk(caller, `/clients?limit=${limit}`, "next", () => broker.client());
      const seen = pages.flatMap(idsOf);
      expect(seen.filter((id) => made.includes(id))).toEqual(newest);
      expect(new Set(seen).size).toBe(seen.length);
      const last = pages.at(-1);
      const lastAddress = last === undefined ? "" : (addressOf(last, "self") ?? "");
      const back = (await walk(caller, lastAddress, "prev", () => broker.client())).toReversed().flatMap(idsOf);
      expect(back.filter((id) => made.includes(id))).toEqual(newest);
      expect(new Set(back).size).toBe(back.length);
    }
  });

  it("from the oldest on shows those that are made meanwhile as well, at the end", async () => {
    const late: string[] = [];
    const pages = await walk(caller, "/clients?sort=created_at&limit=25", "next", async ({ body }) => {
      if (body.page.has_more && late.length < 5) late.push((await broker.client()).id);
    });
    const seen = pages.flatMap(idsOf);
    expect(seen.slice(0, made.length)).toEqual(made);
    expect(seen.slice(-late.length)).toEqual(late);
    expect(seen).toEqual(seen.toSorted());
  });

  it("goes on with another limit, and back by prev to the page it came from", async () => {
    const first = await page(caller, "/clients?sort=created_at&limit=10");
    const second = await page(caller, (addressOf(first, "next") ?? "").replace("limit=10", "limit=5"));
    expect([...idsOf(first), ...idsOf(second)]).toEqual(made.slice(0, 15));
    const again = await page(caller, (addressOf(second, "prev") ?? "").replace("limit=5", "limit=10"));
    expect(idsOf(again)).toEqual(idsOf(first));
    expect(addressOf(again, "prev")).toBeUndefined();
    expect(idsOf(await page(caller, addressOf(second, "first") ?? ""))).toEqual(made.slice(0, 5));
    expect(idsOf(await page(caller, addressOf(second, "self") ?? ""))).toEqual(idsOf(second));
  });

  it("shows every client as its own address does", async () => {
    const { body } = await page(caller, "/clients?limit=3");
    for (const client of body.data) expect(await broker.get(`/clients/${client.id}`)).toEqual(client);
    const row = routes.find(({ id }) => id === "list_clients");
    expect(row && safeParse(row.reply, body).error?.issues).toBeUndefined();
  });

  it("is empty for a tenant that has none, and holds nothing of another", async () => {
    const other = newCaller();
    expect(await page(other, "/clients")).toMatchObject({ body: { data: [], page: { limit: 25, has_more: false } } });
    const own = await brokerage(api, other).client();
    expect(idsOf(await page(other, "/clients?limit=100"))).toEqual([own.id]);
  });

  it("gives another tenant who follows its links only what is that tenant's own", async () => {
    const other = newCaller();
    const own = await brokerage(api, other).client();
    const first = await page(caller, "/clients?limit=2");
    const foreign = await page(other, addressOf(first, "next") ?? "");
    for (const id of idsOf(foreign)) expect(id).toBe(own.id);
  });

  it.each([
    ["limit=0", "invalid_parameter"],
    ["limit=101", "invalid_parameter"],
    ["limit=1&limit=2", "invalid_parameter"],
    ["sort=email", "invalid_parameter"],
    ["cursor=nonsense", "invalid_cursor"],
    ["cursor=", "invalid_parameter"],
    ["page=2", "unknown_parameter"],
  ])("refuses ?%s with %s", async (query, code) => {
    const answer = await api.call(caller, "GET", `/clients?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { code } });
  });

  it("refuses its cursor for another order, and that of another list", async () => {
    const first = await page(caller, "/clients?limit=2");
    const cursor = new URLSearchParams((addressOf(first, "next") ?? "").split("?")[1]).get("cursor") ?? "";
    for (const address of [`/clients?sort=created_at&cursor=${cursor}`, `/accounts?cursor=${cursor}`]) {
      expect(await api.call(caller, "GET", address)).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
    }
    expect((await api.call(caller, "GET", `/clients?limit=9&cursor=${cursor}`)).status).toBe(200);
  });

  it("answers every forged position within the caller's own list, and never with an error", async () => {
    const first = await page(caller, "/clients?limit=2");
    const cursor = new URLSearchParams((addressOf(first, "next") ?? "").split("?")[1]).get("cursor") ?? "";
    const parts = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    const forge = (position: string, way: string) =>
      Buffer.from(JSON.stringify([parts[0], way, position, parts[3]])).toString("base64url");
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[0-9A-Z|]{1,64}$/),
        fc.constantFrom("n", "p", "N", "P"),
        async (position, way) => {
          const answer = await page(caller, `/clients?limit=3&cursor=${forge(position, way)}`);
          for (const item of answer.body.data) expect(item._links.self.href).toBe(`${base}/clients/${item.id}`);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("every list of the brokerage", () => {
  const caller = newCaller();
  const listed = routes.filter(({ query, path }) => {
    const { cursor } = (query as unknown as { readonly shape?: { readonly cursor?: object } })?.shape ?? {};
    return cursor !== undefined && !path.includes("{");
  });

  it("takes any sort key as a place, and answers no error", async () => {
    await brokerage(api, caller).deposit(await brokerage(api, caller).account(), "1.00", { status: "completed" });
    const position = fc.oneof(
      fc
        .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
        .filter((text) => /^[^\p{Cc}\p{Cs}#]{1,128}$/u.test(text)),
      fc.constantFrom("-5", "1e3", "1e300", "Infinity", "NaN", "0x10", "~", "\u{10ffff}", "GER40 (Mar)", " "),
    );
    expect(listed.length).toBeGreaterThan(12);
    for (const { path } of listed) {
      const way = fc.record({ direction: fc.constantFrom("next" as const, "prev" as const), inclusive: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(position, way, async (place, rest) => {
          const cursor = encodeCursor({ ...rest, position: place }, listFingerprint(`/v2${path}`, {}));
          const { status, text } = await api.call(caller, "GET", `${path}?cursor=${cursor}`);
          expect([path, place, status, text]).toEqual([path, place, 200, text]);
        }),
        { numRuns: 12 },
      );
    }
  });
});

describe("the list of accounts", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);

  it("shows every account with its money, once, newest first", async () => {
    const made: string[] = [];
    for (let index = 0; index < 12; index += 1) made.push((await broker.account(`${index + 1}.00`)).id);
    const pages = await walk(caller, "/accounts?limit=5", "next");
    expect(pages.map((each) => each.body.data.length)).toEqual([5, 5, 2]);
    expect(pages.flatMap(idsOf)).toEqual(made.toReversed());
    for (const account of pages.flatMap(({ body }) => body.data)) {
      expect(await broker.get(`/accounts/${account.id}`)).toEqual(account);
    }
  });
});

describe("the accounts of a client", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);

  it("are those of this client alone, once, newest first", async () => {
    const client = await broker.client();
    const made: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      await broker.account();
      const { body } = await api.call(caller, "POST", "/accounts", { body: { client_id: client.id } });
      made.push(body.id);
    }
    const pages = await walk(caller, `/clients/${client.id}/accounts?limit=4`, "next");
    expect(pages.flatMap(idsOf)).toEqual(made.toReversed());
    expect((await page(caller, `/clients/${(await broker.client()).id}/accounts`)).body.data).toEqual([]);
    const foreign = await api.call(newCaller(), "GET", `/clients/${client.id}/accounts`);
    expect(foreign).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});

describe("a list over several partitions of an index", () => {
  it("is their items merged in one order, filtered or not, forward and back, on pages of any size", async () => {
    const { pageOfIndex } = await import("../../shared/table/list.ts");
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const made: { id: string; country: string }[] = [];
    for (let index = 0; index < 36; index += 1) {
      const client = await broker.client({ country: index % 9 === 0 ? "PT" : "DE" });
      made.push(client);
      const verified = { verification_status: "verified" };
      if (index % 3 === 0) await api.call(caller, "PATCH", `/clients/${client.id}`, { body: verified });
    }
    const partitions = ["unverified", "verified", "rejected"].map((state) => `${caller.tenant_id}|CLI|${state}|active`);
    const gather = async (request: Omit<PageRequest, "cursor">, way: "next" | "prev", start?: Cursor) => {
      const pages: string[][] = [];
      let cursor = start;
      let last: Page<{ id: string }> | undefined;
      do {
        last = await pageOfIndex<{ id: string }>("state", partitions, { ...request, cursor });
        pages.push(last.items.map(({ id }) => id));
        cursor = last[way];
        expect(pages.length).toBeLessThan(60);
      } while (cursor !== undefined);
      return { pages, last };
    };
    for (const country of [undefined, "PT"]) {
      const wanted = made.filter((client) => country === undefined || client.country === country).map(({ id }) => id);
      const keep =
        country === undefined ? {} : { keep: (entry: object) => "country" in entry && entry.country === country };
      for (const limit of [1, 5, 36]) {
        for (const descending of [false, true]) {
          const expected = descending ? wanted.toReversed() : wanted;
          const { pages, last } = await gather({ limit, descending, ...keep }, "next");
          expect(pages.flat()).toEqual(expected);
          const end = last?.items.at(-1);
          if (last?.prev === undefined || end === undefined) continue;
          const back = await gather({ limit, descending, ...keep }, "prev", last.prev);
          expect(back.pages.toReversed().flat()).toEqual(expected.slice(0, expected.indexOf(last.items[0]?.id ?? "")));
        }
      }
    }
  });
});

describe("the ledger of an account", () => {
  const caller = newCaller();
  const broker = brokerage(api, caller);

  it("shows every entry once, newest or oldest first, and at once after it was written", async () => {
    const account = await broker.account();
    for (let index = 0; index < 11; index += 1) await broker.deposit(account, "1.00", { status: "completed" });
    const address = `/accounts/${account.id}/ledger`;
    const numbers = async (query: string, relation: "next" | "prev" = "next") =>
      (await walk(caller, `${address}?${query}`, relation)).flatMap(({ body }) =>
        body.data.map((entry: { balance_version: number }) => entry.balance_version),
      );
    const upward = Array.from({ length: 11 }, (_, index) => index + 1);
    expect(await numbers("limit=4")).toEqual(upward.toReversed());
    expect(await numbers("limit=4&sort=balance_version")).toEqual(upward);
    await broker.deposit(account, "1.00", { status: "completed" });
    const { body } = await page(caller, `${address}?limit=1`);
    expect(body.data).toMatchObject([{ balance_version: 12, balance_after: "12.00", currency: "USD" }]);
    const row = routes.find(({ id }) => id === "list_ledger");
    expect(row && safeParse(row.reply, body).error?.issues).toBeUndefined();
  });

  it("of an account without an entry is empty, and of an unknown account is not found", async () => {
    const account = await broker.account();
    expect((await page(caller, `/accounts/${account.id}/ledger`)).body.data).toEqual([]);
    const foreign = await api.call(newCaller(), "GET", `/accounts/${account.id}/ledger`);
    expect(foreign).toMatchObject({ status: 404, body: { code: "not_found" } });
  });
});

describe("many pages at once", () => {
  it("of one list are the same page", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    for (let index = 0; index < 5; index += 1) await broker.client();
    const texts = await atOnce(10, async () => (await page(caller, "/clients?limit=3")).text);
    expect(new Set(texts).size).toBe(1);
  });
});
