import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FeedReject } from "../../shared/domain/records/feed-item.ts";
import { newId } from "../../shared/runtime/ids.ts";
import {
  accounts,
  balances,
  clients,
  eventId,
  events,
  feedRejects,
  type PublishedEvent,
  sequences,
  transactions,
} from "../../shared/table/entities.ts";
import { packText } from "../../shared/table/packed/text.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { putItems, writeOf } from "../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { answerBytes, quotas } from "../support/emulator/item-size.ts";
import { newCaller } from "../support/emulator/request.ts";

const api = await startApi();
afterAll(api.stop);
const { readKeys } = await import("../../shared/table/store.ts");

const caller = newCaller();
const tenant = caller.tenant_id;
const broker = brokerage(api, caller);
const base = "https://api.test.example/v2";

/** As much as is allowed, of the character that JSON escapes, and then the body of the answer once more. */
const quoted = Object.fromEntries([...Array(32)].map((_, at) => [`key${at}`.padEnd(10, "_"), '"'.repeat(500)]));
/** As much as was allowed before metadata had a bound in bytes. */
const wide = Object.fromEntries([...Array(50)].map((_, at) => [`k${at}`, "\u6f22".repeat(500)]));
const metadataOf = (place: number) => (place % 3 === 0 ? wide : quoted);

/** Three pages of each list, the last one with a few items; a page ends after about 60 of them, or 54 rejects. */
const count = 124;
/** As many as two pages have, and fewer than the limit of a page: so many are of one account and one client. */
const owned = 70;
/** Whether each filtered list is walked back as well. Filters are checked both ways in filters.test.ts. */
const thorough = process.env["PAGE_WALKS"] === "both";
const made = {
  clients: [] as string[],
  accounts: [] as string[],
  transactions: [] as string[],
  events: [] as string[],
};
let source = "";
let owner = { id: "", client_id: "" };

beforeAll(async () => {
  const [account, other] = [await broker.account("10.00", { type: "demo" }), await broker.account()];
  const deposit = await broker.deposit(account, "5.00");
  owner = account;
  const [client, template, balance, transaction] = (await readKeys([
    clients.key(tenant, account.client_id),
    accounts.key(tenant, account.id),
    balances.key(tenant, account.id),
    transactions.key(tenant, deposit.id),
  ])) as Record<string, unknown>[];
  source = (await api.call(caller, "POST", "/feed/sources", { body: { name: "mt5:pages", platform: "mt5" } })).body.id;
  made.clients.push(account.client_id, other.client_id);
  made.accounts.push(account.id, other.id);
  made.transactions.push((await broker.get("/transactions")).data.at(-1).id, deposit.id);
  for (let place = 0; place < count; place += 1) {
    made.clients.push(newId("cli"));
    made.accounts.push(newId("acc"));
    made.transactions.push(newId("txn"));
    made.events.push(eventId(Date.now(), newId("evt"), place + 1));
  }
  // Identifiers of one millisecond are in no order.
  for (const kind of ["clients", "accounts", "transactions"] as const) made[kind].sort();
  const writes: Parameters<typeof putItems>[1][number][] = [];
  for (let place = 0; place < count; place += 1) {
    const metadata = metadataOf(place);
    const { id: account_id, client_id } = place < owned ? account : other;
    const [cli = "", acc = "", txn = ""] = (["clients", "accounts", "transactions"] as const).map(
      (kind) => made[kind][place + 2],
    );
    writes.push(writeOf(api, clients, { ...client, id: cli, metadata } as never));
    writes.push(writeOf(api, accounts, { ...template, id: acc, client_id, metadata } as never));
    writes.push(writeOf(api, balances, { ...balance, account_id: acc } as never));
    writes.push(writeOf(api, transactions, { ...transaction, id: txn, account_id, client_id, metadata } as never));
    const sequence = place + 1;
    const id = made.events[place] ?? "";
    const resource = { type: "account", id: account_id, version: sequence };
    const now = new Date().toISOString();
    const body = {
      ...{ id, object: "event", type: "account.updated", api_version: "v2", created_at: now, timestamp: now },
      ...{ environment: "sandbox", resource, actor: { type: "system", id: "test" }, request_id: null },
      ...{ data: { object: { id: account_id, metadata } }, sequence: String(sequence), _links: {} },
    };
    const event: PublishedEvent = {
      ...{ id, tenant_id: tenant, sequence, type: "account.updated", resource_id: account_id, account_id, client_id },
      ...{ created_at: now, published_at: now, payload: packText(JSON.stringify(body)) },
      expires_at: 4_000_000_000,
    };
    writes.push(writeOf(api, events, event));
    const errors = [...Array(100)].map((_, at) => ({ pointer: `#/${'"'.repeat(99)}${at}`, code: "c", detail: "d" }));
    const reject = {
      ...{ id: String(place + 1), tenant_id: tenant, source_id: source, seq: String(place + 1) },
      ...{ status: "open", code: "item_failed" },
      ...{ item: JSON.stringify({ a: '"'.repeat(8000) }), detail: "", errors, tries: 1 },
      ...{ created_at: now, updated_at: now, version: 1 },
    } as unknown as FeedReject;
    writes.push(writeOf(api, feedRejects, reject));
  }
  await putItems(api, writes);
  const counter = { ...sequences.key(tenant), et: sequences.et, last: count };
  await api.emulator.client.send(new PutItemCommand({ TableName: api.emulator.tableName, Item: marshall(counter) }));
});

