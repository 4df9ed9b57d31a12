import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { startApi, type TestAnswer } from "../support/emulator/api.ts";
import { readStream } from "../support/emulator/raw-table.ts";
import { newCaller } from "../support/emulator/request.ts";

const api = await startApi("stream");
afterAll(api.stop);

const caller = newCaller();
const broker = brokerage(api, caller);
const base = "https://api.test.example/v2";

// biome-ignore lint/suspicious/noExplicitAny: items of eight lists are looked at by the names of their members.
type Item = any;

const countries = ["PT", "DE", "FR"];
const statuses = ["pending", "approved", "processing", "completed", "rejected", "cancelled", "failed", "returned"];
const paths: Readonly<Record<string, readonly string[]>> = {
  pending: [],
  approved: ["approved"],
  processing: ["approved", "processing"],
  completed: ["completed"],
  rejected: ["rejected"],
  cancelled: ["approved", "cancelled"],
  failed: ["processing", "failed"],
  returned: ["completed", "returned"],
};
const methods = ["bank_transfer", "card", "crypto", "other"];

const patch = async (address: string, body: object) => {
  const { status, text } = await api.call(caller, "PATCH", address, { body });
  expect([address, status, text]).toEqual([address, 200, text]);
};

async function loadClients(): Promise<Item[]> {
  const clients: Item[] = [];
  for (let index = 0; index < 24; index += 1) {
    const client = await broker.client({
      ...(index % 4 === 3 ? {} : { country: countries[index % 3], date_of_birth: "1990-01-01" }),
      ...(index % 5 === 0 ? { external_id: index === 0 ? "null" : `crm,${index}` } : {}),
      tags: ["vip", "a,b", "new"].slice(0, index % 4),
    });
    clients.push(client);
    const verification = ["unverified", "verified", "pending"][index % 3];
    if (index % 4 !== 3) await patch(`/clients/${client.id}`, { verification_status: verification });
    if (index === 7) {
      const rejected = { verification_status: "rejected", verification: { rejection_reasons: ["pep"] } };
      await patch(`/clients/${client.id}`, { verification_status: "verified" });
      await patch(`/clients/${client.id}`, rejected);
    }
    if (index >= 20) await patch(`/clients/${client.id}`, { status: index % 2 === 0 ? "suspended" : "closed" });
  }
  return clients;
}

async function loadAccounts(clients: readonly Item[]): Promise<Item[]> {
  const accounts: Item[] = [];
  for (let index = 0; index < 26; index += 1) {
    const { status, body } = await api.call(caller, "POST", "/accounts", {
      body: {
        client_id: clients[index < 14 ? 0 : index % 6].id,
        type: index % 3 === 0 ? "demo" : "live",
        currency: ["USD", "EUR", "JPY"][index % 3],
        ...(index % 4 === 0 ? { group_id: "vip,gold" } : {}),
        ...(index % 5 === 0 ? { platform: "mt5", platform_login: index === 0 ? "null" : `login-${index}` } : {}),
      },
    });
    expect(status).toBe(201);
    accounts.push(body);
    if (index < 8) continue;
    if (index % 4 === 1) await patch(`/accounts/${body.id}`, { status: "disabled" });
    if (index % 8 === 1) await patch(`/accounts/${body.id}`, { status: "closed" });
  }
  return accounts;
}

/** Whether every query is sorted both ways and walked in more pages, over more items. */
const thorough = process.env["FILTER_SORTS"] === "both";
const size = thorough
  ? { transactions: 120, pages: 5, shortest: 7 }
  : // Six of each status: pages of four, so that what a filter finds has more than one.
    { transactions: 48, pages: 3, shortest: 4 };

async function loadTransactions(accounts: readonly Item[]): Promise<void> {
  for (const account of accounts.slice(0, 6)) await broker.deposit(account, "1000", { status: "completed" });
  for (let index = 0; index < size.transactions; index += 1) {
    const account = accounts[index < size.transactions * 0.6 ? 0 : index % 6];
    const kind = index % 3 === 0 ? "withdrawal" : "deposit";
    const made = await broker[kind](account, "2", {
      method: methods[index % 4],
      ...(index % 10 === 0 ? { external_id: index === 0 ? "null" : `order,${index}` } : {}),
      ...(index % 7 === 0 ? { provider: `psp-${index % 2}`, provider_reference: `r-${index - (index % 14)}` } : {}),
    });
    for (const status of paths[statuses[Math.floor(index / 3) % 8] ?? ""] ?? []) {
      const { status: answer, text } = await broker.move(made, status);
      expect([answer, text]).toEqual([200, text]);
    }
  }
}

