import type { Account, Balance, Contra, Ledger } from "../domain/account.ts";
import type { Application } from "../domain/application.ts";
import type { Client } from "../domain/client.ts";
import type { UniqueKind } from "../domain/decision.ts";
import type { Attempt, Delivery } from "../domain/delivery.ts";
import type { Family } from "../domain/family.ts";
import type { Dedup, FeedReject } from "../domain/feed/records.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import type { Reset } from "../domain/sandbox/reset.ts";
import type { PriceWalk } from "../domain/sandbox/walk.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Order } from "../domain/trading/order.ts";
import type { Position } from "../domain/trading/position.ts";
import type { Quote } from "../domain/trading/quote.ts";
import { internalSource, type SourcePulse } from "../domain/trading/source.ts";
import type { TradingSymbol } from "../domain/trading/symbol.ts";
import type { Trade } from "../domain/trading/trade.ts";
import type { Breach, Exposure, StoredRisk } from "../domain/trading/watch.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { UnjoinedLeg } from "../domain/transaction-legs.ts";
import type { Replay, SampleEvent, WebhookCount, WebhookEndpoint, WebhookHealth } from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { sha256 } from "../runtime/digest.ts";
import { applicationType, outboxPartType, outboxType, pulseType, quoteType, riskType } from "./table-shape.ts";

/** Primary key of an item. `T` is the tenant id; `#` joins tenant and id, `|` joins facets, and ids hold neither. */
export interface Key {
  readonly pk: string;
  readonly sk: string;
  /** Whether the item is in the volatile table; in the main table without it. */
  readonly volatile?: boolean;
}

/** Index keys of an item; an index that is not named does not hold it. */
export interface IndexKeys {
  readonly list_pk?: string;
  readonly list_sk?: string;
  readonly state_pk?: string;
  readonly state_sk?: string;
  readonly owner_pk?: string;
  readonly owner_sk?: string;
  readonly client_pk?: string;
  readonly client_sk?: string;
  readonly due_pk?: string;
  readonly due_sk?: string;
  /** What a filter of an index looks at, where the item itself calls it otherwise. */
  readonly type?: string;
  /** What filters of this kind look at beyond the attributes that every index carries; a list shows them as its own. */
  readonly facets?: Readonly<Record<string, string | null>>;
}

/** A stored kind: its type tag, where an item lives, and the index partitions it is found in. */
export interface Entity<T> {
  readonly et: string;
  readonly keyOf: (item: T) => Key;
  readonly indexesOf?: (item: T) => IndexKeys;
}

/** The ULID of an identifier: the part that sorts by time. */
function ulidOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}

/** Clients. Lists: all of a tenant, newest first (`list`); by verification and status (`state`). */
export const clients = {
  et: "CLIENT",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "CLIENT" }),
  keyOf: (item: Client): Key => clients.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|CLI`,
  indexesOf: (item: Client): IndexKeys => ({
    list_pk: clients.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: `${item.tenant_id}|CLI|${item.verification_status}|${item.status}`,
    state_sk: ulidOf(item.id),
  }),
} satisfies Entity<Client> & Record<string, unknown>;

/**
 * Accounts: the profile only. Lists: all of a tenant (`list`); by status and type (`state`); of a client (`owner`);
 * those with orders to cancel (`due`).
 */
export const accounts = {
  et: "ACCOUNT",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "ACCOUNT" }),
  keyOf: (item: Account): Key => accounts.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|ACC`,
  ofClient: (tenant: string, clientId: string) => `${tenant}|${clientId}|ACC`,
  indexesOf: (item: Account): IndexKeys => ({
    list_pk: accounts.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: `${item.tenant_id}|ACC|${item.status}|${item.type}`,
    state_sk: ulidOf(item.id),
    owner_pk: accounts.ofClient(item.tenant_id, item.client_id),
    owner_sk: ulidOf(item.id),
    ...(item.orders_void_at === undefined ? {} : dueKeys("ACCOUNT", item.id, item.orders_void_at)),
  }),
} satisfies Entity<Account> & Record<string, unknown>;

