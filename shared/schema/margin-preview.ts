import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { AccountBalanceDetails } from "./account.ts";
import { described } from "./described.ts";
import { id, Money, ownFields } from "./fields.ts";
import { MoneyInput } from "./money.ts";
import { Decimal, SignedDecimal, SymbolName } from "./symbol.ts";
import { Side } from "./trade.ts";

const { preview_prices, preview_closes, preview_opens, preview_first_prices } = limits.trading;

/** `POST /accounts/{id}/margin_preview`: what is tried, in this order: prices, leverage, money, closes, opens. */
export const MarginPreviewRequest = z.strictObject({
  prices: described(
    z.optional(
      z
        .array(
          z.strictObject({
            symbol: described(SymbolName, "Symbol name."),
            bid: described(SignedDecimal, "Bid to try."),
            ask: described(SignedDecimal, "Ask to try; at least the bid."),
          }),
        )
        .check(z.maxLength(preview_prices)),
    ),
    "Prices to value the account at; they also convert currencies. All others are the latest ones.",
  ),
  leverage: described(z.optional(z.int().check(z.minimum(1), z.maximum(1000))), "Leverage of the account to try."),
  deposit: described(z.optional(MoneyInput), "Amount of a deposit that is completed, in the account's currency."),
  withdrawal: described(
    z.optional(MoneyInput),
    "Amount of a withdrawal that is paid, in the account's currency; excludes `deposit`.",
  ),
  closes: described(
    z.optional(
      z
        .array(
          z.strictObject({
            position_id: described(id("pos"), "Open position."),
            lots: described(z.optional(Decimal), "Volume to close, in lots; the whole position if omitted."),
          }),
        )
        .check(z.maxLength(preview_closes)),
    ),
    "Positions to close, in this order.",
  ),
  opens: described(
    z.optional(
      z
        .array(
          z.strictObject({
            symbol: described(SymbolName, "Symbol name."),
            side: described(Side, "Side: `buy` or `sell`."),
            lots: described(Decimal, "Volume in lots."),
            price: described(z.optional(SignedDecimal), "Price of the execution; the latest one if omitted."),
          }),
        )
        .check(z.maxLength(preview_opens)),
    ),
    "Trades to open, in this order. With netting a trade raises, closes or reverses the position of its symbol.",
  ),
});

const TriedPrice = z.object({
  bid: described(SignedDecimal, "Bid."),
  ask: described(SignedDecimal, "Ask, with the spread of now."),
});

const FirstPricePair = z.object({
  margin_call: described(
    z.nullable(TriedPrice),
    "First price at which the account is in a margin call; null if it is there already, or if no price from one " +
      "point to twice the bid takes it there.",
  ),
  stop_out: described(z.nullable(TriedPrice), "The same for the stop-out level."),
});

const FirstPrice = z.object({
  symbol: described(SymbolName, "Symbol name."),
  down: described(FirstPricePair, "First prices below the price of now."),
  up: described(FirstPricePair, "First prices above the price of now."),
});

const PreviewResult = z.object({
  pointer: described(z.string(), "Part of the request: `#/closes/0`."),
  commission: described(Money, "Commission that it books."),
  gross_pnl: described(Money, "Profit or loss that it realises, before costs."),
  net_pnl: described(Money, "Profit or loss with swap and commission."),
  used_margin: described(Money, "Used margin of the account after it."),
});

const PreviewRefusal = z.object({
  pointer: described(z.string(), "Part of the request: `#/opens/0`."),
  code: described(z.string(), "Problem code that the operation itself would be refused with now."),
  detail: described(z.string(), "Human-readable reason."),
});

/** State of an account after the steps. */
export const MarginPreview = z.object({
  object: described(z.literal("margin_preview"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  before: described(AccountBalanceDetails, "The account now, as `GET /accounts/{id}/balance` shows it."),
  after: described(AccountBalanceDetails, "The account after all parts of the request."),
  results: described(z.array(PreviewResult), "What each close and each open books."),
  refusals: described(z.array(PreviewRefusal), "Why a part would be refused now; the figures are computed regardless."),
  first_prices: described(
    z.array(FirstPrice),
    "The next margin call and stop-out by the price of one symbol while all others stand, for up to " +
      `${preview_first_prices} symbols of the account after the request, the largest margin first.`,
  ),
  omitted_symbols: described(z.array(z.string()), "Symbols that are not among them."),
  _links: ownFields._links,
});

/** Steps to try on an account, on the wire. */
export type PreviewMargin = z.infer<typeof MarginPreviewRequest>;
/** State of an account after the steps, on the wire. */
export type MarginPreviewBody = z.infer<typeof MarginPreview>;
/** The first prices of one symbol, on the wire. */
export type FirstPriceBody = z.infer<typeof FirstPrice>;
