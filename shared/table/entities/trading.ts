import type { Order } from "../../domain/records/order.ts";
import type { Position } from "../../domain/records/position.ts";
import type { Quote } from "../../domain/records/quote.ts";
import type { Exposure, StoredRisk } from "../../domain/records/risk.ts";
import type { TradingSymbol } from "../../domain/records/symbol.ts";
import type { Trade } from "../../domain/records/trade.ts";
import type { Rollover } from "../../domain/trading/nights/rollover.ts";
import type { StoredOpenInterest } from "../../domain/trading/open-interest.ts";
import { triggerUnits } from "../../domain/trading/pricing/quote.ts";
import { internalSource } from "../../domain/trading/pricing/source.ts";
import { type Breach, riskDueAt } from "../../domain/trading/stored-risk.ts";
import { limits } from "../../limits.ts";
import { quoteType, riskType } from "../table-shape.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, keyPart, placeAt, spread, ulidOf } from "./keys.ts";

/** Trading symbols of a tenant in one partition, by name. */
export const symbols = {
  et: "SYMBOL",
  partition: (tenant: string) => `${tenant}|SYM`,
  key: (tenant: string, symbol: string): Key => ({ pk: symbols.partition(tenant), sk: keyPart(symbol) }),
  keyOf: (item: TradingSymbol): Key => symbols.key(item.tenant_id, item.symbol),
} satisfies Entity<TradingSymbol> & Record<string, unknown>;

/** A quote as it is stored: with its tenant, which its key is made of. */
export interface StoredQuote extends Quote {
  readonly tenant_id: string;
  /** Set where a new brokerage begins with the price: it has no account yet, so nothing can wait for it. */
  readonly seeded?: true;
}

/** The newest quote of a symbol, in the volatile table: its stream wakes the margin watch. */
export const quotes = {
  et: quoteType,
  key: (tenant: string, symbol: string): Key => ({ pk: `${tenant}|Q|${keyPart(symbol)}`, sk: "QUOTE", volatile: true }),
  keyOf: (item: StoredQuote): Key => quotes.key(item.tenant_id, item.symbol),
} satisfies Entity<StoredQuote> & Record<string, unknown>;

/**
 * Trades. Lists: all of a tenant by opening (`list`), the open ones by opening and the closed ones by closing
 * (`state`), of an account by opening (`owner`), the closed ones of an account by closing (`client`).
 */
