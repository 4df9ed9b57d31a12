import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Position } from "../domain/records/position.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import type { ShownHoldings } from "../domain/trading/live.ts";
import type { Holdings } from "../domain/trading/margin.ts";
import { isWhole, type WatchedState } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { accounts, balances, type Key, positions, risks } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { type Load, type Ref, readEach, readKeys, ref } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { backoffMs } from "../table/transact.ts";
import { tradingRef } from "./items.ts";

/** Further items that a decision asks for, by a name of its own. */
export type Refs = Readonly<Record<string, Ref<unknown>>>;
/** The items of these references; undefined where there is none. */
export type Found<X extends Refs> = {
  readonly [K in keyof X]: NonNullable<X[K]> extends Ref<infer T> ? T | undefined : never;
};

/** How decisions read: from the table, or from what was read for several of them together. */
export interface Reads {
  readonly load: Load;
  /** Items by key, in the order of the keys. */
  readonly items: (keys: readonly Key[]) => Promise<readonly unknown[]>;
  /** The open positions of an account as they are stored, oldest trade first. */
  readonly positionsOf: (tenant: string, accountId: string) => Promise<readonly Position[]>;
  /** Times that an account is read before its items must be of one moment. */
  readonly tries: number;
  /** Whether they see changes that are decided but not committed: what is queried of the table lacks them. */
  readonly uncommitted: boolean;
}

/** Reads of the table itself, the first of them by the load of a command. */
export function readsOf(load: Load): Reads {
  return { load, items: readKeys, positionsOf, tries: limits.commit.decision_tries, uncommitted: false };
}

/** An account with its money, its risk and its positions of one moment, and what was read with them. */
interface Holder<X extends Refs> {
  readonly state: WatchedState;
  readonly found: Found<X>;
}

/** The items of an account that were read just now, and what was read with them. */
export interface Own<X extends Refs = Record<never, never>> {
  readonly account: Account | undefined;
  readonly balance: Balance | undefined;
  readonly risk: StoredRisk | undefined;
  readonly found: Found<X>;
}

/**
 * Reads an account until its items are of one moment: DynamoDB may show a transaction on one item before it shows it on
 * another.
 * @throws Unavailable when so many tries do not see them so
 */
async function readWhole<S extends { readonly state: WatchedState }>(
  accountId: string,
  tries: number,
  read: (attempt: number) => Promise<S | undefined>,
): Promise<S | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const seen = await read(attempt);
    if (seen === undefined || isWhole(seen.state)) return seen;
    if (attempt === tries) throw new Unavailable(`The positions of ${accountId} do not add up.`);
    await pause(backoffMs(attempt));
  }
}

/**
 * An account for a decision, with what else it asks for. Items that are `given` were read strongly consistent for the
 * same decision, and are not read again where they fit.
 */
export function readHolder<X extends Refs>(
  reads: Reads,
  tenant: string,
  accountId: string,
  refs: X,
  given?: Own<X>,
): Promise<Holder<X> | undefined> {
  return readWhole(accountId, reads.tries, async (attempt) => {
    const [{ found, account, balance, risk }, positions] = await Promise.all([
      (attempt === 1 ? given : undefined) ?? readOwn(reads.load, accountId, refs),
      reads.positionsOf(tenant, accountId),
    ]);
    return account && balance && { state: { account, balance, risk, positions }, found };
  });
}

/** The account's own items with the others that are asked for, in one read. */
async function readOwn<X extends Refs>(load: Load, accountId: string, refs: X): Promise<Own<X>> {
  const own = {
    own_account: ref.account(accountId),
    own_balance: ref.balance(accountId),
    own_risk: tradingRef.risk(accountId),
  };
  const { own_account, own_balance, own_risk, ...found } = await load({ ...(refs as Refs), ...own });
  return {
    found: found as Found<X>,
    account: own_account as Account | undefined,
    balance: own_balance as Balance | undefined,
    risk: own_risk as StoredRisk | undefined,
  };
}

/**
 * An account with its money and its open positions, in one consistent read of its partition. Undefined when there is no
 * such account.
 */