/** The money of an account, beside its profile: a PATCH and a posting never meet (ADR 0004). */
export const balances = {
  et: "BALANCE",
  key: (tenant: string, accountId: string): Key => ({ pk: `${tenant}#${accountId}`, sk: "BALANCE" }),
  keyOf: (item: Balance): Key => balances.key(item.tenant_id, item.account_id),
} satisfies Entity<Balance> & Record<string, unknown>;

/**
 * Postings of an account in a partition of their own, because IAM sees leading keys only: nobody may update or delete
 * there.
 */
export const ledgers = {
  et: "LEDGER",
  partition: (tenant: string, accountId: string) => `${tenant}#${accountId}|LED`,
  sortOf: (seq: number) => String(seq).padStart(12, "0"),
  keyOf: (item: Ledger): Key => ({
    pk: ledgers.partition(item.tenant_id, item.account_id),
    sk: ledgers.sortOf(item.balance_version),
  }),
} satisfies Entity<Ledger> & Record<string, unknown>;

/**
 * Legs on control accounts: append-only and spread over 32 partitions a month, so no posting meets another one here.
 */
export const contras = {
  et: "CONTRA",
  /** The partitions of a control account in one currency and one month: `2026-11`. */
  partitions: (tenant: string, control: Contra["control_account"], currency: string, month: string) =>
    [...crockford].map((shard) => contraPartition(tenant, control, currency, month, shard)),
  keyOf: (item: Contra): Key => {
    const { tenant_id, control_account, currency, id } = item;
    const month = item.created_at.slice(0, 7);
    return { pk: contraPartition(tenant_id, control_account, currency, month, id.slice(-1)), sk: ulidOf(id) };
  },
} satisfies Entity<Contra> & Record<string, unknown>;

function contraPartition(tenant: string, control: string, currency: string, month: string, shard: string): string {
  return `${tenant}|CTL|${control}:${currency}|${month.replace("-", "")}|${shard}`;
}

/**
 * Transactions. Lists: all of a tenant (`list`); by status and kind (`state`); of an account (`owner`); of a client
 * (`client`); expiring (`due`).
 */
export const transactions = {
  et: "TXN",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "TXN" }),
  keyOf: (item: Transaction): Key => transactions.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|TXN`,
  /** Kinds of platforms share a partition, so that a list by status need not ask one for each of them. */
  inState: (tenant: string, status: string, kind: string) =>
    `${tenant}|TXN|${status}|${ownKinds.has(kind) ? kind : "platform"}`,
  ofAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|TXN`,
  ofClient: (tenant: string, clientId: string) => `${tenant}|${clientId}|TXN`,
  indexesOf: (item: Transaction): IndexKeys => ({
    list_pk: transactions.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: transactions.inState(item.tenant_id, item.status, item.kind),
    state_sk: ulidOf(item.id),
    owner_pk: transactions.ofAccount(item.tenant_id, item.account_id),
    owner_sk: ulidOf(item.id),
    client_pk: transactions.ofClient(item.tenant_id, item.client_id),
    client_sk: ulidOf(item.id),
    ...transactionDue(item),
  }),
} satisfies Entity<Transaction> & Record<string, unknown>;

const ownKinds: ReadonlySet<string> = new Set(["deposit", "withdrawal", "negative_balance_correction"]);

/** Those that the sandbox's provider moves are due to it, in a kind of their own, by then at the latest. */
function transactionDue({ id, expires_at: end, provider_at: at }: Transaction): IndexKeys {
  if (at !== undefined) return dueKeys("PROVIDER", id, end !== null && end < at ? end : at);
  return end === null ? {} : dueKeys("TXN", id, end);
}

/** A moment as the first ten characters of a ULID: it sorts beside identifiers. */
function timeKey(moment: string): string {
  return inBase32(Math.max(0, Date.parse(moment)), 10);
}

/** Place in a list by a moment; the identifier breaks ties, so the order is total. */
function placeAt(moment: string, id: string): string {
  return `${timeKey(moment)}|${ulidOf(id)}`;
}

/** Trading symbols of a tenant in one partition, by name. */
export const symbols = {
  et: "SYMBOL",
  partition: (tenant: string) => `${tenant}|SYM`,
  key: (tenant: string, symbol: string): Key => ({ pk: symbols.partition(tenant), sk: symbol }),
  keyOf: (item: TradingSymbol): Key => symbols.key(item.tenant_id, item.symbol),
} satisfies Entity<TradingSymbol> & Record<string, unknown>;

