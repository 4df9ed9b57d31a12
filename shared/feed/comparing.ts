import { sourceLoginMarker } from "../domain/accounts/open-account.ts";
import { isSettlement, namesAllSettlements } from "../domain/feed/command/settlement.ts";
import {
  type ComparedSnapshot,
  compareAccount,
  type Effect,
  effectOf,
  effectsWith,
  positionKey,
  unnumberedSince,
} from "../domain/feed/drift/compare.ts";
import type { Compared } from "../domain/feed/drift/reconcile.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { PlatformCommand, SettlementCommand } from "../domain/records/command.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import type { Trade } from "../domain/records/trade.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import type { Holdings } from "../domain/trading/margin.ts";
import { limits } from "../limits.ts";
import { sha256 } from "../runtime/digest.ts";
import { inParallel } from "../runtime/parallel.ts";
import { sound, UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import type { SnapshotAccountBody } from "../schema/feed/snapshot.ts";
import { commands, ledgers, trades, transactions, uniques } from "../table/entities.ts";
import { pagesOf } from "../table/partition.ts";
import { findAll, readKeys } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { readAccounts } from "../trading/holdings.ts";
import { unreportedCommandsOf } from "./unjoined-legs.ts";

/** A snapshot whose accounts are compared with ours. */
export interface Comparing {
  readonly tenant_id: string;
  readonly source: FeedSource;
  readonly as_of_seq: string;
  readonly taken_at: string;
}

/** The moment of a snapshot that accounts are compared at. */
export function momentOf({ source, as_of_seq, taken_at }: Comparing): ComparedSnapshot {
  return { source, as_of_seq, unnumbered_since: unnumberedSince({ taken_at }) };
}

/**
 * Compares accounts of a platform with ours, in their order. All are read in common: their logins, their money with the
 * positions of those that have any, and the ledger of those alone that booked something a short time before.
 */
export async function compareAll(
  comparing: Comparing,
  theirs: readonly SnapshotAccountBody[],
): Promise<readonly Compared[]> {
  const { tenant_id: tenant } = comparing;
  const owners = await ownersOf(comparing, theirs);
  const holdings = await readAccounts(tenant, [...new Set(owners.values())]);
  const compared: Compared[] = [];
  await inParallel(limits.snapshots.parallel, theirs, async (account, place) => {
    const id = owners.get(account.platform_login) ?? "";
    const held = holdings.get(id);
    const own = held && (await unlessUnreadable(compareHeld(comparing, held, account)));
    compared[place] = own instanceof UnreadableItem ? uncomparable(account, id) : (own ?? unknownAccount(account));
  });
  return compared;
}

/** The accounts that these logins of a source belong to, linked or of its platform alone. */
async function ownersOf(
  { tenant_id: tenant, source }: Comparing,
  theirs: readonly SnapshotAccountBody[],
): Promise<ReadonlyMap<string, string>> {
  const logins = theirs.map(({ platform_login }) => platform_login);
  const linked = (login: string) => uniques.key(tenant, "platform_login", sourceLoginMarker(source.id, login));
  const unlinked = (login: string) => uniques.key(tenant, "platform_login", JSON.stringify([source.platform, login]));
  const found = new Map<string, string>();
  const note = (names: readonly string[], owners: readonly unknown[]) => {
    for (const [place, login] of names.entries()) {
      const owner = owners[place] as { readonly owner_id: string } | undefined;
      if (owner !== undefined && !found.has(login)) found.set(login, owner.owner_id);
    }
  };
  note(logins, await readKeys(logins.map(linked), false));
  const left = logins.filter((login) => !found.has(login));
  // People look for a login that is reported as unknown: a read that lags behind must not be the reason.
  note([...left, ...left], await readKeys([...left.map(linked), ...left.map(unlinked)]));
  return found;
}

const nothing = { position_id: null, symbol: null, open_price: null } as const;

function unknownAccount({ platform_login, ...theirs }: SnapshotAccountBody): Compared {
  const values = { ours: null, theirs: theirs.balance, ...adoptable(theirs) };
  const difference = { kind: "account_unknown", ...nothing, ...values } as const;
  return {
    ...{ platform_login, account_id: null, client_id: null, balance_seq: null, pos_version: null },
    comparison: { status: "drifting", differences: [difference], left_out: [], uncompared: [] },
    books: false,
    explained_by: [],
    positions: theirs.positions,
  };
}

/** An account of which something cannot be read: nothing is said of it until that is well. */
function uncomparable({ platform_login }: SnapshotAccountBody, account_id: string): Compared {
  return {
    ...{ platform_login, account_id, client_id: null, balance_seq: null, pos_version: null },
    comparison: { status: "moved_on", differences: [], left_out: [], uncompared: [] },
    books: false,
    explained_by: [],
  };
}

/** The parts of an account in a drift that can be adopted; all positions where one commit cannot adopt them. */
function adoptable({ positions, ...money }: Omit<SnapshotAccountBody, "platform_login">) {
  const { length: position_count } = positions;
  if (position_count > limits.trading.max_positions) return {};
  if (position_count <= limits.snapshots.baseline_positions) return { platform_account: { ...money, positions } };
  const first = positions.slice(0, limits.snapshots.baseline_positions);
  const positions_digest = sha256(JSON.stringify(positions));
  return { platform_account: { ...money, positions: first, position_count }, positions_digest };
}

/** An account that a complete snapshot does not contain. */
export function missingAccount({ id, client_id, platform_login, status }: Account): Compared {
  const difference = { kind: "account_missing", ...nothing, ours: status, theirs: null } as const;
  return {
    ...{ platform_login: platform_login ?? "", account_id: id, client_id, balance_seq: null, pos_version: null },
    comparison: { status: "drifting", differences: [difference], left_out: [], uncompared: [] },
    books: false,
    explained_by: [],
  };
}

async function compareHeld(
  comparing: Comparing,
  held: Holdings | UnreadableItem,
  theirs: SnapshotAccountBody,
): Promise<Compared> {
  const { account, balance, positions } = sound(held);
  const moment = momentOf(comparing);
  // Positions of an account that is being adopted are still added.
  const isOpening = account.opening !== undefined;
  const effects = isOpening ? undefined : await effectsOf(comparing, { account, balance, positions }, moment);
  const { balance_minor, credit_minor, seq: balance_seq, pos_version } = balance;
  const about = { account_id: account.id, client_id: account.client_id, balance_seq, pos_version, books: true };
  const shared = { platform_login: theirs.platform_login, ...about, explained_by: [] };
  if (effects === undefined) {
    return {
      ...shared,
      books: false,
      comparison: { status: "moved_on", differences: [], left_out: [], uncompared: [] },
    };
  }
  const ours = { account, balance_minor, credit_minor, positions, effects };
  return { ...shared, comparison: compareAccount(ours, theirs, moment) };
}

/**
 * Bookings of an account since a snapshot, or so shortly before that their items may not have come, and those that a
 * platform is still asked to follow; undefined where they are more than a comparison looks at.
 */
async function effectsOf(
  comparing: Comparing,
  held: Holdings,
  moment: ComparedSnapshot,
): Promise<readonly Effect[] | undefined> {
  const [entries, followed] = await Promise.all([entriesOf(comparing, held, moment), settlementsOf(held.balance)]);
  return entries && effectsWith(entries, followed);
}

/** The newest commands of settlements of an account, and those of older ones that the platform has not reported. */
async function settlementsOf(balance: Balance): Promise<readonly SettlementCommand[]> {
  const { tenant_id: tenant, account_id, settled_by = [] } = balance;
  const newest = settled_by.map(({ command_id }) => command_id);
  const older = namesAllSettlements(balance) ? [] : await unreportedCommandsOf(tenant, account_id);
  const ids = [...new Set([...newest, ...older])];
  const found = await findAll<PlatformCommand>(
    commands,
    ids.map((id) => commands.key(tenant, id)),
  );
  return found.filter(isSettlement);
}

/** The entries of an account that a comparison looks at, each with what it did. */
async function entriesOf(
  { tenant_id: tenant }: Comparing,
  { account, balance }: Holdings,
  { unnumbered_since }: ComparedSnapshot,
): Promise<readonly (readonly [Ledger, Effect])[] | undefined> {
  const skew = limits.snapshots.clock_skew_seconds * 1000;
  const horizon = new Date(Date.parse(unnumbered_since) - skew).toISOString();
  if (balance.seq === 0 || (balance.posted_at ?? balance.updated_at) < horizon) return [];
  const entries: Ledger[] = [];
  const newest = { descending: true, to: ledgers.sortOf(balance.seq), page_size: limits.snapshots.looked_at_entries };
  for await (const { items } of pagesOf(ledgers.partition(tenant, account.id), newest)) {
    const read = items.map((item) => readItem<Ledger>(item));
    entries.push(...read.filter(({ created_at }) => created_at >= horizon));
    if (read.some(({ created_at }) => created_at < horizon)) break;
    if (entries.length >= limits.snapshots.looked_at_entries) return undefined;
  }
  const unnumbered = entries.filter(({ feed_seq }) => feed_seq === undefined);
  const asked = new Set(unnumbered.flatMap(({ transaction_id }) => transaction_id ?? []));
  const closing = new Set(entries.flatMap(({ kind, trade_id }) => (kind === "realised_pnl" ? (trade_id ?? []) : [])));
  const [money, closed] = await Promise.all([
    findAll<Transaction>(
      transactions,
      [...asked].map((id) => transactions.key(tenant, id)),
    ),
    findAll<Trade>(
      trades,
      [...closing].map((id) => trades.key(tenant, id)),
    ),
  ]);
  const transactionOf = new Map(money.map((each) => [each.id, each]));
  const tradeOf = new Map(closed.map((each) => [each.id, each]));
  return entries.map((entry) => {
    const trade = tradeOf.get(entry.trade_id ?? "");
    const key = trade && closedKey(account, trade);
    return [entry, effectOf(entry, transactionOf.get(entry.transaction_id ?? ""), key)];
  });
}

/** The position that a closed trade was; undefined for a part of one, which is still open or closed by another. */
function closedKey({ position_mode }: Account, { id, symbol, source_trade_id, parent_trade_id }: Trade) {
  if (parent_trade_id !== null && position_mode === "hedging") return undefined;
  const named = source_trade_id === null ? {} : { source_position_id: source_trade_id };
  return positionKey(position_mode, { id, symbol, ...named });
}
