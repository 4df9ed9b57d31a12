import type { Account, Balance } from "../domain/account.ts";
import { underChange } from "../domain/trading/leverage-change.ts";
import type { ShownHoldings } from "../domain/trading/live.ts";
import { type Holdings, usedMargin } from "../domain/trading/margin.ts";
import type { Position } from "../domain/trading/position.ts";
import type { StoredRisk } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { accounts, balances, positions, risks } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { readEach } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { backoffMs } from "../table/transact.ts";

/**
 * An account with its money and its open positions, in one consistent read of its partition. Undefined when there is no
 * such account.
 *
 * DynamoDB may show a transaction on one item before it shows it on another, so positions that do not make up the
 * balance's used margin are read again; what is seen last is shown.
 */
export async function readHoldings(tenant: string, accountId: string): Promise<ShownHoldings | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const items = await readPartition(positions.partition(tenant, accountId));
    const of = <T>(et: string) => items.filter((item) => item["et"] === et).map((item) => readItem<T>(item));
    const [account] = of<Account>(accounts.et);
    const [balance] = of<Balance>(balances.et);
    if (account === undefined || balance === undefined) return undefined;
    const [risk] = of<StoredRisk>(risks.et);
    const asked = risk?.requested === undefined ? {} : ({ liquidation: "requested" } as const);
    const seen = { account, balance, positions: underChange(account, of<Position>(positions.et)), ...asked };
    if (isWhole(seen) || attempt === limits.commit.decision_tries) return seen;
    await pause(backoffMs(attempt));
  }
}

/** Whether positions and balance are of the same moment. */
function isWhole({ account, balance, positions: open }: Holdings): boolean {
  return (
    open.length === balance.positions && usedMargin(account.margin_calculation, open) === balance.used_margin_minor
  );
}

/** An account with its money, as lists read them. */
export type Held = readonly [account: Account, balance: Balance];

/**
 * Accounts with their money and their open positions, by their identifiers; those that do not exist are left out. In
 * the place of one of which anything cannot be read is the error that says so.
 */
export async function readAccounts(
  tenant: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Holdings | UnreadableItem>> {
  const found = await readHeld(tenant, ids, true);
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
export async function readHeld(tenant: string, ids: readonly string[], consistent = false) {
  const keys = ids.flatMap((id) => [accounts.key(tenant, id), balances.key(tenant, id)]);
  return whole<[Account, Balance]>(await readEach(keys, { consistent }), 2);
}

/** What was read in groups of so many items: a group that lacks one is undefined, one that cannot be read its error. */
export function whole<G extends readonly unknown[]>(
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
  held: readonly (Held | UnreadableItem)[],
  consistent = false,
): Promise<readonly (Holdings | UnreadableItem)[]> {
  const found: (Holdings | UnreadableItem)[] = [];
  await inParallel(limits.page.queries_at_once, [...held.entries()], async ([place, each]) => {
    const own = each instanceof UnreadableItem ? each : unlessUnreadable(holdingsOf(tenant, each, consistent));
    found[place] = await own;
  });
  return found;
}

async function holdingsOf(tenant: string, [account, balance]: Held, consistent: boolean): Promise<Holdings> {
  if (balance.positions === 0) return { account, balance, positions: [] };
  const seen = { account, balance, positions: underChange(account, await positionsOf(tenant, account.id, consistent)) };
  return isWhole(seen) ? seen : ((await readHoldings(tenant, account.id)) ?? seen);
}

/** What a position is: without the keys of its five indexes, which are half of its item, and its facets. */
const positionAttributes = Object.keys({
  ...{ id: true, tenant_id: true, account_id: true, client_id: true, trade_id: true, source: true, symbol: true },
  ...{ side: true, lots: true, open_price: true, currency: true, swap_minor: true, margin_minor: true },
  ...{ swap_through: true },
  ...{ margin_ratio: true, margin_requirement: true, leverage_version: true, stop_loss: true, take_profit: true },
  ...{ source_position_id: true, feed_seq: true, opened_at: true, updated_at: true, version: true },
} satisfies Record<keyof Position, true>);

/**
 * The open positions of an account as they are stored, oldest trade first, strongly consistent by default.
 * How they are under a change of leverage its account tells: {@link underChange}.
 */
export async function positionsOf(tenant: string, accountId: string, consistent = true): Promise<readonly Position[]> {
  const options = { prefix: positions.prefix, consistent, attributes: ["pk", "sk", "et", "v", ...positionAttributes] };
  return (await readPartition(positions.partition(tenant, accountId), options)).map((item) => readItem<Position>(item));
}