export const trades = {
  et: "TRADE",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "TRADE" }),
  keyOf: (item: Trade): Key => trades.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|TRD`,
  inState: (tenant: string, status: Trade["status"]) => `${tenant}|TRD|${status}`,
  ofAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|TRD`,
  closedOfAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|TRDC`,
  indexesOf: (item: Trade): IndexKeys => ({
    list_pk: trades.all(item.tenant_id),
    list_sk: placeAt(item.open_at, item.id),
    state_pk: trades.inState(item.tenant_id, item.status),
    state_sk: placeAt(item.close_at ?? item.open_at, item.id),
    owner_pk: trades.ofAccount(item.tenant_id, item.account_id),
    owner_sk: placeAt(item.open_at, item.id),
    ...(item.close_at === null
      ? {}
      : {
          client_pk: trades.closedOfAccount(item.tenant_id, item.account_id),
          client_sk: placeAt(item.close_at, item.id),
        }),
    facets: {
      symbol: item.symbol,
      side: item.side,
      open_at: item.open_at,
      close_at: item.close_at,
      close_reason: item.close_reason,
    },
  }),
} satisfies Entity<Trade> & Record<string, unknown>;

/**
 * Open positions beside the money of their account, so that one consistent read of its partition values it. An
 * identifier is that of the trade with another prefix, which tells the account. Lists by opening: all of a tenant
 * (`list`), of a symbol (`state`), of an account (`owner`); of a symbol with stops (`client`).
 */
export const positions = {
  et: "POSITION",
  partition: (tenant: string, accountId: string) => `${tenant}#${accountId}`,
  prefix: "POS#",
  key: (tenant: string, accountId: string, id: string): Key => ({
    pk: positions.partition(tenant, accountId),
    sk: `${positions.prefix}${ulidOf(id)}`,
  }),
  keyOf: (item: Position): Key => positions.key(item.tenant_id, item.account_id, item.id),
  all: (tenant: string) => `${tenant}|POS`,
  ofSymbol: (tenant: string, symbol: string) => `${tenant}|POS|${keyPart(symbol)}`,
  ofAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|POS`,
  /** Those of a symbol that a stop loss or a take profit closes; one of a platform is closed there. */
  withStops: (tenant: string, symbol: string) => `${tenant}|STOPS|${keyPart(symbol)}`,
  indexesOf: (item: Position): IndexKeys => {
    const place = placeAt(item.opened_at, item.id);
    const { stop_loss, take_profit, source } = item;
    const stopped = source === internalSource && (stop_loss !== null || take_profit !== null);
    return {
      list_pk: positions.all(item.tenant_id),
      list_sk: place,
      state_pk: positions.ofSymbol(item.tenant_id, item.symbol),
      state_sk: place,
      owner_pk: positions.ofAccount(item.tenant_id, item.account_id),
      owner_sk: place,
      ...(stopped ? { client_pk: positions.withStops(item.tenant_id, item.symbol), client_sk: place } : {}),
      facets: {
        symbol: item.symbol,
        side: item.side,
        source,
        // For the sum of all positions, which reads no item.
        lots: item.lots,
        open_price: item.open_price,
        account_type: item.account_type,
        ...(stopped ? { stop_loss, take_profit } : {}),
      },
    };
  },
} satisfies Entity<Position> & Record<string, unknown>;

/** Sums of a tenant's open positions of an account type, in the volatile table: the next minute brings new ones. */
export const openInterests = {
  et: "OPENINTEREST",
  partition: (tenant: string) => `${tenant}|OI`,
  key: (tenant: string, accountType: string): Key => ({
    pk: openInterests.partition(tenant),
    sk: accountType,
    volatile: true,
  }),
  keyOf: (item: StoredOpenInterest): Key => openInterests.key(item.tenant_id, item.account_type),
} satisfies Entity<StoredOpenInterest> & Record<string, unknown>;

/** The trade that a position is the open side of; a text that names no position names no trade. */
export function positionTrade(id: string): string {
  return id.startsWith("pos_") ? `trd_${ulidOf(id)}` : "";
}

/** The position that is the open side of a trade. */
export function tradePosition(id: string): string {
  return `pos_${ulidOf(id)}`;
}

/** Direction in which a price meets a level: to it from above, or to it from below. */
export type Direction = Exposure["direction"];

/** A price in the units of triggers as a text that sorts like the number, also below zero. */
function priceKey(units: bigint): string {
  return String(units + limits.trading.trigger_offset).padStart(28, "0");
}

/** The price that a pending order waits for, and the way in which the market meets it. */
function waitsFor(order: Order): { readonly price: string; readonly direction: Direction } {
  const limit = order.type === "limit" || (order.type === "stop_limit" && order.stop_reached);
  const price = order.type === "stop_limit" ? (limit ? order.limit_price : order.stop_price) : order.price;
  return { price: price ?? "0", direction: limit === (order.side === "buy") ? "dn" : "up" };
}

/**
 * Orders. Lists by creation: of a tenant by status (`list`), of an account by status (`owner`); pending ones by the
 * price that they wait for (`state`), and those that no platform ends by their end (`due`).
 */
export const orders = {
  et: "ORDER",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "ORDER" }),
  keyOf: (item: Order): Key => orders.key(item.tenant_id, item.id),
  inStatus: (tenant: string, status: string) => `${tenant}|ORD|${status}`,
  ofAccount: (tenant: string, accountId: string, status: string) => `${tenant}|${accountId}|ORD|${status}`,
  /** Pending orders that a falling (`dn`) or rising (`up`) price meets, by that price. */
  waiting: (tenant: string, symbol: string, side: Order["side"], direction: Direction) =>
    `${tenant}|MATCH|${keyPart(symbol)}|${side}|${direction}`,
  /** Where the orders that wait for a price begin in their partition. */
  waitingAt: (price: string) => priceKey(triggerUnits(price)),
  indexesOf: (item: Order): IndexKeys => {
    const { price, direction } = waitsFor(item);
    // One that a platform reports was made there before its identifier here.
    const place = placeAt(item.created_at, item.id);
    return {
      list_pk: orders.inStatus(item.tenant_id, item.status),
      list_sk: place,
      owner_pk: orders.ofAccount(item.tenant_id, item.account_id, item.status),
      owner_sk: place,
      ...(item.status === "pending"
        ? {
            state_pk: orders.waiting(item.tenant_id, item.symbol, item.side, direction),
            state_sk: `${orders.waitingAt(price)}|${ulidOf(item.id)}`,
            ...(item.expires_at === null || item.source !== internalSource
              ? {}
              : dueKeys("ORDER", item.id, item.expires_at)),
          }
        : {}),
      facets: { symbol: item.symbol, side: item.side },
    };
  },
} satisfies Entity<Order> & Record<string, unknown>;

/** A margin level as a text that sorts like the number, the lowest first; one that nothing backs comes before all. */
function levelKey(level: string | null): string {
  const hundredths = level === null ? -widestLevel : Number(level.replace(".", ""));
  return String(widestLevel + Math.min(Math.max(hundredths, -widestLevel), widestLevel)).padStart(16, "0");
}

/** Levels beyond it, in hundredths of a percent, sort as if they were equal. */
const widestLevel = 1e15;

/** The shards of a list of risks. */
function inShards(list: string): string[] {
  return Array.from({ length: limits.trading.risk_shards }, (_, shard) => (shard === 0 ? list : `${list}|${shard}`));
}

function ownShard(partitions: readonly string[], accountId: string): string {
  return partitions[spread(accountId, partitions.length)] ?? "";
}

/**
 * State of an account's margin. Lists: of a tenant by margin level, the lowest first (`list`); accounts that are not
 * normal (`state`); those to evaluate again (`due`).
 */
export const risks = {
  et: riskType,
  key: (tenant: string, accountId: string): Key => ({ pk: `${tenant}#${accountId}`, sk: "RISK" }),
  keyOf: (item: StoredRisk): Key => risks.key(item.tenant_id, item.account_id),
  /** The partitions of a list, each in its order. */
  watched: (tenant: string) => inShards(`${tenant}|WATCH`),
  inStatus: (tenant: string, status: string) => inShards(`${tenant}|RISK|${status}`),
  indexesOf: (item: StoredRisk): IndexKeys => ({
    ...(item.margin_level === null && item.margin_status === "normal"
      ? {}
      : {
          list_pk: ownShard(risks.watched(item.tenant_id), item.account_id),
          list_sk: `${levelKey(item.margin_level)}|${ulidOf(item.account_id)}`,
        }),
    ...(item.margin_status === "normal"
      ? {}
      : {
          state_pk: ownShard(risks.inStatus(item.tenant_id, item.margin_status), item.account_id),
          state_sk: ulidOf(item.account_id),
        }),
    facets: { margin_status: item.margin_status },
    ...dueOf(item),
  }),
} satisfies Entity<StoredRisk> & Record<string, unknown>;

