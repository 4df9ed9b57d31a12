import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { CalendarDate, id, Links, pageParameters, setOf, Timestamp, TimestampInput } from "./fields.ts";
import { Decimal, SignedDecimal, SymbolName, symbolTerms } from "./symbol.ts";
import { Side } from "./trade.ts";
import { platformKinds } from "./transaction.ts";

/** Number of an item in its feed: a whole number from 1, without leading zeros. */
const Sequence = z.string().check(z.regex(/^[1-9]\d{0,14}$/, "must be a whole number from 1, as text"));
/**
 * What a platform calls one of its own: a deal, a position, an order, a login. It is cleaned as `identifier` asks for,
 * never refused for a character: platforms pad names with zero bytes, and a deal that is put aside is money that is not
 * booked.
 */
const PlatformId = z.string().check(
  z.overwrite((value) =>
    value
      .toWellFormed()
      .normalize("NFC")
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu, ""),
  ),
  z.minLength(1),
  z.maxLength(64),
);
/** Text of a feed for people: without control characters, and cut where it is too long. */
const Description = z.string().check(
  z.overwrite((value) =>
    clipped(
      value
        .normalize("NFC")
        .replace(/\p{Cc}+/gu, " ")
        .trim(),
      200,
    ),
  ),
);
/** Money that a platform booked, with the sign that it had on the account. */
const SignedMoney = z
  .string()
  .check(z.regex(/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,3})?$/, "must be a plain decimal such as -6.20"));
/** Money that is never in favour of the account. */
const Cost = z
  .string()
  .check(
    z.regex(
      /^(?:-(?:0|[1-9]\d{0,14})(?:\.\d{1,3})?|0(?:\.0{1,3})?)$/,
      "must be a plain decimal that is not above 0, such as -3.50",
    ),
  );

const Platform = z.enum(["mt4", "mt5", "ctrader", "other"]);
const Authority = z.enum(["platform", "service"]);

/** `POST /feed/sources` */
export const CreateFeedSourceRequest = z.strictObject({
  name: z
    .string()
    .check(z.regex(/^[a-z][a-z0-9]{1,15}:[A-Za-z0-9._-]{1,47}$/, "must be a platform and a name such as mt5:live-1")),
  platform: Platform,
  authoritative: z.optional(Authority),
  first_seq: z.optional(Sequence),
});

/** A source of trades and prices as the API shows it. `lag_ms`: since its last batch. */
export const FeedSource = z.object({
  id: z.string(),
  object: z.literal("feed_source"),
  name: z.string(),
  platform: Platform,
  authoritative: Authority,
  expected_next_seq: z.string(),
  accepted_through: z.nullable(z.string()),
  quote_epoch: z.int(),
  last_batch_at: z.nullable(Timestamp),
  lag_ms: z.nullable(z.int()),
  stale: z.boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: Links,
});

/**
 * One item of a batch. What its type asks of `data` is looked at item by item: a wrong one is put aside and does not
 * hold up the others.
 */
const FeedItem = z.strictObject({
  seq: Sequence,
  type: z.string().check(z.minLength(1), z.maxLength(40)),
  at: z.optional(z.unknown()),
  data: z.optional(z.unknown()),
});

/** `POST /feed/sources/{id}/batches`: without items it is a sign of life. */
export const FeedBatch = z.strictObject({
  first_seq: Sequence,
  items: z.array(FeedItem).check(z.maxLength(limits.feed.max_items)),
});

const nullable = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema));

const stops = { stop_loss: nullable(Decimal), take_profit: nullable(Decimal) };
const money = { profit: nullable(SignedMoney), commission: nullable(Cost), swap: nullable(SignedMoney) };

/** A deal that opened lots, or with netting changed a position. */
export const FeedOpening = z.strictObject({
  action: z.literal("open"),
  platform_login: PlatformId,
  deal_id: PlatformId,
  position_id: PlatformId,
  order_id: nullable(PlatformId),
  symbol: SymbolName,
  side: Side,
  lots: Decimal,
  price: Decimal,
  ...stops,
  ...money,
  margin_rate: nullable(Decimal),
});

/** A deal that closed a position, or as many of its lots as it says. */
export const FeedClosing = z.strictObject({
  action: z.literal("close"),
  platform_login: z.optional(PlatformId),
  deal_id: PlatformId,
  position_id: PlatformId,
  lots: nullable(Decimal),
  price: Decimal,
  ...money,
  reason: z.optional(z.enum(["client", "dealer", "stop_loss", "take_profit", "stop_out", "expiry", "platform"])),
});

/** A deal. */
export const FeedExecution = z.discriminatedUnion("action", [FeedOpening, FeedClosing]);

/** A pending order that was placed or changed. */
export const FeedPendingOrder = z.strictObject({
  status: z.literal("pending"),
  order_id: PlatformId,
  platform_login: PlatformId,
  type: z.enum(["limit", "stop", "stop_limit"]),
  symbol: SymbolName,
  side: Side,
  lots: Decimal,
  price: nullable(Decimal),
  stop_price: nullable(Decimal),
  limit_price: nullable(Decimal),
  ...stops,
  expires_at: nullable(TimestampInput),
});

/** A pending order that has come to its end. */
export const FeedEndedOrder = z.strictObject({
  status: z.enum(["filled", "cancelled", "expired", "rejected"]),
  order_id: PlatformId,
  platform_login: z.optional(PlatformId),
  position_id: nullable(PlatformId),
});

/** An order. */
export const FeedOrder = z.discriminatedUnion("status", [FeedPendingOrder, FeedEndedOrder]);

/** Swap that a platform charged or paid for a night. */
export const FeedSwap = z.strictObject({ position_id: PlatformId, amount: SignedMoney, for_date: CalendarDate });