/** Publishes everything that waits, as the stream would bring it. */
async function publishAll(): Promise<void> {
  const { publishDirectly } = await import("../support/emulator/publishing.ts");
  const records = (await readStream(api.emulator)).filter(
    ({ dynamodb: { NewImage: image } }) => image?.["et"]?.S === "OUTBOX",
  );
  expect(await publishDirectly(records)).toBe(0);
}

/** How one list is filtered and sorted when it is done by hand. */
interface List {
  readonly id: string;
  readonly orderOf: (item: Item) => number | string;
  /** Value of an item for a filter; the member of its own name by default. */
  readonly looksAt?: Readonly<Record<string, (item: Item) => unknown>>;
}

const lists: readonly List[] = [
  { id: "list_clients", orderOf: ({ id }) => id, looksAt: { tag: ({ tags }) => tags } },
  { id: "list_accounts", orderOf: ({ id }) => id },
  { id: "list_client_accounts", orderOf: ({ id }) => id },
  { id: "list_transactions", orderOf: ({ id }) => id },
  { id: "list_account_transactions", orderOf: ({ id }) => id },
  { id: "list_client_transactions", orderOf: ({ id }) => id },
  { id: "list_ledger", orderOf: ({ balance_version }) => balance_version },
  {
    id: "list_events",
    orderOf: ({ sequence }) => Number(sequence),
    looksAt: {
      resource_id: ({ resource }) => resource.id,
      account_id: ({ resource, data }) => (resource.type === "account" ? resource.id : data.object.account_id),
      client_id: ({ resource, data }) => (resource.type === "client" ? resource.id : data.object.client_id),
    },
  },
];

/** Filters that take several words; the others take one text, commas and all. */
const sets = new Set(["status", "verification_status", "type", "currency", "kind", "method", "margin_status"]);

/** A bound of a range: `created_from`. */
const bound = /^(\w+)_(from|to)$/;

type Query = Readonly<Record<string, string>>;

function meets(list: List, item: Item, query: Query): boolean {
  return Object.entries(query).every(([name, wanted]) => {
    const [, member = "", end] = bound.exec(name) ?? [];
    // An item without such a moment is in no range.
    const at = Date.parse(item[`${member}_at`]);
    if (end === "from") return at >= Date.parse(wanted);
    if (end === "to") return at < Date.parse(wanted);
    if (name === "after_sequence") return Number(item.sequence) > Number(wanted);
    const value = list.looksAt?.[name]?.(item) ?? item[name];
    const words = sets.has(name) ? wanted.split(",") : [wanted];
    return words.some((word) => (Array.isArray(value) ? value.includes(word) : value === word));
  });
}

/** Values for a filter: what occurs, capped, two together where several are taken, and one that finds nothing. */
function valuesFor(list: List, name: string, all: readonly Item[]): string[] {
  if (name === "after_sequence") return ["0", String(Math.floor(all.length / 2)), String(all.length + 5)];
  const found = all.flatMap((item) => list.looksAt?.[name]?.(item) ?? item[name] ?? []);
  const counts = new Map<string, number>();
  for (const value of found) counts.set(value, (counts.get(value) ?? 0) + 1);
  const distinct = [...counts].toSorted(([, a], [, b]) => b - a).map(([value]) => value);
  const some = sets.has(name) ? distinct : [...distinct.slice(0, 3), ...distinct.slice(-1)];
  const [first, ...others] = distinct;
  return [
    ...new Set(some),
    ...(sets.has(name) && others.length > 0 ? [`${first},${others.at(-1)}`, `${others[0]},${first},${first}`] : []),
    ...(["external_id", "provider_reference", "platform_login", "group_id", "tag"].includes(name) ? ["null"] : []),
  ];
}

const generic = new Set(["limit", "cursor", "sort", "created_from", "created_to"]);

/** Ranges of a moment that begin and end at the very moment of an item. */
function rangesOf(member: string, all: readonly Item[]): Query[] {
  const moments = all.flatMap((item) => (item[`${member}_at`] as string | null) ?? []).toSorted();
  const at = (share: number) => moments[Math.floor((moments.length - 1) * share)] ?? "";
  const elsewhere = `${new Date(Date.parse(at(0.5)) + 3_600_000).toISOString().slice(0, -1)}+01:00`;
  const range = (from?: string, to?: string): Query => ({
    ...(from === undefined ? {} : { [`${member}_from`]: from }),
    ...(to === undefined ? {} : { [`${member}_to`]: to }),
  });
  return [
    range(at(0.5)),
    range(undefined, at(0.5)),
    range(elsewhere),
    range(at(0.25), at(0.75)),
    range(at(0.75), at(0.25)),
    range(at(0.5), at(0.5)),
    range("1960-01-01T00:00:00Z", "2999-01-01T00:00:00Z"),
  ];
}

