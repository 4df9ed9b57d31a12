import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { clipped } from "../text.ts";
import { described } from "./described.ts";
import type { FeedAccountUpdate, FeedDealReversal, FeedPositionUpdate } from "./feed/items.ts";
import { PlatformId, SignedMoney } from "./feed/members.ts";
import { CalendarDate, createdRange, id, ownFields, PlatformTime, pageParameters, setOf, Timestamp } from "./fields.ts";
import { Decimal, SignedDecimal, SymbolName, symbolTerms } from "./symbol.ts";
import { Side } from "./trade.ts";
import { platformKinds, StatusReason } from "./transaction.ts";

/** Sequence number of an item in its feed: a whole number from 1, without leading zeros. */
export const Sequence = z.string().check(z.regex(/^[1-9]\d{0,14}$/, "must be a whole number from 1, as text"));

/** Human-readable text of a feed: control characters are removed, and the text is truncated if it is too long. */
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

/**
 * One item of a batch. `data` is validated for each item by its type: an invalid item is put aside and does not block
 * the others.
 */
const FeedItem = z.strictObject({
  seq: described(Sequence, "Sequence number assigned by the source."),
  type: described(
    z.string().check(z.minLength(1), z.maxLength(40)),
    "Item type: `execution`, `deal_reversal`, `order`, `swap`, `position_update`, `account_update`, " +
      "`balance_operation` or `symbol`. An unknown type is set aside and can be retried.",
  ),
  at: described(z.optional(z.unknown()), "Time of the item on the platform, RFC 3339."),
  data: described(z.optional(z.unknown()), "Content of the item; its members depend on `type`."),
});

/** `POST /feed/sources/{id}/batches`; an empty batch is a heartbeat. */
export const FeedBatch = z.strictObject({
  first_seq: described(Sequence, "Sequence number of the first item; in an empty batch, of the next item."),
  items: described(
    z.array(FeedItem).check(z.maxLength(limits.feed.max_items)),
    "The items, in order of their sequence numbers.",
  ),
});

const nullable = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema));

const stops = { stop_loss: nullable(SignedDecimal), take_profit: nullable(SignedDecimal) };
const money = { profit: nullable(SignedMoney), commission: nullable(SignedMoney), swap: nullable(SignedMoney) };

/** A deal that opened a position or, with netting, changed one. */
export const FeedOpening = z.strictObject({
  action: z.literal("open"),
  platform_login: PlatformId,
  deal_id: PlatformId,
  position_id: PlatformId,
  order_id: nullable(PlatformId),
  symbol: SymbolName,
  side: Side,
  lots: Decimal,
  price: SignedDecimal,
  ...stops,
  ...money,
  margin_rate: nullable(Decimal),
});

/** A deal that closed a position, fully or by the given lots. */
export const FeedClosing = z.strictObject({
  action: z.literal("close"),
  platform_login: z.optional(PlatformId),
  deal_id: PlatformId,
  position_id: PlatformId,
  remaining_position_id: nullable(PlatformId),
  lots: nullable(Decimal),
  price: SignedDecimal,
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
  price: nullable(SignedDecimal),
  stop_price: nullable(SignedDecimal),
  limit_price: nullable(SignedDecimal),
  ...stops,
  expires_at: nullable(PlatformTime),
});

/** A pending order that has ended. */
export const FeedEndedOrder = z.strictObject({
  status: z.enum(["filled", "cancelled", "expired", "rejected"]),
  order_id: PlatformId,
  platform_login: z.optional(PlatformId),
  position_id: nullable(PlatformId),
});

/** An order. */
export const FeedOrder = z.discriminatedUnion("status", [FeedPendingOrder, FeedEndedOrder]);

/** Swap that a platform charged or credited for a night. */
export const FeedSwap = z.strictObject({ position_id: PlatformId, amount: SignedMoney, for_date: CalendarDate });

/**
 * Money that a platform moved to or from an account. `kind` determines the sign of deposits, withdrawals and credit;
 * the amounts of all other kinds are signed. `reference` is the transaction that the money belongs to, `deal_id` the
 * deal: of a commission, fee or swap that is charged after it.
 */
