import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, type ApiReply, fundedAccount, someClient } from "../support/stack/api-client.ts";
import type { Application } from "../support/stack/application.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

/** How many transactions the walk goes over; the long form is `WALK_TRANSACTIONS=1000`. */
const count = Number(process.env["WALK_TRANSACTIONS"] ?? 36);
/** Applications of one brokerage that write side by side, because each may do 50 requests a second. */
const writers = 4;

interface Listed {
  readonly data: readonly { readonly id: string }[];
  readonly _links: { readonly next?: { readonly href: string }; readonly prev?: { readonly href: string } };
}

let stack: Stack;
let others: readonly Application[];
beforeAll(async () => {
  stack = await sharedStack();
  others = await Promise.all(
    Array.from({ length: writers }, () => stack.newApplication({ tenant_id: stack.tenant_id })),
  );
});
afterAll(async () => stack?.stop());

async function deposit(api: ApiClient, account_id: string): Promise<string> {
  const reply = await api.call<{ id: string }>("POST", "/transactions/deposit", {
    body: { account_id, amount: "1.00" },
  });
  expect(reply.status).toBe(201);
  return reply.body.id;
}

async function page(path: string, api: ApiClient = stack.api): Promise<Listed> {
  const reply = await api.call<Listed>("GET", path);
  expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, expect.stringContaining("list")]);
  return reply.body;
}

/** The pages of a list from here on, by their own links. */
async function pagesFrom(path: string, way: "next" | "prev"): Promise<Listed[]> {
  const pages = [await page(path)];
  for (let link = pages[0]?._links[way]; link !== undefined; link = pages.at(-1)?._links[way]) {
    pages.push(await page(link.href.slice(stack.baseUrl.length)));
  }
  return pages;
}

const idsOf = (pages: readonly Listed[]) => pages.flatMap(({ data }) => data.map(({ id }) => id));

describe("walking a list while others write into it", () => {
  it(
    `shows each of ${count} transactions once and in order, and the same backwards`,
    async () => {
      const accounts = await Promise.all(others.map(({ api }) => fundedAccount(api, "1.00")));
      const share = Array.from({ length: Math.ceil(count / writers) });
      const written = await Promise.all(
        others.map(async ({ api }, index) => {
          const made: string[] = [];
          for (const _ of share) made.push(await deposit(api, accounts[index]?.account_id ?? ""));
          return made;
        }),
      );
      const known = written.flat();
      // New items may be missing from a list that begins now: the index lags.
      const newest = known.toSorted().at(-1) ?? "";
      await eventually(async () => (idsOf([await page("/transactions?limit=1")])[0] ?? "") >= newest || undefined);
      const writing = { on: true, made: [] as string[] };
      const meanwhile = others.slice(1).map(async ({ api }, index) => {
        while (writing.on) writing.made.push(await deposit(api, accounts[index]?.account_id ?? ""));
      });
      const size = Math.max(7, Math.floor(count / 25));
      for (const [sort, sorted] of [
        ["-created_at", (ids: readonly string[]) => ids.toSorted().toReversed()],
        ["created_at", (ids: readonly string[]) => ids.toSorted()],
      ] as const) {
        const forth = await pagesFrom(`/transactions?limit=${size}&sort=${sort}`, "next");
        const seen = idsOf(forth);
        expect(seen).toEqual(sorted(seen));
        expect(new Set(seen).size).toBe(seen.length);
        expect(known.filter((id) => !seen.includes(id))).toEqual([]);
        const last = forth.at(-1)?._links.prev?.href.slice(stack.baseUrl.length) ?? "";
        const back = (await pagesFrom(last, "prev")).toReversed();
        const again = [...idsOf(back), ...idsOf(forth.slice(-1))];
        expect(again).toEqual(sorted(again));
        expect(new Set(again).size).toBe(again.length);
        expect(seen.filter((id) => !again.includes(id))).toEqual([]);
      }
      writing.on = false;
      await Promise.all(meanwhile);
      expect(writing.made.length).toBeGreaterThan(0);
    },
    60_000 + 300 * count,
  );
});

describe("a cursor", () => {
  /** The cursor behind the first transaction of a brokerage that has more; the index of the list may lag. */
  const cursorBehindFirst = (api: ApiClient) =>
    eventually(async () => {
      const { _links } = await page("/transactions?limit=1", api);
      return _links.next && (new URL(_links.next.href).searchParams.get("cursor") ?? "");
    });

  it("of another brokerage moves within the caller's own list only", async () => {
    const stranger = await stack.newApplication();
    const foreign = await fundedAccount(stranger.api, "1.00");
    const own = await fundedAccount(stack.api, "1.00");
    for (let index = 0; index < 3; index += 1) {
      await deposit(stranger.api, foreign.account_id);
      await deposit(stack.api, own.account_id);
    }
    const cursor = await cursorBehindFirst(stranger.api);
    const ids = await eventually(async () => {
      const listed = idsOf(await pagesFrom(`/transactions?limit=100&cursor=${cursor}`, "next"));
      return listed.length > 0 ? listed : undefined;
    });
    const theirs = idsOf([await page("/transactions?limit=100", stranger.api)]);
    expect(ids.filter((id) => theirs.includes(id))).toEqual([]);
  });

  it("that was made for other filters, for another list or by hand is refused", async () => {
    const { account_id } = await fundedAccount(stack.api, "1.00");
    await deposit(stack.api, account_id);
    const cursor = await cursorBehindFirst(stack.api);
    const forged = Buffer.from(JSON.stringify({ pk: "brk_X", sk: "TXN" })).toString("base64url");
    for (const path of [
      `/transactions?limit=1&status=pending&cursor=${cursor}`,
      `/transactions?limit=1&sort=created_at&cursor=${cursor}`,
      `/accounts/${account_id}/transactions?limit=1&cursor=${cursor}`,
      `/transactions?limit=1&cursor=${cursor.slice(0, -4)}`,
      `/transactions?limit=1&cursor=${forged}`,
      "/transactions?limit=1&cursor=%00",
    ]) {
      const { status, body } = await stack.api.call("GET", path);
      expect([path, status, body]).toEqual([path, 400, expect.objectContaining({ code: "invalid_cursor" })]);
    }
  });
});

describe("two changes of one client at once", () => {
  const rounds = Array.from({ length: 4 }, (_, index) => index);

  async function raced(headersOf: (etag: string) => Record<string, string>): Promise<[ApiReply[], ApiReply]> {
    const made = await stack.api.call<{ id: string }>("POST", "/clients", { body: someClient() });
    const path = `/clients/${made.body.id}`;
    const headers = headersOf(made.headers.get("etag") ?? "");
    const bodies = [{ metadata: { first: "1" } }, { metadata: { second: "2" } }];
    const replies = await Promise.all(bodies.map((body) => stack.api.call("PATCH", path, { body, headers })));
    return [replies, await stack.api.call("GET", path)];
  }

  it.each(rounds)("with If-Match: one is done, the other receives the version that it met (%i)", async () => {
    const [replies, after] = await raced((etag) => ({ "If-Match": etag }));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const refused = replies.find(({ status }) => status === 412);
    expect(refused?.body).toMatchObject({ code: "precondition_failed" });
    expect(refused?.headers.get("etag")).toBe('"2"');
    expect(Object.keys((after.body as { metadata: object }).metadata)).toHaveLength(1);
  });

  it.each(rounds)("without If-Match: the second is decided again and nothing is lost (%i)", async () => {
    const [replies, after] = await raced(() => ({}));
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(after.body).toMatchObject({ version: 3, metadata: { first: "1", second: "2" } });
  });
});