/** Every filter by itself, ranges of each moment, and combinations of them. */
function queriesOf(list: List, names: readonly string[], all: readonly Item[]): Query[] {
  const filters = names.filter((name) => !generic.has(name) && !bound.test(name));
  const members = [...new Set(names.flatMap((name) => bound.exec(name)?.[1] ?? []))];
  const single = filters.flatMap((name) => valuesFor(list, name, all).map((value) => ({ [name]: value })));
  const ranges = members.flatMap((member) => rangesOf(member, all));
  const pick = <T>(from: readonly T[], index: number): T[] => from.slice(index % from.length).slice(0, 1);
  const mixed = Array.from({ length: 8 }, (_, index) => [
    ...pick(single, index * 5),
    ...pick(single, index * 7 + 3),
    ...(index % 2 === 0 ? pick(ranges, index / 2) : []),
  ]).map((parts) => Object.assign({}, ...parts) as Query);
  return [...single, ...ranges, ...mixed];
}

function linkOf(answer: TestAnswer, relation: string): string | undefined {
  return answer.body._links[relation]?.href.slice(base.length);
}

let calls = 0;

async function page(address: string): Promise<TestAnswer> {
  calls += 1;
  const answer = await api.call(caller, "GET", address);
  expect([address, answer.status]).toEqual([address, 200]);
  return answer;
}

/** The pages from one on, along one relation. */
async function walk(address: string, relation: "next" | "prev"): Promise<TestAnswer[]> {
  const pages: TestAnswer[] = [];
  for (let at: string | undefined = address; at !== undefined; ) {
    expect(pages.length).toBeLessThan(300);
    const found: TestAnswer = await page(at);
    pages.push(found);
    at = linkOf(found, relation);
  }
  return pages;
}

const itemsOf = (pages: readonly TestAnswer[]): Item[] => pages.flatMap(({ body }) => body.data);

function addressFor(path: string, query: Query): string {
  return `${path}?${new URLSearchParams(query)}`;
}

const place: Record<string, string> = {};

beforeAll(async () => {
  const clients = await loadClients();
  const accounts = await loadAccounts(clients);
  await loadTransactions(accounts);
  await publishAll();
  place["clients"] = clients[0].id;
  place["accounts"] = accounts[0].id;
});

describe.each(lists.map((list) => [list.id, list] as const))("every filter and sort of %s", (_, list) => {
  const row = routes.find(({ id }) => id === list.id);
  const parameters = Object.keys((row?.query as unknown as { shape?: object })?.shape ?? {});

  it("is the full list filtered and sorted by hand, walked forward and back, each item once", async () => {
    const path = (row?.path ?? "").replace("{id}", place[row?.path.split("/")[1] ?? ""] ?? "");
    const all = itemsOf(await walk(`${path}?limit=100`, "next"));
    expect(all.length).toBeGreaterThan(12);
    expect(parameters).toEqual(expect.arrayContaining([...generic]));
    const order = list.orderOf;
    const upward = all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
    const name = { list_ledger: "balance_version", list_events: "sequence" }[list.id] ?? "created_at";
    const before = calls;
    const queries = queriesOf(list, parameters, all);
    for (const [index, query] of [{}, {}, ...queries].entries()) {
      // A walk goes there and back, so that each query reads the index both ways, whichever way it begins.
      for (const sort of thorough ? [name, `-${name}`] : [index % 2 === 0 ? name : `-${name}`]) {
        const sorted = sort === name ? upward : upward.toReversed();
        const expected = sorted.filter((item) => meets(list, item, query)).map(order);
        // A first, a middle and a last page show what a page can do wrong; dozens of them would only take long.
        const limit = String(Math.min(100, Math.max(size.shortest, Math.ceil(expected.length / size.pages))));
        const address = addressFor(path, { ...query, sort, limit });
        const pages = await walk(address, "next");
        expect([address, itemsOf(pages).map(order)]).toEqual([address, expected]);
        const last = pages.at(-1);
        const back = last === undefined ? undefined : linkOf(last, "prev");
        const returning = back === undefined ? [] : (await walk(back, "prev")).toReversed();
        const seen = itemsOf([...returning, ...pages.slice(-1)]).map(order);
        expect([`back over ${address}`, seen]).toEqual([`back over ${address}`, expected]);
      }
    }
    console.log(`${list.id}: ${all.length} items, ${queries.length} queries, ${calls - before} pages`);
  }, 120_000);
});