/** A quote as it is stored: with its tenant, which its key is made of. */
export interface StoredQuote extends Quote {
  readonly tenant_id: string;
}

/** The newest quote of a symbol, in the volatile table: its stream wakes the margin watch. */
export const quotes = {
  et: quoteType,
  key: (tenant: string, symbol: string): Key => ({ pk: `${tenant}|Q|${symbol}`, sk: "QUOTE", volatile: true }),
  keyOf: (item: StoredQuote): Key => quotes.key(item.tenant_id, item.symbol),
} satisfies Entity<StoredQuote> & Record<string, unknown>;

/** Prices of the sandbox that walk, by symbol; each is in `due` by its next step. */
export const priceWalks = {
  et: "WALK",
  partition: (tenant: string) => `${tenant}|WALK`,
  key: (tenant: string, symbol: string): Key => ({ pk: priceWalks.partition(tenant), sk: symbol }),
  keyOf: (item: PriceWalk): Key => priceWalks.key(item.tenant_id, item.symbol),
  indexesOf: (item: PriceWalk): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("WALK", `${item.tenant_id}:${item.symbol}`, item.wake_at),
} satisfies Entity<PriceWalk> & Record<string, unknown>;

/** The last sign of life of a source, with its tenant, which its key is made of. */
export interface StoredPulse extends SourcePulse {
  readonly tenant_id: string;
}

/** When each source was last heard of, by its name, in the volatile table. */
export const pulses = {
  et: pulseType,
  key: (tenant: string, source: string): Key => ({ pk: `${tenant}|PULSE|${source}`, sk: "PULSE", volatile: true }),
  keyOf: (item: StoredPulse): Key => pulses.key(item.tenant_id, item.name),
} satisfies Entity<StoredPulse> & Record<string, unknown>;

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
  ofSymbol: (tenant: string, symbol: string) => `${tenant}|POS|${symbol}`,
  ofAccount: (tenant: string, accountId: string) => `${tenant}|${accountId}|POS`,
  /** Those of a symbol that a stop loss or a take profit closes; one of a platform is closed there. */
  withStops: (tenant: string, symbol: string) => `${tenant}|STOPS|${symbol}`,
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
        opened_at: item.opened_at,
        source,
        ...(stopped ? { stop_loss, take_profit } : {}),
      },
    };
  },
} satisfies Entity<Position> & Record<string, unknown>;

/** The trade that a position is the open side of; a text that names no position names no trade. */
export function positionTrade(id: string): string {
  return id.startsWith("pos_") ? `trd_${ulidOf(id)}` : "";
}

/** Which way a price moves to meet a level: to it from above, or to it from below. */
export type Direction = Exposure["direction"];