const measured = new WeakMap<TestAnswer, number>();

/** Bytes of an answer, which are counted once: a page has megabytes. */
function payload(answer: TestAnswer): number {
  const { status, headers, text } = answer;
  const bytes = measured.get(answer) ?? answerBytes({ statusCode: status, headers, body: text });
  measured.set(answer, bytes);
  return bytes;
}

const idsOf = ({ body }: TestAnswer): string[] =>
  body.data.map((item: { id?: string; seq?: string }) => item.id ?? item.seq);

/** Follows one relation to its end. */
async function walk(address: string, relation: "next" | "prev"): Promise<TestAnswer[]> {
  const pages: TestAnswer[] = [];
  for (let at: string | undefined = address; at !== undefined; ) {
    const answer: TestAnswer = await api.call(caller, "GET", at);
    expect([at, answer.status]).toEqual([at, 200]);
    expect(payload(answer)).toBeLessThanOrEqual(quotas.answer_bytes);
    pages.push(answer);
    expect(pages.length).toBeLessThan(100);
    const href: string | undefined = answer.body._links[relation]?.href;
    expect(answer.body.page.has_more).toBe(answer.body._links.next !== undefined);
    at = href?.slice(base.length);
  }
  return pages;
}

const lists: readonly (readonly [address: string, sort: string, ids: () => readonly string[]])[] = [
  ["/clients?", "created_at", () => made.clients],
  ["/clients?status=active", "created_at", () => made.clients],
  ["/accounts?", "created_at", () => made.accounts],
  ["/accounts?margin_status=normal", "created_at", () => made.accounts],
  ["/accounts?type=demo", "created_at", () => made.accounts.filter((_, at) => at !== 1)],
  ["/transactions?", "created_at", () => made.transactions],
  ["/transactions?status=pending", "created_at", () => made.transactions.slice(1)],
  ["/events?", "sequence", () => made.events],
  ["/events?type=account.updated,stop.out", "sequence", () => made.events],
];

describe("a page of the largest resources", () => {
  it.each(lists)("of %s fits an answer, and the next goes on where it ended: by %s", async (address, sort, ids) => {
    // A filter changes which items a page has, not how it ends: the whole list takes one order, the filtered the other.
    for (const order of [address.endsWith("?") ? sort : `-${sort}`]) {
      const pages = await walk(`${address}&sort=${order}&limit=100`, "next");
      const wanted = order === sort ? ids() : ids().toReversed();
      expect(pages.flatMap(idsOf)).toEqual(wanted);
      expect(pages.length).toBeGreaterThan(2);
      expect(Math.max(...pages.map(payload))).toBeGreaterThan(quotas.answer_bytes / 3);
      if (address.includes("=") && !thorough) continue;
      const last = pages.at(-1)?.body._links.self.href.slice(base.length) as string;
      const back = await walk(last, "prev");
      expect(back.toReversed().flatMap(idsOf)).toEqual(wanted);
    }
  });

  it("of an account, a client and a resource as well", async () => {
    for (const [address, ids] of [
      [`/accounts/${owner.id}/transactions?`, made.transactions.slice(0, owned + 2)],
      [`/clients/${owner.client_id}/transactions?`, made.transactions.slice(0, owned + 2)],
      [`/clients/${owner.client_id}/accounts?`, made.accounts.slice(0, owned + 2).filter((_, at) => at !== 1)],
      [`/events?account_id=${owner.id}`, made.events.slice(0, owned)],
      [`/events?resource_id=${owner.id}`, made.events.slice(0, owned)],
    ] as const) {
      const sort = address.startsWith("/events") ? "sequence" : "created_at";
      const pages = await walk(`${address}&sort=${sort}&limit=100`, "next");
      expect(pages.flatMap(idsOf)).toEqual(ids);
      // Fewer items than the limit: the first page ends with the last item that fits.
      expect(pages.length).toBeGreaterThan(1);
    }
  });

  it("of rejects of a feed as well", async () => {
    const pages = await walk(`/feed/sources/${source}/rejects?limit=100`, "next");
    expect(pages.flatMap(idsOf)).toEqual([...Array(count)].map((_, at) => String(at + 1)));
    expect(pages.length).toBeGreaterThan(2);
  });
});