export const FeedBalanceOperation = z.strictObject({
  operation_id: PlatformId,
  platform_login: PlatformId,
  amount: SignedDecimal,
  kind: z.enum(["deposit", "withdrawal", "credit_in", "credit_out", ...platformKinds]),
  reference: nullable(PlatformId),
  deal_id: nullable(PlatformId),
});

/** A symbol with its terms. `market_status` can halt it; otherwise its sessions determine the status. */
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

/** Result of one item. */
export const FeedResult = z.object({
  seq: described(z.string(), "Sequence number assigned by the source."),
  status: described(
    ItemStatus,
    "`applied` now, `duplicate` of an item applied before, `rejected` and set aside, or `deferred`: send " +
      "it again.",
  ),
  code: described(z.optional(z.string()), "Reason why the item was rejected or deferred."),
  detail: described(z.optional(z.string()), "Human-readable explanation."),
  trade_id: described(z.optional(z.string()), "The trade that was opened or closed."),
  order_id: described(z.optional(z.string()), "The order that was created or changed."),
  transaction_id: described(
    z.optional(z.string()),
    "The transaction that the money belongs to or that was created from it.",
  ),
  command_id: described(
    z.optional(z.string()),
    "The command that the operation has carried out and that books nothing: it corrects a drift, or makes the " +
      "platform follow what is booked here.",
  ),
  reported_at: described(
    z.optional(Timestamp),
    "The time that the item says, where it is not booked at it: more than five minutes ahead of the clock of the " +
      "service, or before 2000. It is booked at its receipt. Check the clock and the time zone of the platform.",
  ),
  related_to: described(z.optional(z.string()), "The transaction that the item refers to without being its money."),
  candidates: described(
    z.optional(z.array(z.string())),
    "With `possible_duplicate`: transactions and commands that the money could belong to.",
  ),
});

/** Result of a batch. Items after `accepted_through` must be sent again. */
export const FeedReceipt = z.object({
  object: described(z.literal("feed_receipt"), "Resource type; always this value."),
  accepted_through: described(
    z.nullable(z.string()),
    "Sequence number up to which all items are settled; null before the first item.",
  ),
  expected_next_seq: described(z.string(), "Sequence number expected for the next item."),
  results: described(z.array(FeedResult), "Result of each item, in the order of the request."),
});

/** `POST /feed/sources/{id}/quotes` */
export const FeedQuotes = z.strictObject({
  epoch: described(z.optional(z.int().check(z.minimum(1))), "Epoch of these prices; the first epoch if omitted."),
  quotes: described(
    z
      .array(
        z.strictObject({
          symbol: described(SymbolName, "Symbol name."),
          bid: described(SignedDecimal, "Bid: the price to sell at."),
          ask: described(SignedDecimal, "Ask: the price to buy at."),
          time: described(PlatformTime, "Time of the quote at the source."),
          seq: described(Sequence, "Sequence number assigned by the source."),
        }),
      )
      .check(z.minLength(1), z.maxLength(limits.feed.max_quotes)),
    "Prices.",
  ),
});

/** Result of one quote. */
export const FeedQuoteResult = z.object({
  symbol: described(z.string(), "Symbol name."),
  seq: described(z.string(), "Sequence number assigned by the source."),
  status: described(
    z.enum(["accepted", "put_aside", "ignored", "refused"]),
    "Whether the quote was accepted, held for confirmation (`put_aside`), ignored or refused.",
  ),
  code: described(
    z.optional(
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
    "Reason why the quote was not accepted.",
  ),
});

/** Result of a request with quotes. */
export const FeedQuoteReceipt = z.object({
  object: described(z.literal("feed_quote_receipt"), "Resource type; always this value."),
  accepted: described(z.int(), "Number of quotes that were accepted."),
  results: described(z.array(FeedQuoteResult), "Result of each item, in the order of the request."),
});

/** Query of `GET /feed/sources/{id}/rejects`. */
export const ListFeedRejectsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(["open", "resolved"])), "Statuses, separated by commas."),
  sort: described(z.optional(z.enum(["seq"])), "Sort order; a leading hyphen means descending."),
});