export async function readHoldings(tenant: string, accountId: string): Promise<ShownHoldings | undefined> {
  const seen = await readWhole(accountId, limits.commit.decision_tries, async () => {
    const items = await readPartition(positions.partition(tenant, accountId));
    const of = <T>(et: string) => items.filter((item) => item["et"] === et).map((item) => readItem<T>(item));
    const [[account], [balance], [risk]] = [
      of<Account>(accounts.et),
      of<Balance>(balances.et),
      of<StoredRisk>(risks.et),
    ];
    return account && balance && { state: { account, balance, risk, positions: of<Position>(positions.et) } };
  });
  if (seen === undefined) return undefined;
  const { risk, ...holdings } = seen.state;
  return risk?.requested === undefined ? holdings : { ...holdings, liquidation: "requested" };
}

/** An account with its money, as lists read them. */
export type ListedAccount = readonly [account: Account, balance: Balance];

/**
 * Accounts with their money and their open positions, by their identifiers; those that do not exist are left out. In
 * the place of one of which anything cannot be read is the error that says so.
 */
export async function readAccounts(
  tenant: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Holdings | UnreadableItem>> {
  const found = await readListedAccounts(tenant, ids, true);
  const there = ids.flatMap((id, place) => {
    const held = found[place];
    return held === undefined ? [] : [{ id, held }];
  });
  const holdings = await withPositions(
    tenant,
    there.map(({ held }) => held),
    true,
  );
  return new Map(there.map(({ id }, place) => [id, holdings[place] as Holdings | UnreadableItem]));
}

/** Accounts with their money, in the order of their identifiers. */
export async function readListedAccounts(tenant: string, ids: readonly string[], consistent = false) {
  const keys = ids.flatMap((id) => [accounts.key(tenant, id), balances.key(tenant, id)]);
  return wholeGroups<[Account, Balance]>(await readEach(keys, { consistent }), 2);
}

/** Items that were read in groups: a group that lacks one is undefined, one that cannot be read its error. */
export function wholeGroups<G extends readonly unknown[]>(
  found: readonly unknown[],
  size: number,
): (G | UnreadableItem | undefined)[] {
  const groups = Array.from({ length: found.length / size }, (_, at) => found.slice(at * size, (at + 1) * size));
  return groups.map((group) => {
    const unreadable = group.find((item) => item instanceof UnreadableItem);
    return unreadable ?? (group.includes(undefined) ? undefined : (group as unknown as G));
  });
}

/**
 * Accounts together with their open positions: one query for each account that has any, concurrently. An account that
 * changed after it was read here is read once more as a whole, with its positions. One of which a position cannot be
 * read is not valued without it: it is the error that says so.
 */
export async function withPositions(
  tenant: string,
  held: readonly (ListedAccount | UnreadableItem)[],
  consistent = false,
): Promise<readonly (Holdings | UnreadableItem)[]> {
  const found: (Holdings | UnreadableItem)[] = [];
  await inParallel(limits.page.queries_at_once, [...held.entries()], async ([place, each]) => {
    const own = each instanceof UnreadableItem ? each : unlessUnreadable(holdingsOf(tenant, each, consistent));
    found[place] = await own;
  });
  return found;
}

/** An account that was read just now with its positions; all of it is read once more where it changed since then. */
export async function holdingsOf(
  tenant: string,
  [account, balance]: ListedAccount,
  consistent = true,
): Promise<Holdings> {
  if (balance.positions === 0) return { account, balance, positions: [] };
  const seen = { account, balance, positions: await positionsOf(tenant, account.id, consistent) };
  return isWhole({ ...seen, risk: undefined }) ? seen : ((await readHoldings(tenant, account.id)) ?? seen);
}

/** The attributes of a position without the keys of its five indexes, which are half of its item, and its facets. */
const positionAttributes = Object.keys({
  ...{ id: true, tenant_id: true, account_id: true, client_id: true, account_type: true, trade_id: true },
  ...{ source: true, symbol: true, side: true, lots: true, open_price: true, currency: true },
  ...{ swap_minor: true, swap_through: true },
  ...{ margin_ratio: true, margin_terms: true, pos_version: true, stop_loss: true, take_profit: true },
  ...{ source_position_id: true, feed_seq: true, opened_at: true, updated_at: true, version: true },
} satisfies Record<keyof Position, true>);

/** The open positions of an account as they are stored, oldest trade first, strongly consistent by default. */
export async function positionsOf(tenant: string, accountId: string, consistent = true): Promise<readonly Position[]> {
  const options = { prefix: positions.prefix, consistent, attributes: ["pk", "sk", "et", "v", ...positionAttributes] };
  return (await readPartition(positions.partition(tenant, accountId), options)).map((item) => readItem<Position>(item));
}