function dueOf(item: StoredRisk): IndexKeys {
  const at = riskDueAt(item);
  return at === null ? {} : dueKeys("RISK", item.account_id, at);
}

/**
 * Terms and rates of the nights of a symbol by day and account currency. They are written once, by whatever charges the
 * first position.
 */
export const rollovers = {
  et: "ROLLOVER",
  key: (tenant: string, symbol: string, date: string, currency: string): Key => ({
    pk: `${tenant}|RO|${keyPart(symbol)}`,
    sk: `${date}#${currency}`,
  }),
  keyOf: (item: Rollover): Key => rollovers.key(item.tenant_id, item.symbol, item.date, item.currency),
} satisfies Entity<Rollover> & Record<string, unknown>;

/**
 * Accounts by the price at which they must be evaluated again, in a partition per symbol, direction and shard. A tick
 * reads the part of a partition that it passes: `dn` from its bid upwards, `up` from the beginning to its ask.
 */
export const exposures = {
  et: "EXPOSURE",
  partition: (tenant: string, symbol: string, direction: Direction, shard: number) =>
    `${tenant}|EXP|${keyPart(symbol)}|${direction}|${shard}`,
  /** The shard that an entry is in: its account decides, among as many as there were when it was put. */
  shardOf: ({ account_id, shards }: Pick<Exposure, "account_id" | "shards">) => spread(account_id, shards),
  sortOf: priceKey,
  /** The account of an entry: its key says it, so that no damage to the entry hides the account from a price. */
  accountIn: (sort: string) => sort.slice(sort.indexOf("|") + 1),
  keyOf: (item: Exposure): Key => ({
    pk: exposures.partition(item.tenant_id, item.symbol, item.direction, exposures.shardOf(item)),
    sk: `${exposures.sortOf(BigInt(item.trigger))}|${item.account_id}`,
  }),
} satisfies Entity<Exposure> & Record<string, unknown>;

/** Symbols whose price met triggers, in `due` until no account is left beyond them. */
export const breaches = {
  et: "BREACH",
  key: (tenant: string, symbol: string): Key => ({ pk: `${tenant}|BREACH|${keyPart(symbol)}`, sk: "BREACH" }),
  keyOf: (item: Breach): Key => breaches.key(item.tenant_id, item.symbol),
  indexesOf: (item: Breach): IndexKeys => dueKeys("BREACH", `${item.tenant_id}:${keyPart(item.symbol)}`, item.wake_at),
} satisfies Entity<Breach> & Record<string, unknown>;