/** A price as a text that sorts like the number, whatever the decimals of its symbol are. */
function priceKey(price: string): string {
  const [whole = "0", fraction = ""] = price.split(".");
  return `${whole.padStart(15, "0")}.${fraction.padEnd(8, "0")}`;
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
    `${tenant}|MATCH|${symbol}|${side}|${direction}`,
  /** Where the orders that wait for a price begin in their partition. */
  waitingAt: (price: string) => priceKey(price),
  indexesOf: (item: Order): IndexKeys => {
    const { price, direction } = waitsFor(item);
    return {
      list_pk: orders.inStatus(item.tenant_id, item.status),
      list_sk: ulidOf(item.id),
      owner_pk: orders.ofAccount(item.tenant_id, item.account_id, item.status),
      owner_sk: ulidOf(item.id),
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

/**
 * What is remembered of an account's margin. Lists: of a tenant by margin level, the lowest first (`list`); accounts
 * that are not normal (`state`); those to evaluate again (`due`).
 */
export const risks = {
  et: riskType,
  key: (tenant: string, accountId: string): Key => ({ pk: `${tenant}#${accountId}`, sk: "RISK" }),
  keyOf: (item: StoredRisk): Key => risks.key(item.tenant_id, item.account_id),
  watched: (tenant: string) => `${tenant}|WATCH`,
  inStatus: (tenant: string, status: string) => `${tenant}|RISK|${status}`,
  indexesOf: (item: StoredRisk): IndexKeys => ({
    ...(item.margin_level === null && item.margin_status === "normal"
      ? {}
      : {
          list_pk: risks.watched(item.tenant_id),
          list_sk: `${levelKey(item.margin_level)}|${ulidOf(item.account_id)}`,
        }),
    ...(item.margin_status === "normal"
      ? {}
      : { state_pk: risks.inStatus(item.tenant_id, item.margin_status), state_sk: ulidOf(item.account_id) }),
    facets: { margin_status: item.margin_status },
    ...(item.wake_at === null ? {} : dueKeys("RISK", item.account_id, item.wake_at)),
  }),
} satisfies Entity<StoredRisk> & Record<string, unknown>;

/**
 * Accounts by the price at which they must be evaluated again, in a partition per symbol, direction and shard. A tick
 * reads the part of a partition that it passes: `dn` from its bid upwards, `up` from the beginning to its ask.
 */
export const exposures = {
  et: "EXPOSURE",
  partition: (tenant: string, symbol: string, direction: Direction, shard: number) =>
    `${tenant}|EXP|${symbol}|${direction}|${shard}`,
  /** The shard that an account's entries are in. */
  shardOf: (accountId: string) => Number.parseInt(sha256(accountId).slice(0, 4), 16) % limits.trading.exposure_shards,
  /** Points of a symbol, between 0 and 10^18, as a text that sorts like the number. */
  sortOf: (points: string) => points.padStart(19, "0"),
  keyOf: (item: Exposure): Key => ({
    pk: exposures.partition(item.tenant_id, item.symbol, item.direction, exposures.shardOf(item.account_id)),
    sk: `${exposures.sortOf(item.trigger)}|${item.account_id}`,
  }),
} satisfies Entity<Exposure> & Record<string, unknown>;

/** Symbols whose price met triggers, in `due` until no account is left beyond them. */
export const breaches = {
  et: "BREACH",
  key: (tenant: string, symbol: string): Key => ({ pk: `${tenant}|BREACH|${symbol}`, sk: "BREACH" }),
  keyOf: (item: Breach): Key => breaches.key(item.tenant_id, item.symbol),
  indexesOf: (item: Breach): IndexKeys => dueKeys("BREACH", `${item.tenant_id}:${item.symbol}`, item.wake_at),
} satisfies Entity<Breach> & Record<string, unknown>;

/** Feed sources, each in a partition of its own. List: all of a tenant (`list`). */
export const feedSources = {
  et: "SOURCE",
  partition: (tenant: string, id: string) => `${tenant}|SRC|${id}`,
  key: (tenant: string, id: string): Key => ({ pk: feedSources.partition(tenant, id), sk: "SRC" }),
  keyOf: (item: FeedSource): Key => feedSources.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|SRC`,
  indexesOf: (item: FeedSource): IndexKeys => ({
    list_pk: feedSources.all(item.tenant_id),
    list_sk: ulidOf(item.id),
  }),
} satisfies Entity<FeedSource> & Record<string, unknown>;

/** Items of a feed that could not be applied, by their number, beside their source. */
export const feedRejects = {
  et: "REJECT",
  partition: (tenant: string, sourceId: string) => `${feedSources.partition(tenant, sourceId)}|REJ`,
  sortOf: (seq: string) => seq.padStart(19, "0"),
  key: (tenant: string, sourceId: string, seq: string): Key => ({
    pk: feedRejects.partition(tenant, sourceId),
    sk: feedRejects.sortOf(seq),
  }),
  keyOf: (item: FeedReject): Key => feedRejects.key(item.tenant_id, item.source_id, item.seq),
} satisfies Entity<FeedReject> & Record<string, unknown>;

/** What became of the items of a feed, by what the source calls them: the same again changes nothing. */
export const dedups = {
  et: "DEDUP",
  key: (tenant: string, sourceId: string, kind: Dedup["kind"], name: string): Key => ({
    pk: `${tenant}|DD|${sourceId}|${kind}|${sha256(name)}`,
    sk: "DD",
  }),
  keyOf: (item: Dedup): Key => dedups.key(item.tenant_id, item.source_id, item.kind, item.name),
} satisfies Entity<Dedup> & Record<string, unknown>;

/**
 * Unjoined legs of transactions in a partition of their account, by amount: whether money that a platform reports could
 * be ours is one consistent query.
 */
export const unjoinedLegs = {
  et: "LEG",
  partition: (tenant: string, accountId: string) => `${tenant}#${accountId}|LEG`,
  /** What the sort keys of an amount begin with. */
  prefixOf: (amountMinor: bigint) => `${amountMinor}#`,
  keyOf: (item: UnjoinedLeg): Key => ({
    pk: unjoinedLegs.partition(item.tenant_id, item.account_id),
    sk: `${unjoinedLegs.prefixOf(item.amount_minor)}${ulidOf(item.transaction_id)}#${item.leg}`,
  }),
} satisfies Entity<UnjoinedLeg> & Record<string, unknown>;

/** A value that belongs to one resource of the tenant. The value is hashed: personal data stays out of keys. */
export const uniques = {
  et: "UQ",
  partition: (tenant: string, kind: UniqueKind) => `${tenant}|UQ|${kind}`,
  key: (tenant: string, kind: UniqueKind, value: string): Key => ({
    pk: uniques.partition(tenant, kind),
    sk: sha256(value),
  }),
};

/** The stored answer of a request with an Idempotency-Key. */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly key_hash: string;
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sealed when the answer shows a secret. */
  readonly body: string;
  /** Epoch seconds; compared on every use, because DynamoDB deletes late. */
  readonly expires_at: number;
}

/** Stored answers, by application and hashed key. */
export const storedReplies = {
  et: "IDEM",
  key: (tenant: string, application: string, keyHash: string): Key => ({
    pk: `${tenant}|IDEM|${application}|${keyHash}`,
    sk: "IDEM",
  }),
  keyOf: (item: StoredReply): Key => storedReplies.key(item.tenant_id, item.application_id, item.key_hash),
} satisfies Entity<StoredReply> & Record<string, unknown>;

/** The events of one commit, in order, until they are published. Inserted and deleted, never updated. */
export interface Outbox {
  readonly id: string;
  readonly tenant_id: string;
  /** Resource that the commit is about; its partition holds the item. */
  readonly root_id: string;
  /** Version of that resource in the first event: the order of the commits of one resource, whatever the clocks say. */
  readonly root_version: number;
  /** JSON of each event without id and sequence; of the first ones, where there are parts. */
  readonly events: readonly string[];
  /** How many parts hold the events that do not fit; absent when all do. */
  readonly parts?: number;
  readonly created_at: string;
  /** When the sweep looks for it, RFC 3339. */
  readonly wake_at: string;
}

/** Outbox items: beside the resource they are about, and in the due index until they are published. */
export const outboxes = {
  et: outboxType,
  keyOf: (item: Outbox): Key => ({ pk: `${item.tenant_id}#${item.root_id}`, sk: `OUTBOX#${ulidOf(item.id)}` }),
  indexesOf: (item: Outbox): IndexKeys => dueKeys("OUTBOX", item.id, item.wake_at),
} satisfies Entity<Outbox> & Record<string, unknown>;

/** Events of a commit that its outbox item has no room for. Inserted and deleted together with it. */
export interface OutboxPart {
  readonly tenant_id: string;
  readonly root_id: string;
  readonly outbox_id: string;
  /** From 1: the order of the parts. */
  readonly number: number;
  readonly events: readonly string[];
}

/** Parts of outbox items, each beside its own. */
export const outboxParts = {
  et: outboxPartType,
  keyOf: ({ tenant_id, root_id, outbox_id, number }: Omit<OutboxPart, "events">): Key => ({
    pk: `${tenant_id}#${root_id}`,
    sk: `OUTBOX#${ulidOf(outbox_id)}#${String(number).padStart(2, "0")}`,
  }),
} satisfies Entity<OutboxPart> & Record<string, unknown>;

/** A published event: its number and the bytes that everyone is shown. */
export interface PublishedEvent {
  readonly id: string;
  readonly tenant_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly resource_id: string;
  readonly account_id: string | null;
  readonly client_id: string | null;
  readonly created_at: string;
  /** When it got its number. It rises with the sequence, which `created_at` need not. */
  readonly published_at: string;
  /** The event as JSON, made once at publication. */
  readonly payload: string;
  /** Endpoints that subscribed to it when it was published, each as often as it had been switched on again by then. */
  readonly endpoints?: readonly { readonly id: string; readonly epoch: number }[];
  /** When the sweep looks for it, RFC 3339; absent when nobody is owed it or all its deliveries are made. */
  readonly wake_at?: string;
  readonly expires_at: number;
}

/**
 * Events of a tenant by sequence, a million to a partition. Lists: by type, by resource, by account or client; those
 * whose deliveries are not made yet are in `due`.
 */
export const events = {
  et: "EVENT",
  per_partition: 1_000_000,
  partition: (tenant: string, sequence: number) => `${tenant}|EVT|${Math.floor(sequence / events.per_partition)}`,
  sortOf: (sequence: number) => String(sequence).padStart(16, "0"),
  key: (tenant: string, sequence: number): Key => ({
    pk: events.partition(tenant, sequence),
    sk: events.sortOf(sequence),
  }),
  keyOf: (item: PublishedEvent): Key => events.key(item.tenant_id, item.sequence),
  ofType: (tenant: string, type: string) => `${tenant}|EVT|type|${type}`,
  ofResource: (tenant: string, id: string) => `${tenant}|EVT|resource|${id}`,
  ofAccount: (tenant: string, id: string) => `${tenant}|EVT|owner|${id}`,
  indexesOf: (item: PublishedEvent): IndexKeys => ({
    list_pk: events.ofType(item.tenant_id, item.type),
    list_sk: events.sortOf(item.sequence),
    state_pk: events.ofResource(item.tenant_id, item.resource_id),
    state_sk: events.sortOf(item.sequence),
    owner_pk: events.ofAccount(item.tenant_id, item.account_id ?? item.client_id ?? item.resource_id),
    owner_sk: events.sortOf(item.sequence),
    ...(item.wake_at === undefined ? {} : dueKeys("EVENT", item.id, item.wake_at)),
  }),
} satisfies Entity<PublishedEvent> & Record<string, unknown>;

/**
 * Webhook endpoints of a tenant in one partition: a publisher reads them all in one consistent query. The sort key is
 * the ULID, newest last. Those with deliveries to cancel are in `due`.
 */
export const webhooks = {
  et: "WEBHOOK",
  partition: (tenant: string) => `${tenant}|WHE`,
  key: (tenant: string, id: string): Key => ({ pk: webhooks.partition(tenant), sk: ulidOf(id) }),
  keyOf: (item: WebhookEndpoint): Key => webhooks.key(item.tenant_id, item.id),
  indexesOf: (item: WebhookEndpoint): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("WEBHOOK", item.id, item.wake_at),
} satisfies Entity<WebhookEndpoint> & Record<string, unknown>;

/** The number of a tenant's webhook endpoints. */
export const webhookCounts = {
  et: "WHCOUNT",
  key: (tenant: string): Key => ({ pk: `${tenant}|WHE|count`, sk: "COUNT" }),
  keyOf: (item: WebhookCount): Key => webhookCounts.key(item.tenant_id),
} satisfies Entity<WebhookCount> & Record<string, unknown>;

/**
 * How each endpoint does, with its slots. Made and removed together with the endpoint. Those whose endpoint is to be
 * switched off are in `due`.
 */
export const webhookHealths = {
  et: "HEALTH",
  key: (tenant: string, endpointId: string): Key => ({ pk: `${tenant}#${endpointId}`, sk: "HEALTH" }),
  keyOf: (item: WebhookHealth): Key => webhookHealths.key(item.tenant_id, item.endpoint_id),
  indexesOf: (item: WebhookHealth): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("HEALTH", item.endpoint_id, item.wake_at),
} satisfies Entity<WebhookHealth> & Record<string, unknown>;

/** Deliveries. Lists: of an endpoint by status (`state`); of an event (`owner`); those to look at (`due`). */
export const deliveries = {
  et: "DELIVERY",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "DELIVERY" }),
  keyOf: (item: Delivery): Key => deliveries.key(item.tenant_id, item.id),
  ofEndpoint: (tenant: string, endpointId: string, status: readonly string[]) =>
    status.map((each) => `${tenant}|${endpointId}|DLV|${each}`),
  ofEvent: (tenant: string, eventId: string) => `${tenant}|${eventId}|DLV`,
  indexesOf: (item: Delivery): IndexKeys => ({
    state_pk: `${item.tenant_id}|${item.endpoint_id}|DLV|${item.status}`,
    state_sk: ulidOf(item.id),
    owner_pk: deliveries.ofEvent(item.tenant_id, item.event_id),
    owner_sk: ulidOf(item.id),
    type: item.event_type,
    ...(item.wake_at === null ? {} : dueKeys("DLV", item.id, item.wake_at)),
  }),
} satisfies Entity<Delivery> & Record<string, unknown>;

