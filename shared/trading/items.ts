import { refuseField, type UniqueKind } from "../domain/kernel/decision.ts";
import { type AccountContext, isComplete } from "../domain/money/transaction.ts";
import type { Decision } from "../domain/records/change.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import type { Dedup, FeedReject } from "../domain/records/feed-item.ts";
import type { FeedSource, SourcePulse } from "../domain/records/feed-source.ts";
import type { Order } from "../domain/records/order.ts";
import type { Position } from "../domain/records/position.ts";
import type { Quote } from "../domain/records/quote.ts";
import type { Exposure, StoredRisk } from "../domain/records/risk.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import type { Trade } from "../domain/records/trade.ts";
import type { TradingChange, TradingEntity } from "../domain/records/trading-change.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import {
  commands,
  dedups,
  type Entity,
  exposures,
  feedRejects,
  feedSources,
  orders,
  positions,
  pulses,
  quotes,
  risks,
  symbols,
  trades,
  uniques,
} from "../table/entities.ts";
import { isNew, isStill } from "../table/expression.ts";
import { identityOf, type Load, type Ref, ref } from "../table/store.ts";
import { deleteMember, putMember, putNew, type TransactItem, updateItem, writeOf } from "../table/write.ts";

/** References to what trading stores; apart from the others, because most functions never ask for it. */
export const tradingRef = {
  symbol: (symbol: string): Ref<TradingSymbol> => ({ keyIn: (tenant) => symbols.key(tenant, symbol) }),
  quote: (symbol: string): Ref<Quote> => ({ keyIn: (tenant) => quotes.key(tenant, symbol) }),
  /** The last sign of life of a source, by its name. */
  pulse: (source: string): Ref<SourcePulse> => ({ keyIn: (tenant) => pulses.key(tenant, source) }),
  trade: (id: string): Ref<Trade> => ({ keyIn: (tenant) => trades.key(tenant, id) }),
  position: (accountId: string, id: string): Ref<Position> => ({
    keyIn: (tenant) => positions.key(tenant, accountId, id),
  }),
  order: (id: string): Ref<Order> => ({ keyIn: (tenant) => orders.key(tenant, id) }),
  risk: (accountId: string): Ref<StoredRisk> => ({ keyIn: (tenant) => risks.key(tenant, accountId) }),
  feedSource: (id: string): Ref<FeedSource> => ({ keyIn: (tenant) => feedSources.key(tenant, id) }),
  feedReject: (sourceId: string, id: string): Ref<FeedReject> => ({
    keyIn: (tenant) => feedRejects.key(tenant, sourceId, id),
  }),
  command: (id: string): Ref<PlatformCommand> => ({ keyIn: (tenant) => commands.key(tenant, id) }),
  dedup: (sourceId: string, kind: Dedup["kind"], name: string): Ref<Dedup> => ({
    keyIn: (tenant) => dedups.key(tenant, sourceId, kind, name),
  }),
  /** Owner of a value that belongs to one resource of the tenant. */
  unique: (kind: UniqueKind, value: string): Ref<{ readonly owner_id: string }> => ({
    keyIn: (tenant) => uniques.key(tenant, kind, value),
  }),
};

/** Feed sources by their identifiers. */
export function sourceRefs(ids: readonly string[] | null | undefined): Readonly<Record<string, Ref<FeedSource>>> {
  return Object.fromEntries((ids ?? []).map((id) => [id, tradingRef.feedSource(id)]));
}

/** Commands by their identifiers; nothing is read where there are none. */
export async function loadCommands(
  load: Load,
  ids: readonly string[],
): Promise<readonly (PlatformCommand | undefined)[]> {
  return ids.length === 0
    ? []
    : Object.values(await load(Object.fromEntries(ids.map((id) => [id, tradingRef.command(id)]))));
}

const entities: Readonly<Record<TradingEntity, Entity<never>>> = {
  symbol: symbols,
  trade: trades,
  position: positions,
  order: orders,
  risk: risks,
  feed_source: feedSources,
  feed_reject: feedRejects,
};

/**
 * The changes of a decision, each of another item. An entry that goes to another number of shards may stay where it is:
 * then it is only written, since a transaction does not take a deletion and a write of one key.
 */
export function ofOneItemEach(changes: readonly TradingChange[]): readonly TradingChange[] {
  const identityIn = (entry: Exposure) => identityOf(exposures.keyOf(entry));
  const taken = new Set(changes.flatMap((change) => (change.op === "expose" ? [identityIn(change.entry)] : [])));
  return changes.filter((change) => change.op !== "hide" || !taken.has(identityIn(change.entry)));
}

/** The table's form of one change of a trading decision. */
export function writeTrading(change: TradingChange, tenant: string): TransactItem {
  switch (change.op) {
    case "expose":
      return putMember(exposures, change.entry);
    case "hide":
      return deleteMember(exposures.keyOf(change.entry));
    case "mark":
      return putMark(change.before, change.after);
    case "remove":
      return deleteMember(positions.keyOf(change.before), isStill({ version: change.before.version }));
    case "create":
      return isTrading(change) ? putNew(entityOf(change), change.item) : writeOf(change, tenant);
    case "update":
      return isTrading(change)
        ? updateItem(entityOf<typeof change.before>(change), change.before, change.after, change.require)
        : writeOf(change, tenant);
    default:
      return writeOf(change, tenant);
  }
}

/** Notes what became of an item of a feed. */
function putMark(before: Dedup | undefined, after: Dedup): TransactItem {
  if (before === undefined) return putMember(dedups, after, [isNew]);
  const { status, seq, aside_minor } = before;
  return putMember(dedups, after, isStill({ status, seq, ...(aside_minor === undefined ? {} : { aside_minor }) }));
}

function isTrading<C extends { readonly entity: string }>(change: C): change is C & { readonly entity: TradingEntity } {
  return change.entity in entities;
}

function entityOf<T extends object = object>({ entity }: { readonly entity: TradingEntity }): Entity<T> {
  return entities[entity] as Entity<T>;
}

/**
 * Further reads of a decision about the money of an account: the source that it is linked to, with the newest command
 * about a transaction, and the client of an account that was reopened. Nothing of most accounts.
 */
export async function linkOf(
  load: Load,
  { account }: Pick<AccountContext, "account">,
  transaction?: Transaction,
): Promise<Pick<AccountContext, "source" | "command" | "client">> {
  const { source_id, client_id, reopened } = account;
  const source = transaction?.set_aside?.source_id ?? source_id ?? undefined;
  const command = source === undefined ? undefined : transaction?.command_id;
  if (source === undefined && reopened === undefined) return {};
  return load({
    ...(source === undefined ? {} : { source: tradingRef.feedSource(source) }),
    ...(command === undefined ? {} : { command: tradingRef.command(command) }),
    ...(reopened === undefined ? {} : { client: ref.client(client_id) }),
  });
}

/** The refusal of a body that names an account which there is none of. */
export function refuseNoAccount() {
  return refuseField("account_not_found", "account_id", "The account does not exist.");
}

/** Decides on the money of an account that a body names, with what it is linked to, whatever its positions are. */
export async function decideAccountMoney<R>(
  load: Load,
  id: string,
  decide: (now: AccountContext) => Decision<R>,
): Promise<Decision<R>> {
  const found = await load({ tenant: ref.tenant(), account: ref.account(id), balance: ref.balance(id) });
  if (!isComplete(found)) return refuseNoAccount();
  return decide({ ...found, ...(await linkOf(load, found)) });
}