/**
 * Money that a platform moved onto an account or off it. The kind gives the sign of a deposit and of a withdrawal; the
 * amount of every other kind has its own. `reference`: the transaction whose money it is.
 */
export const FeedBalanceOperation = z.strictObject({
  operation_id: PlatformId,
  platform_login: PlatformId,
  amount: SignedDecimal,
  kind: z.enum(["deposit", "withdrawal", ...platformKinds]),
  reference: nullable(PlatformId),
});

/** A symbol with its terms. `market_status` halts it whatever its sessions say; without it they decide. */
export const FeedSymbol = z.strictObject({
  symbol: SymbolName,
  description: Description,
  ...symbolTerms,
  max_leverage: z.optional(z.nullable(z.int().check(z.minimum(1), z.maximum(1000)))),
  margin_factor: z.optional(Decimal),
  stops_level: z.optional(z.int().check(z.minimum(0), z.maximum(1_000_000))),
  max_deviation_percent: nullable(Decimal),
  trading_mode: z.optional(symbolTerms.trading_mode),
  holidays: z.optional(z.array(CalendarDate).check(z.maxLength(366))),
  market_status: z.optional(z.enum(["open", "halted"])),
});

const ItemStatus = z.enum(["applied", "duplicate", "rejected", "deferred"]);

/** What became of one item. */
export const FeedResult = z.object({
  seq: z.string(),
  status: ItemStatus,
  code: z.optional(z.string()),
  detail: z.optional(z.string()),
  trade_id: z.optional(z.string()),
  order_id: z.optional(z.string()),
  transaction_id: z.optional(z.string()),
  related_to: z.optional(z.string()),
  candidates: z.optional(z.array(z.string())),
});

/** What became of a batch. Items after `accepted_through` are to be sent again. */
export const FeedReceipt = z.object({
  object: z.literal("feed_receipt"),
  accepted_through: z.nullable(z.string()),
  expected_next_seq: z.string(),
  results: z.array(FeedResult),
});

/** `POST /feed/sources/{id}/quotes` */
export const FeedQuotes = z.strictObject({
  epoch: z.optional(z.int().check(z.minimum(1))),
  quotes: z
    .array(z.strictObject({ symbol: SymbolName, bid: Decimal, ask: Decimal, time: TimestampInput, seq: Sequence }))
    .check(z.minLength(1), z.maxLength(limits.feed.max_quotes)),
});

/** What became of one price. */
export const FeedQuoteResult = z.object({
  symbol: z.string(),
  seq: z.string(),
  status: z.enum(["accepted", "put_aside", "ignored", "refused"]),
  code: z.optional(
    z.enum([
      "old_sequence",
      "old_epoch",
      "unknown_epoch",
      "time_ahead",
      "time_too_old",
      "superseded",
      "deviation_unconfirmed",
      "overtaken",
      "crossed",
      "invalid_price",
      "price_out_of_bounds",
      "symbol_not_found",
    ]),
  ),
});

/** What became of prices. */
export const FeedQuoteReceipt = z.object({
  object: z.literal("feed_quote_receipt"),
  accepted: z.int(),
  results: z.array(FeedQuoteResult),
});

/** Query of `GET /feed/sources/{id}/rejects`. */
export const ListFeedRejectsQuery = z.strictObject({
  ...pageParameters,
  status: z.optional(setOf(["open", "resolved"])),
  sort: z.optional(z.enum(["seq"])),
});

/** `POST /feed/sources/{id}/rejects/{seq}/retry`: what a person knows of money that could be that of a transaction. */
export const RetryFeedRejectRequest = z
  .strictObject({ transaction_id: z.optional(id("txn")), confirm_new: z.optional(z.literal(true)) })
  .check(
    z.refine(
      ({ transaction_id, confirm_new }) => transaction_id === undefined || confirm_new === undefined,
      "must not hold transaction_id and confirm_new together",
    ),
  );

/** An item that could not be applied, as it came, with the reason of the last try. */
export const FeedReject = z.object({
  object: z.literal("feed_reject"),
  source_id: z.string(),
  seq: z.string(),
  status: z.enum(["open", "resolved"]),
  item: z.record(z.string(), z.unknown()),
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })),
  candidates: z.array(z.string()),
  tries: z.int(),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: Links,
});

/** A source on the wire. */
export type FeedSourceBody = z.infer<typeof FeedSource>;
/** A new source on the wire. */
export type CreateFeedSource = z.infer<typeof CreateFeedSourceRequest>;
/** A batch on the wire. */
export type FeedBatchBody = z.infer<typeof FeedBatch>;
/** What became of an item, on the wire. */
export type FeedResultBody = z.infer<typeof FeedResult>;
/** What became of a batch, on the wire. */
export type FeedReceiptBody = z.infer<typeof FeedReceipt>;
/** A reject on the wire. */
export type FeedRejectBody = z.infer<typeof FeedReject>;
/** Prices on the wire. */
export type FeedQuotesBody = z.infer<typeof FeedQuotes>;
/** What a person knows of an item that is tried again, on the wire. */
export type RetryFeedReject = z.infer<typeof RetryFeedRejectRequest>;
/** What became of prices, on the wire. */
export type FeedQuoteReceiptBody = z.infer<typeof FeedQuoteReceipt>;
/** The data of each type of item, on the wire. */
export interface FeedData {
  readonly execution: z.infer<typeof FeedExecution>;
  readonly order: z.infer<typeof FeedOrder>;
  readonly swap: z.infer<typeof FeedSwap>;
  readonly balance_operation: z.infer<typeof FeedBalanceOperation>;
  readonly symbol: z.infer<typeof FeedSymbol>;
}
