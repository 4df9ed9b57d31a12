import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { LedgerKind, TradingAccount } from "./account.ts";
import { described } from "./described.ts";
import { CalendarDate, Currency, currencyText, Money, ownFields, Timestamp, tableFormat } from "./fields.ts";
import { Letterhead } from "./settings.ts";

/** Query of `GET /accounts/{id}/statement`. */
export const StatementQuery = z.strictObject({
  from: described(CalendarDate, "First day of the brokerage."),
  to: described(
    CalendarDate,
    `Last day of the brokerage, at most ${limits.statements.max_days} days with the first. Days that have not begun ` +
      "are left out.",
  ),
  format: tableFormat,
});

const moves = described(z.enum(["balance", "credit"]), "What the entries change.");
const both = z.object({
  balance: described(Money, "Balance."),
  credit: described(Money, "Credit."),
});

const StatementEntry = z.object({
  version: described(z.int(), "Number of the entry on the account."),
  created_at: described(Timestamp, "Time of the entry."),
  kind: described(LedgerKind, "Type of the entry."),
  moves,
  amount: described(Money, "Amount of the entry, with its sign."),
  balance_after: described(Money, "Balance after the entry."),
  credit_after: described(Money, "Credit after the entry."),
  transaction_id: described(z.nullable(z.string()), "The transaction that was booked; null for other entries."),
  trade_id: described(z.nullable(z.string()), "The trade whose result was booked; null for other entries."),
});

/** The figures of a statement, which its hash is of. */
const StatementFigures = z.object({
  figures_version: described(z.literal(1), "Version of this list of members."),
  account_id: described(z.string(), "Account identifier."),
  currency: described(Currency, currencyText),
  from: described(CalendarDate, "First day of the statement."),
  to: described(CalendarDate, "Last day of the statement."),
  starts_at: described(Timestamp, "Start of the first day."),
  ends_at: described(Timestamp, "End of the last day; what is booked at it is of the next one."),
  first_version: described(z.nullable(z.int()), "Number of the first entry; null if there is none."),
  last_version: described(z.nullable(z.int()), "Number of the last entry; null if there is none."),
  opening: described(both, "Balance and credit before the first entry."),
  entries: described(z.array(StatementEntry), "The entries in the order of their times."),
  totals: described(
    z.array(
      z.object({
        kind: described(LedgerKind, "Type of the entries."),
        moves,
        count: described(z.int(), "Number of entries."),
        amount: described(Money, "Sum of their amounts."),
      }),
    ),
    "Sums of the entries by their type.",
  ),
  closing: described(both, "Balance and credit after the last entry."),
});

/** Trades whose results are among the entries. */
const StatementTrade = z.object({
  id: described(z.string(), "Trade identifier."),
  symbol: described(z.string(), "Symbol."),
  side: described(z.enum(["buy", "sell"]), "Side."),
  lots: described(z.string(), "Volume in lots."),
  open_price: described(z.string(), "Price at which it was opened."),
  close_price: described(z.nullable(z.string()), "Price at which it was closed; null while it is open."),
});

/** A statement of an account. */
export const Statement = z.object({
  object: described(z.literal("statement"), "Resource type; always this value."),
  final: described(z.boolean(), "Whether the last day is closed: then the figures do not change any more."),
  content_sha256: described(z.string(), "SHA-256 of `figures` in canonical JSON (RFC 8785), in hexadecimal digits."),
  figures: described(StatementFigures, "Figures of the statement, which the hash is of."),
  held: described(z.nullable(Money), "Amount that is reserved now; null of a final statement: it is no movement."),
  trades: described(z.array(StatementTrade), "Trades that entries of the result of a trade name."),
  account: described(
    z.object({
      number: TradingAccount.shape.number,
      type: TradingAccount.shape.type,
      name: TradingAccount.shape.name,
      platform: TradingAccount.shape.platform,
      platform_login: TradingAccount.shape.platform_login,
    }),
    "The account as it is now.",
  ),
  client: described(
    z.nullable(
      z.object({
        id: described(z.string(), "Client identifier."),
        name: described(z.string(), "Name of the client."),
        address: described(z.array(z.string()), "Lines of the address."),
      }),
    ),
    "The client as they are now; null without the scope `clients:read`.",
  ),
  brokerage: described(Letterhead, "Letterhead of the brokerage as it is now."),
  _links: ownFields._links,
});

/** A statement on the wire. */
export type StatementBody = z.infer<typeof Statement>;