/** Attempts of a delivery, in its partition: by number, then by claim. */
export const attempts = {
  et: "ATTEMPT",
  keyOf: (item: Attempt): Key => ({
    pk: deliveries.key(item.tenant_id, item.delivery_id).pk,
    sk: `ATTEMPT#${String(item.number).padStart(2, "0")}#${item.claim}`,
  }),
} satisfies Entity<Attempt> & Record<string, unknown>;

/** Samples that `test` sends, each an item of its own. */
export const sampleEvents = {
  et: "SAMPLE",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "SAMPLE" }),
  keyOf: (item: SampleEvent): Key => sampleEvents.key(item.tenant_id, item.id),
} satisfies Entity<SampleEvent> & Record<string, unknown>;

/** Replays that are being made, in `due` until all their deliveries are. */
export const replays = {
  et: "REPLAY",
  keyOf: (item: Replay): Key => ({ pk: `${item.tenant_id}#${item.id}`, sk: "REPLAY" }),
  indexesOf: (item: Replay): IndexKeys => dueKeys("REPLAY", item.id, item.wake_at),
} satisfies Entity<Replay> & Record<string, unknown>;

/** The last reset of a tenant of the sandbox; in `due` while it runs. */
export const resets = {
  et: "RESET",
  key: (tenant: string): Key => ({ pk: `${tenant}|RESET`, sk: "RESET" }),
  keyOf: (item: Reset): Key => resets.key(item.tenant_id),
  indexesOf: (item: Reset): IndexKeys => (item.wake_at === null ? {} : dueKeys("RESET", item.id, item.wake_at)),
} satisfies Entity<Reset> & Record<string, unknown>;

