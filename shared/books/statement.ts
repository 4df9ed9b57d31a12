import { letterheadOf } from "../domain/access/tenant.ts";
import { clientSummary } from "../domain/accounts/client.ts";
import { canonicalJson } from "../domain/audit/canonical-json.ts";
import { figuresOf, type Period, periodOf } from "../domain/books/statement.ts";
import { formatAmount } from "../domain/kernel/money.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Client } from "../domain/records/client.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import type { Trade } from "../domain/records/trade.ts";
import { daysWithin, refusedRange } from "../http/days.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import type { StatementBody } from "../schema/statement.ts";
import { daysSince } from "../table/book-days.ts";
import { closings, ledgers, trades } from "../table/entities.ts";
import { firstSince, moneyAfter, moneyOf } from "../table/money-at.ts";
import { readPartition } from "../table/partition.ts";
import { findAll, loadItems, readKeys, ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";

interface StatementDays {
  readonly from: string;
  readonly to: string;
}

/**
 * The statement of an account, `withClient` with the name of its client; undefined where there is no such account.
 * @throws HttpProblem `invalid_parameter` for days that have not begun, for too many, and for too many entries
 */
export async function statementOf(
  tenant: string,
  id: string,
  asked: StatementDays,
  withClient: boolean,
): Promise<StatementBody | undefined> {
  daysWithin(asked, limits.statements.max_days);
  const loaded = await loadItems(tenant, { tenant: ref.tenant(), account: ref.account(id), balance: ref.balance(id) });
  const { account, balance } = loaded;
  if (account === undefined || balance === undefined) return undefined;
  const now = nowIso();
  const { days } = await daysSince(tenant, new Date(Date.parse(asked.from) - 3 * 86_400_000).toISOString());
  const begun = days.until(now);
  const period = periodOf(begun, asked);
  if (period === undefined) throw refusedRange("from", "names a day that has not begun");
  const last = begun.findLast(({ day }) => day <= asked.to);
  // Read before the entries: what is closed has them all.
  const [closed] = last === undefined ? [true] : await readKeys([closings.key(tenant, last.day)]);
  const { opening, entries } = await entriesOf(balance, period);
  if (entries.length > limits.statements.max_entries) throw refusedEntries();
  const figures = figuresOf(account, period, opening, entries);
  const final = closed !== undefined;
  const client = withClient ? (await loadItems(tenant, { client: ref.client(account.client_id) })).client : undefined;
  return {
    object: "statement",
    final,
    content_sha256: sha256(canonicalJson(figures)),
    figures,
    held: final ? null : formatAmount(balance.held_minor, account.currency),
    trades: await tradesOf(tenant, entries),
    account: headOf(account),
    client: client === undefined ? null : { id: client.id, ...addressOf(client) },
    brokerage: letterheadOf(loaded.tenant ?? {}),
    _links: { self: { href: `/v2/accounts/${id}/statement?from=${asked.from}&to=${asked.to}` } },
  };
}

function headOf({ number, type, name, platform, platform_login }: Account) {
  return { number, type, name, platform, platform_login };
}

function addressOf(client: Client) {
  const { line1, line2, city, region, postal_code, country } = client.address ?? {};
  const lines = [line1, line2, [postal_code, city].filter(Boolean).join(" "), region, country];
  return { name: clientSummary(client).name, address: lines.filter((line) => Boolean(line)) as string[] };
}

/** The entries of a period in the order of their times, and the money before them. */
async function entriesOf(balance: Balance, { starts_at, ends_at }: Period) {
  const { tenant_id: tenant, account_id: id, seq, unordered } = balance;
  const isIn = ({ created_at }: Ledger) => starts_at <= created_at && created_at < ends_at;
  // The clock of a machine was ahead once: the order of its entries is not that of their times.
  if (unordered !== undefined) {
    const all = await readEntries(tenant, id, 1, seq);
    const before = all.filter(({ created_at }) => created_at < starts_at);
    const inOrder = all.filter(isIn).toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
    return { opening: moneyOf(before), entries: inOrder };
  }
  const [first = 1, end = 1] = await Promise.all([starts_at, ends_at].map((moment) => firstSince(balance, moment)));
  const found = await readEntries(tenant, id, first - 1, end - 1);
  const entries = found.filter(isIn);
  return { opening: moneyAfter(found.length > entries.length ? found[0] : undefined), entries };
}

/** Entries by their numbers, both included. */
async function readEntries(tenant: string, id: string, from: number, to: number): Promise<readonly Ledger[]> {
  const most = limits.statements.max_entries;
  const found = await readPartition(ledgers.partition(tenant, id), {
    ...{ from: ledgers.sortOf(from), to: ledgers.sortOf(to), max_items: most + 2 },
  });
  // One more is the entry before the first.
  if (found.length > most + 1) throw refusedEntries();
  return found.map((item) => readItem<Ledger>(item));
}

function refusedEntries() {
  return refusedRange("from", `names days with more than ${limits.statements.max_entries} entries: list the ledger`);
}

async function tradesOf(tenant: string, entries: readonly Ledger[]): Promise<StatementBody["trades"]> {
  const ids = [...new Set(entries.flatMap(({ kind, trade_id }) => (kind === "realised_pnl" ? (trade_id ?? []) : [])))];
  const found = await findAll<Trade>(
    trades,
    ids.map((each) => trades.key(tenant, each)),
  );
  return found.map(({ id, symbol, side, lots, open_price, close_price }) => ({
    ...{ id, symbol, side, lots, open_price, close_price },
  }));
}