/** `POST /feed/sources/{id}/rejects/{seq}/retry`: an operator's decision on which transaction the money belongs to. */
export const RetryFeedRejectRequest = z
  .strictObject({
    transaction_id: described(
      z.optional(id("txn")),
      "The transaction that the money belongs to; not with `confirm_new`.",
    ),
    command_id: described(
      z.optional(id("cmd")),
      "The command that the operation has carried out; not with `transaction_id` or `confirm_new`.",
    ),
    confirm_new: described(
      z.optional(z.literal(true)),
      "Confirms that the money is new although a transaction has the same amount, or its transaction has ended.",
    ),
    take_back: described(
      z.optional(z.literal(true)),
      "Asks the platform to take back money whose transaction has ended without approvals.",
    ),
  })
  .check(
    z.refine(
      (said) => Object.values(said).filter((value) => value !== undefined).length <= 1,
      "must hold at most one of transaction_id, command_id, confirm_new and take_back",
    ),
  );

/** `POST /feed/sources/{id}/rejects/{seq}/dismiss` */
export const DismissFeedRejectRequest = z.strictObject({
  reason: described(StatusReason, "Why the item is never applied."),
});

/** A rejected item as received, with the reason of the last attempt. */
export const FeedReject = z.object({
  object: described(z.literal("feed_reject"), "Resource type; always this value."),
  reject_id: described(
    z.string(),
    "Identifier of the reject at its source: `seq`, with a suffix if another item was rejected at that number.",
  ),
  source_id: described(z.string(), "Feed source identifier."),
  seq: described(z.string(), "Sequence number assigned by the source."),
  status: described(z.enum(["open", "resolved"]), "Whether the item is `open` or `resolved`."),
  item: described(z.record(z.string(), z.unknown()), "The item as received."),
  code: described(z.string(), "Reason of the last attempt."),
  detail: described(z.string(), "Human-readable explanation."),
  errors: described(
    z.array(
      z.object({
        pointer: described(z.string(), "JSON Pointer into the body, as a URI fragment: `#/email` (RFC 6901)."),
        code: described(z.string(), "Machine-readable error code."),
        detail: described(z.string(), "Human-readable explanation."),
      }),
    ),
    "Validation errors, one entry per field.",
  ),
  candidates: described(
    z.array(z.string()),
    "With `possible_duplicate`: transactions and commands that the money could belong to; empty otherwise.",
  ),
  booked: described(
    z.nullable(z.record(z.string(), z.string())),
    "With `deal_conflict`: what was applied under the name of the item, numbers in shortest form; null otherwise.",
  ),
  resolution: described(
    z.nullable(z.enum(["applied", "in_baseline", "dismissed"])),
    "`applied`, `in_baseline` if its account was adopted from a snapshot that includes the item, or `dismissed`; " +
      "null while open.",
  ),
  reason: described(z.nullable(StatusReason), "Why the item was dismissed; null unless it was."),
  tries: described(z.int(), "Number of attempts to apply the item."),
  ...ownFields,
});

/** A batch on the wire. */
export type FeedBatchBody = z.infer<typeof FeedBatch>;
/** Result of an item, on the wire. */
export type FeedResultBody = z.infer<typeof FeedResult>;
/** Result of a batch, on the wire. */
export type FeedReceiptBody = z.infer<typeof FeedReceipt>;
/** A reject on the wire. */
export type FeedRejectBody = z.infer<typeof FeedReject>;
/** Prices on the wire. */
export type FeedQuotesBody = z.infer<typeof FeedQuotes>;
/** An operator's decision on an item that is retried, on the wire. */
export type RetryFeedReject = z.infer<typeof RetryFeedRejectRequest>;
/** Result of a request with quotes, on the wire. */
export type FeedQuoteReceiptBody = z.infer<typeof FeedQuoteReceipt>;
/** The data of each type of item, on the wire. */
export interface FeedData {
  readonly execution: z.infer<typeof FeedExecution>;
  readonly order: z.infer<typeof FeedOrder>;
  readonly swap: z.infer<typeof FeedSwap>;
  readonly position_update: z.infer<typeof FeedPositionUpdate>;
  readonly deal_reversal: z.infer<typeof FeedDealReversal>;
  readonly account_update: z.infer<typeof FeedAccountUpdate>;
  readonly balance_operation: z.infer<typeof FeedBalanceOperation>;
  readonly symbol: z.infer<typeof FeedSymbol>;
}
