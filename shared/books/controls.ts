import { type DayLeg, figuresOfLegs } from "../domain/books/closing.ts";
import {
  type BookedEntry,
  type BookedLeg,
  compareLegs,
  type NetPlace,
  netPlace,
  netsOf,
  plusNets,
} from "../domain/books/controls.ts";
import type { BookRun, BookStep } from "../domain/books/run.ts";
import { controlAccounts } from "../domain/records/ledger.ts";
import { limits } from "../limits.ts";
import { inParallel } from "../runtime/parallel.ts";
import { accounts, contras, ledgers } from "../table/entities.ts";
import { pagesOf } from "../table/partition.ts";
import { readItem } from "../table/table.ts";
import { indexes } from "../table/table-shape.ts";
import { partOf } from "./account.ts";
import { seenEachTime } from "./looks.ts";

const legAttributes = [
  ...["account_id", "amount_minor", "control_account", "created_at", "currency", "demo"],
  ...["ledger_id", "transaction_id"],
];
const entryAttributes = ["id", "account_id", "amount_minor", "created_at", "currency"];

/** One control account in one month: adds its entries to the sums of the ledgers, which they bring to zero. */
export async function sumControlAccount(run: BookRun): Promise<BookStep> {
  const place = Number(run.position ?? 0);
  const month = run.months[Math.floor(place / controlAccounts.length)];
  const control = controlAccounts[place % controlAccounts.length];
  if (month === undefined || control === undefined || run.currencies.length === 0) return { position: null };
  let nets = {};
  let figures = {};
  let count = 0;
  const partitions = run.currencies.flatMap((currency) => contras.partitions(run.tenant_id, control, currency, month));
  await readLegs(partitions, (legs) => {
    nets = plusNets(nets, netsOf(legs, run.months, run.created_at, partOf));
    if (run.closes !== undefined) figures = plusNets(figures, figuresOfLegs(legs, run.closes));
    count += legs.length;
  });
  const last = run.months.length * controlAccounts.length - 1;
  return { position: place === last ? null : String(place + 1), nets, figures, checked: { control_entries: count } };
}

/** One sum that is not zero: compares the entries that it is made of, one by one. */
export async function lookAtPostings(run: BookRun): Promise<BookStep> {
  const names = Object.keys(run.nets ?? {}).toSorted();
  const name = names.find((each) => run.position === null || each > run.position);
  if (name === undefined) return { position: null };
  const differences = await comparePart(run.tenant_id, netPlace(name));
  return { position: name === names.at(-1) ? null : name, differences };
}

async function comparePart(tenant: string, place: NetPlace) {
  const ids = await accountsOf(tenant, place.part);
  let both = await readBoth(tenant, ids, place);
  return seenEachTime(
    () => compareLegs(both.entries, both.legs),
    async () => {
      both = await readBoth(tenant, ids, place);
    },
  );
}

async function accountsOf(tenant: string, part: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { items } of pagesOf(accounts.all(tenant), { index: indexes.list, attributes: ["pk"] })) {
    ids.push(...items.map(({ pk }) => String(pk).slice(tenant.length + 1)).filter((id) => partOf(id) === part));
  }
  return ids;
}

/**
 * Entries and their legs. The entries are read first, so the legs of each are there; a leg of an entry that is newer
 * finds it when the ledger of its account is read again.
 */
async function readBoth(tenant: string, ids: readonly string[], { month, currency, part }: NetPlace) {
  const entries = await readEntries(tenant, ids, month);
  const legs: BookedLeg[] = [];
  for (const control of controlAccounts) {
    await readLegs(contras.partitions(tenant, control, currency, month), (read) => {
      legs.push(...read.filter(({ account_id }) => partOf(account_id) === part));
    });
  }
  const known = new Set(entries.map(({ id }) => id));
  const newer = legs.filter(({ ledger_id }) => ledger_id !== null && !known.has(ledger_id));
  const wanted = new Set(newer.map(({ ledger_id }) => ledger_id));
  const again = await readEntries(tenant, [...new Set(newer.map(({ account_id }) => account_id))], month);
  const all = [...entries, ...again.filter(({ id }) => wanted.has(id))];
  return { entries: all.filter((entry) => entry.currency === currency), legs };
}

async function readEntries(tenant: string, ids: readonly string[], month: string): Promise<readonly BookedEntry[]> {
  const entries: BookedEntry[] = [];
  await inParallel(limits.books.parallel, ids, async (id) => {
    for await (const { items } of pagesOf(ledgers.partition(tenant, id), { attributes: entryAttributes })) {
      const read = items.map((item) => readItem<BookedEntry>(item));
      entries.push(...read.filter(({ created_at }) => created_at.startsWith(month)));
    }
  });
  return entries;
}

async function readLegs(
  partitions: readonly string[],
  take: (legs: readonly (BookedLeg & DayLeg)[]) => void,
): Promise<void> {
  await inParallel(limits.books.partitions_parallel, partitions, async (partition) => {
    for await (const { items } of pagesOf(partition, { attributes: legAttributes })) {
      take(items.map((item) => readItem<BookedLeg & DayLeg>(item)));
    }
  });
}