/** Where the event of a delivery is: an EVENT, or a SAMPLE when it has no sequence. Both hold `payload`. */
export function eventKeyOf(delivery: Pick<Delivery, "tenant_id" | "event_id" | "event_sequence">): Key {
  return delivery.event_sequence === null
    ? sampleEvents.key(delivery.tenant_id, delivery.event_id)
    : events.key(delivery.tenant_id, delivery.event_sequence);
}

/** The number of the last published event of a tenant; taken by the publisher only. */
export const sequences = {
  et: "SEQ",
  key: (tenant: string): Key => ({ pk: `${tenant}|SEQ`, sk: "SEQ" }),
};

/** Tenants with their policies. */
export const tenants = {
  et: "TENANT",
  key: (id: string): Key => ({ pk: id, sk: "TENANT" }),
  keyOf: (item: Tenant): Key => tenants.key(item.id),
} satisfies Entity<Tenant> & Record<string, unknown>;

/** Applications of a tenant (`list`); those whose API key is to be made or removed (`due`). */
export const applications = {
  et: applicationType,
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "APP" }),
  keyOf: (item: Application): Key => applications.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|APP`,
  indexesOf: (item: Application): IndexKeys => ({
    list_pk: applications.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    ...(item.wake_at === null ? {} : dueKeys("APP", item.id, item.wake_at)),
  }),
} satisfies Entity<Application> & Record<string, unknown>;

/** Where the application of a client id is: a token request knows no tenant yet. */
export interface ApplicationRef {
  readonly client_id: string;
  readonly application_id: string;
  readonly owner_tenant_id: string;
}

/** References by client id: one of the few partitions that no tenant owns. */
export const applicationRefs = {
  et: "APPREF",
  key: (clientId: string): Key => ({ pk: "GLOBAL|CLIENTID", sk: clientId }),
  keyOf: (item: ApplicationRef): Key => applicationRefs.key(item.client_id),
} satisfies Entity<ApplicationRef> & Record<string, unknown>;

/** Families of tokens; a token names its family, so none is ever looked for. */
export const families = {
  et: "FAMILY",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "FAMILY" }),
  keyOf: (item: Family): Key => families.key(item.tenant_id, item.id),
} satisfies Entity<Family> & Record<string, unknown>;

/** Failed client authentications from one address in one clock minute, in the volatile table. The address is hashed. */
export const failureCounters = {
  et: "FAIL",
  key: (address: string, minute: number): Key => ({ pk: `GLOBAL|FAIL|${sha256(address)}`, sk: String(minute) }),
};

/** A public signing key (RFC 7517), kept until its last token has expired. */
export interface PublicKey {
  readonly kid: string;
  /** The public key as JSON Web Key. */
  readonly jwk: Readonly<Record<string, string>>;
  readonly published_at: string;
  /** Epoch seconds; absent for the key that signs now. */
  readonly expires_at?: number;
}

/** Public keys of the stage, in a global partition. */
export const publicKeys = {
  et: "KEY",
  partition: "GLOBAL|KEYS",
  key: (kid: string): Key => ({ pk: "GLOBAL|KEYS", sk: kid }),
  keyOf: (item: PublicKey): Key => publicKeys.key(item.kid),
} satisfies Entity<PublicKey> & Record<string, unknown>;

/** Request counter of an application for one clock minute, in the volatile table. */
export const rateCounters = {
  et: "RATE",
  key: (tenant: string, application: string, minute: number): Key => ({
    pk: `${tenant}|RATE|${application}`,
    sk: String(minute),
  }),
};

/** What the due index holds, each kind in shards of its own: a backlog of one hides no other. */
export type DueKind =
  | "ACCOUNT"
  | "APP"
  | "BREACH"
  | "DLV"
  | "EVENT"
  | "HEALTH"
  | "ORDER"
  | "OUTBOX"
  | "PROVIDER"
  | "REPLAY"
  | "RESET"
  | "RISK"
  | "TXN"
  | "WALK"
  | "WEBHOOK";

/** Partition of the due index that an item is found in, and its place there: the time, then the id. */
function dueKeys(kind: DueKind, id: string, wakeAt: string): IndexKeys {
  return { due_pk: duePartition(kind, shardOf(id)), due_sk: `${wakeAt}|${id}` };
}

/** Name of one shard of a kind in the due index. */
export function duePartition(kind: DueKind, shard: number): string {
  return `DUE|${kind}|${String(shard).padStart(2, "0")}`;
}

function shardOf(id: string): number {
  return Number.parseInt(sha256(id).slice(0, 4), 16) % limits.events.due_shards;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * Identifier of an event: a ULID whose random part carries six random characters and the sequence in ten, so that a
 * read by id needs no index. It stays opaque to callers.
 */
export function eventId(timeMs: number, randomPart: string, sequence: number): string {
  return `evt_${inBase32(timeMs, 10)}${randomPart.slice(-6)}${inBase32(sequence, 10)}`;
}

/** The sequence that an event identifier carries. */
export function sequenceOfEvent(id: string): number {
  let value = 0;
  for (const character of id.slice(-10)) value = value * 32 + crockford.indexOf(character);
  return value;
}

/**
 * Identifier of the delivery of an event to an endpoint: the same whoever makes it, so that a conditional put makes it
 * once. Its time is that of the event, or of the request for a repetition.
 */
export function deliveryId(eventId: string, endpointId: string, redelivery: number): string {
  const time = redelivery === 0 ? ulidOf(eventId).slice(0, 10) : inBase32(redelivery, 10);
  const hash = Buffer.from(sha256(`${eventId}\n${endpointId}\n${redelivery}`), "hex");
  const letters = [...hash.subarray(0, 16)].map((byte) => crockford.charAt(byte % 32));
  return `dlv_${time}${letters.join("")}`;
}

function inBase32(value: number, length: number): string {
  let rest = value;
  let text = "";
  for (let index = 0; index < length; index += 1) {
    text = crockford.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
