import type { CurrencyCode } from "../currencies.ts";
import { addBooked, type BookedSums, compareBooked } from "../domain/books/booked.ts";
import { atZero, type Boundaries, figuresOfAccount, withEntries } from "../domain/books/closing.ts";
import { type Nets, netsOf, plusNets } from "../domain/books/controls.ts";
import type { Difference } from "../domain/books/difference.ts";
import { compareAccount, type LedgerReading, readEntry, unread } from "../domain/books/ledger.ts";
import type { BookRun } from "../domain/books/run.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { spread } from "../table/entities/keys.ts";
import { ledgers, transactions } from "../table/entities.ts";
import { pagesOf } from "../table/partition.ts";
import { findAll, loadItems, ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { withoutEvent } from "./announced.ts";
import { type Compared, nothingCompared } from "./compared.ts";
import { lookAtHolds, transactionKeys } from "./holds.ts";
import { seenEachTime } from "./looks.ts";

/** The part of the accounts that an account is summed with. */
export function partOf(accountId: string): number {
  return spread(accountId, limits.books.net_parts);
}

interface Read {
  readonly account: Account | undefined;
  readonly balance: Balance | undefined;
  readonly reading: LedgerReading;
  readonly nets: Nets;
  /** Its money at the ends of the day that the run closes. */
  readonly boundaries: Boundaries;
  readonly currencies: ReadonlySet<CurrencyCode>;
  /** Entries whose events are kept. */
  readonly recent: readonly Ledger[];
  readonly sums: BookedSums;
}

/** Compares an account with its ledger, its holds and the events of its postings. */
export async function lookAtAccount(run: BookRun, id: string): Promise<Compared> {
  let read = await readAccount(run, id);
  const differences = await seenEachTime(
    () => compareAccount(id, read.account, read.balance, read.reading),
    async () => {
      read = await readAccount(run, id);
    },
  );
  const { account, balance, reading, nets, boundaries, currencies, recent } = read;
  const unannounced = await withoutEvent(run.tenant_id, id, recent);
  // A ledger that does not agree with itself says nothing of transactions.
  const unbooked = differences.length > 0 ? [] : await lookAtBooked(run, id, read);
  const holds = hasHolds(balance) && account !== undefined ? await lookAtHolds(account) : nothingCompared;
  return {
    checked: { ...holds.checked, accounts: account === undefined ? 0 : 1, ledger_entries: reading.entries },
    unsettled: holds.unsettled,
    differences: [...differences, ...unbooked, ...unannounced, ...holds.differences],
    nets,
    figures: account === undefined ? {} : figuresOfAccount(account, boundaries),
    currencies: [...currencies],
  };
}

/**
 * Compares the transactions of an account with the entries that they have. The entries are read first; what a
 * transaction moved meanwhile the next look shows on both.
 */
async function lookAtBooked(run: BookRun, id: string, first: Read): Promise<readonly Difference[]> {
  let { sums } = first;
  let found = await readBooked(run.tenant_id, id, sums);
  return seenEachTime(
    () => compareBooked(id, sums, found),
    async () => {
      ({ sums } = await readAccount(run, id));
      found = await readBooked(run.tenant_id, id, sums);
    },
  );
}

/** The transactions of an account: those of its list, and those that its entries name. */
async function readBooked(tenant: string, id: string, sums: BookedSums): Promise<ReadonlyMap<string, Transaction>> {
  const listed = await transactionKeys(tenant, id);
  const named = [...sums.keys()].map((each) => transactions.key(tenant, each));
  const keys = new Map([...listed, ...named].map((key) => [key.pk, key]));
  const found = await findAll(transactions, [...keys.values()]);
  return new Map(found.map((transaction) => [transaction.id, transaction]));
}

/** Whether an account has holds or open transactions. */
export function hasHolds(balance: Balance | undefined): boolean {
  return balance !== undefined && (balance.held_minor !== 0n || balance.pending !== 0);
}

/**
 * An account with its ledger, of one moment. The ledger is read first, so each of its entries is in the money that is
 * read then, and what that money has more is read last: postings meanwhile make no difference.
 */
async function readAccount(run: BookRun, id: string): Promise<Read> {
  const { tenant_id: tenant } = run;
  const partition = ledgers.partition(tenant, id);
  const since = new Date(nowMs() - (limits.events.kept_seconds - limits.books.event_margin_seconds) * 1000);
  const recent: Ledger[] = [];
  const sums: BookedSums = new Map();
  const currencies = new Set<CurrencyCode>();
  let reading = unread;
  let nets: Nets = {};
  let boundaries = atZero;
  const readOn = async (bounds: { readonly from?: string; readonly to?: string }) => {
    for await (const { items } of pagesOf(partition, bounds)) {
      const entries = items.map((item) => readItem<Ledger>(item));
      for (const entry of entries) {
        reading = readEntry(reading, entry);
        addBooked(sums, entry);
        if (entry.created_at >= since.toISOString()) recent.push(entry);
        if (run.months.includes(entry.created_at.slice(0, 7))) currencies.add(entry.currency);
      }
      nets = plusNets(nets, netsOf(entries, run.months, run.created_at, partOf));
      if (run.closes !== undefined) boundaries = withEntries(boundaries, entries, run.closes);
    }
  };
  await readOn({});
  const { account, balance } = await loadItems(tenant, { account: ref.account(id), balance: ref.balance(id) });
  if (balance !== undefined && balance.seq > reading.last) {
    await readOn({ from: ledgers.sortOf(reading.last + 1), to: ledgers.sortOf(balance.seq) });
  }
  return { account, balance, reading, nets, boundaries, currencies, recent, sums };
}
