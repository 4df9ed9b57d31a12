import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { clientExpansion, expandedClient } from "./client.ts";
import { described } from "./described.ts";
import { PendingTerms } from "./feed/pending-terms.ts";
import {
  AccountType,
  Currency,
  createdRange,
  currencyText,
  id,
  identifier,
  listOf,
  Metadata,
  MetadataPatch,
  Money,
  name,
  ownFields,
  Percent,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  text,
  ulid,
} from "./fields.ts";
import { ProposedLink } from "./people/proposals.ts";

const rearmLevel =
  "Margin level above which another margin call can occur. A percentage with up to two decimals, such as `100.00`.";

/** Types and states of accounts. */
export const accountFacets = { type: AccountType.options, status: ["active", "disabled", "closed"] } as const;
const AccountStatus = z.enum(accountFacets.status);
const MarginStatus = z.enum(["normal", "margin_call", "stop_out"]);
const Platform = z.enum(["internal", "mt4", "mt5", "ctrader", "other"]);
const StopOutOrder = z.enum(["most_losing_first", "most_margin_first"]);
const StopOutMode = z.enum(["full", "partial"]);
const PositionMode = z.enum(["hedging", "netting"]);
const MarginCalculation = z.enum(["max", "sum", "net"]);
const ClientMoney = z.enum(["segregated", "title_transfer"]);
const clientMoneyText = "Whether the client's money is held apart or its title was transferred.";

/** Margin levels that a broker may set when an account is opened and later. */
const requestedLevels = {
  margin_call_level: described(
    z.optional(Percent),
    "Margin level that triggers a margin call. A percentage with up to two decimals, such as `100.00`.",
  ),
  stop_out_level: described(
    z.optional(Percent),
    "Margin level at which positions are closed automatically. A percentage with up to two decimals, " +
      "such as `100.00`.",
  ),
  margin_rearm_level: described(z.optional(Percent), rearmLevel),
};

/** Members that link an account to a platform, and what its money counts as, when it is opened and changed. */
const requestedLink = {
  platform_login: described(
    z.optional(z.nullable(identifier(64))),
    "Login on the trading platform; unique per source, or per platform without a source.",
  ),
  source_id: described(
    z.optional(z.nullable(id("src"))),
    "Feed source that the account is linked to; requires `platform_login`. The platform then moves the money of the " +
      "account, by commands.",
  ),
  swap_free: described(z.optional(z.boolean()), "Whether positions are exempt from swap."),
  client_money: described(z.optional(ClientMoney), clientMoneyText),
};

/** `POST /accounts`; only the client is required. */
export const CreateAccountRequest = z.strictObject({
  client_id: described(id("cli"), "Client identifier."),
  number: described(
    z.optional(z.string().check(z.regex(/^\d{8,10}$/, "must be 8 to 10 digits"))),
    "Account number of 8 to 10 digits, unique in the brokerage; assigned by the service if omitted.",
  ),
  type: described(z.optional(AccountType), "Account type: `live` or `demo`."),
  currency: described(z.optional(Currency), currencyText),
  group_id: described(z.optional(identifier(64)), "Group that the account belongs to."),
  name: described(z.optional(z.nullable(name(100))), "Display name."),
  leverage: described(
    z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
    "Leverage: 100 means 1:100. Retail clients are capped.",
  ),
  position_mode: described(
    z.optional(PositionMode),
    "Whether trades in one symbol are kept separate (`hedging`) or merged (`netting`).",
  ),
  margin_calculation: described(
    z.optional(MarginCalculation),
    "How opposite positions in one symbol share their margin.",
  ),
  platform: described(z.optional(Platform), "Trading platform that the account is kept on."),
  ...requestedLink,
  negative_balance_protection: described(
    z.optional(z.boolean()),
    "Whether the brokerage covers a negative balance caused by trading.",
  ),
  ...requestedLevels,
  stop_out_order: described(z.optional(StopOutOrder), "Order in which a stop-out closes positions."),
  stop_out_mode: described(
    z.optional(StopOutMode),
    "Whether a stop-out closes positions in full or only as much as needed.",
  ),
  metadata: described(
    z.optional(Metadata),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
});

/** `PATCH /accounts/{id}`, a merge patch (RFC 7396). */
export const UpdateAccountRequest = z.strictObject({
  name: described(z.optional(z.nullable(name(100))), "Display name."),
  leverage: described(
    z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
    "Leverage: 100 means 1:100. Retail clients are capped.",
  ),
  group_id: described(z.optional(identifier(64)), "Group that the account belongs to."),
  ...requestedLink,
  trading_mode: described(
    z.optional(z.enum(["full", "close_only", "none"])),
    "Allowed trading: `full`, `close_only` or `none`.",
  ),
  ...requestedLevels,
  status: described(z.optional(AccountStatus), "Account status."),
  disabled_reason: described(z.optional(z.nullable(text(500))), "Reason for disabling; null if it is not disabled."),
  force: described(
    z.optional(z.boolean()),
    "With `leverage`: apply it even if it takes the account to its margin call level.",
  ),
  metadata: described(
    z.optional(MetadataPatch),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
});

/** Amounts of an account, each computed from its balance item. */
const money = {
  balance: described(Money, "Sum of all ledger entries that move the balance."),
  credit: described(Money, "Credit granted by the brokerage; it supports trades and cannot be withdrawn."),
  held: described(
    Money,
    "Amount reserved for undecided withdrawals, and for reported debits that are set aside as possible duplicates.",
  ),
  available_balance: described(
    Money,
    "Balance minus held amounts: the upper limit of a withdrawal, subject to open positions.",
  ),
  floating_pnl: described(Money, "Unrealised profit or loss of the open positions at the latest prices."),
  equity: described(Money, "Balance plus credit plus floating profit or loss."),
  used_margin: described(Money, "Margin required by the open positions."),
  free_margin: described(Money, "Equity that is neither used as margin nor held."),
  margin_level: described(
    z.nullable(z.string()),
    "Equity as a percentage of the used margin, truncated to two decimals; null without open positions.",
  ),
  withdrawable: described(Money, "Maximum amount that can be withdrawn now."),
};

/** Balance and margin figures of an account. */
export const AccountBalance = z.object({
  object: described(z.literal("account_balance"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  currency: described(Currency, currencyText),
  ...money,
  margin_status: described(MarginStatus, "Margin status: `normal`, in a margin call or in a stop-out."),
  metrics_as_of: described(Timestamp, "Time of the oldest price that the amounts are based on."),
  metrics_stale: described(z.boolean(), "Whether a price that the amounts are based on is too old."),
  balance_version: described(z.int(), "Number of the account's last ledger entry, counted from 1 without gaps."),
  _links: ownFields._links,
});

/** A part of the credit of an account, as one transaction granted it. */
const CreditLot = z.object({
  transaction_id: described(z.nullable(z.string()), "The transaction that granted the credit; null if there is none."),
  amount: described(Money, "What is left of it."),
  expires_at: described(z.nullable(Timestamp), "Time at which what is left ends; null if it does not."),
});

/** `GET /accounts/{id}/balance`: the figures with the parts that the credit consists of. */
export const AccountBalanceDetails = z.object({
  ...AccountBalance.shape,
  credit_lots: described(z.array(CreditLot), "Parts of the credit, in the order in which they are used."),
});

/** Query of `GET /accounts/metrics`. */
export const AccountMetricsQuery = z.strictObject({
  account_ids: described(
    listOf(`acc_${ulid}`, limits.page.max_items, `up to ${limits.page.max_items} account ids`),
    "Account identifiers, separated by commas; at most 100.",
  ),
});

/** `GET /accounts/metrics`: balance and margin figures of several accounts at the latest prices. */
export const AccountMetrics = z.object({
  object: described(z.literal("account_metrics"), "Resource type; always this value."),
  data: described(z.array(AccountBalance), "The accounts, in the requested order."),
  missing: described(z.array(z.string()), "Requested identifiers that match no account."),
  _links: ownFields._links,
});

/** Query of `GET /accounts/margin_watch`. */
export const ListMarginWatchQuery = z.strictObject({
  ...{ ...pageParameters, ...clientExpansion },
  margin_status: described(z.optional(setOf(MarginStatus.options)), "Margin statuses, separated by commas."),
  sort: described(z.optional(z.enum(["margin_level"])), "Sort order; a leading hyphen means descending."),
});

/** An account with open positions in the list of margin levels: its current figures and its last evaluation. */
export const WatchedAccount = z.object({
  ...AccountBalance.shape,
  object: described(z.literal("watched_account"), "Resource type; always this value."),
  client_id: described(z.string(), "Client identifier."),
  evaluated_at: described(Timestamp, "Time at which the margin was last recorded."),
  evaluated_margin_level: described(
    z.nullable(z.string()),
    "Margin level that was last recorded; the list is sorted by it.",
  ),
  liquidating: described(z.boolean(), "Whether a stop-out is closing the account's positions."),
  ...expandedClient,
});

/** Query of `GET /accounts`. */
export const ListAccountsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(AccountStatus.options)), "Account statuses, separated by commas."),
  type: described(z.optional(setOf(AccountType.options)), "Account types, separated by commas."),
  currency: described(z.optional(setOf(Currency.options)), "Currency codes, separated by commas."),
  group_id: described(z.optional(identifier(64)), "Group of accounts."),
  number: described(z.optional(z.string().check(z.regex(/^\d{8,10}$/, "must be 8 to 10 digits"))), "Account number."),
  platform_login: described(z.optional(identifier(64)), "Login on the trading platform."),
  margin_status: described(z.optional(setOf(MarginStatus.options)), "Margin statuses, separated by commas."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
  ...clientExpansion,
});

/** An account in responses; its amounts are computed from its balance item. */
export const TradingAccount = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("account"), "Resource type; always this value."),
  number: described(
    z.string(),
    "Account number of 8 to 10 digits, unique in the brokerage; assigned by the service if omitted.",
  ),
  client_id: described(z.string(), "Client identifier."),
  type: described(AccountType, "Account type: `live` or `demo`."),
  group_id: described(z.string(), "Group that the account belongs to."),
  name: described(z.nullable(z.string()), "Display name; null if there is none."),
  currency: described(Currency, currencyText),
  leverage: described(z.int(), "Leverage: 100 means 1:100. Retail clients are capped."),
  position_mode: described(
    PositionMode,
    "Whether trades in one symbol are kept separate (`hedging`) or merged (`netting`).",
  ),
  margin_calculation: described(MarginCalculation, "How opposite positions in one symbol share their margin."),
  platform: described(Platform, "Trading platform that the account is kept on."),
  platform_login: described(
    z.nullable(z.string()),
    "Login on the trading platform; unique per source, or per platform without a source.",
  ),
  source_id: described(
    z.nullable(z.string()),
    "Feed source that the account is linked to; null if its money is not moved by commands.",
  ),
  swap_free: described(z.boolean(), "Whether positions are exempt from swap."),
  client_money: described(ClientMoney, clientMoneyText),
  negative_balance_protection: described(
    z.boolean(),
    "Whether the brokerage covers a negative balance caused by trading.",
  ),
  status: described(AccountStatus, "Account status."),
  trading_mode: described(z.enum(["full", "close_only", "none"]), "Allowed trading: `full`, `close_only` or `none`."),
  pending: PendingTerms,
  proposed_link: described(z.nullable(ProposedLink), "Link that a second person must agree to; null if there is none."),
  ...money,
  margin_status: described(MarginStatus, "Margin status: `normal`, in a margin call or in a stop-out."),
  liquidation: described(
    z.optional(z.enum(["requested"])),
    "`requested` while the trading platform is asked to close positions; absent otherwise, and in lists and events.",
  ),
  margin_call_level: described(
    Percent,
    "Margin level that triggers a margin call. A percentage with up to two decimals, such as `100.00`.",
  ),
  stop_out_level: described(
    Percent,
    "Margin level at which positions are closed automatically. A percentage with up to two decimals, " +
      "such as `100.00`.",
  ),
  margin_rearm_level: described(Percent, rearmLevel),
  stop_out_order: described(StopOutOrder, "Order in which a stop-out closes positions."),
  stop_out_mode: described(StopOutMode, "Whether a stop-out closes positions in full or only as much as needed."),
  metrics_as_of: described(Timestamp, "Time of the oldest price that the amounts are based on."),
  metrics_stale: described(z.boolean(), "Whether a price that the amounts are based on is too old."),
  balance_version: described(z.int(), "Number of the account's last ledger entry, counted from 1 without gaps."),
  disabled_at: described(z.nullable(Timestamp), "Time of disabling; null while the account is not disabled."),
  disabled_reason: described(z.nullable(z.string()), "Reason for disabling; null if it is not disabled."),
  closed_at: described(z.nullable(Timestamp), "Time of closing; null while the account is not closed."),
  ...resourceFields,
  ...expandedClient,
});

/** Margin figures of an account at one moment of a liquidation. */
export const MarginMoney = z.object({
  ...money,
  margin_status: described(MarginStatus, "Margin status: `normal`, in a margin call or in a stop-out."),
  metrics_as_of: described(Timestamp, "Time of the oldest price that the amounts are based on."),
  metrics_stale: described(z.boolean(), "Whether a price that the amounts are based on is too old."),
});

/** Result of a liquidation, over all its steps. */
export const Liquidation = z.object({
  order: described(StopOutOrder, "Order in which positions were closed."),
  mode: described(StopOutMode, "Whether positions were closed in full or only as much as needed."),
  started_at: described(Timestamp, "Time of the first step."),
  before: described(MarginMoney, "Margin figures of the account before the first step."),
  after: described(MarginMoney, "Margin figures of the account after the last step."),
  closed_trade_ids: described(z.array(z.string()), "Closed trades, in order; each has its own `trade.closed` event."),
});

/** An account in the event `stop.out`. */
export const LiquidatedAccount = z.object({
  ...TradingAccount.shape,
  stop_out: described(Liquidation, "Result of the liquidation, over all its steps."),
});

/** Types of a ledger entry. */
export const LedgerKind = z.enum([
  "deposit",
  "withdrawal",
  "transfer_in",
  "transfer_out",
  "credit_in",
  "credit_out",
  "adjustment",
  "fee",
  "negative_balance_correction",
  "return",
  "realised_pnl",
  "swap",
  "commission",
  "dividend",
  "correction",
]);

/** Query of `GET /accounts/{id}/ledger`. */
export const ListLedgerQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  kind: described(z.optional(setOf(LedgerKind.options)), "Types of ledger entries, separated by commas."),
  sort: described(
    z.optional(z.enum(["-balance_version", "balance_version"])),
    "Sort order; a leading hyphen means descending.",
  ),
});

/** One posting on an account. `balance_version` numbers the postings of the account from 1 without gaps. */
export const LedgerEntry = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("ledger_entry"), "Resource type; always this value."),
  account_id: described(z.string(), "Account identifier."),
  kind: described(LedgerKind, "Type of the entry."),
  amount: described(Money, "Amount of the entry; negative if it reduced the balance or the credit."),
  currency: described(Currency, currencyText),
  moves: described(
    z.enum(["balance", "credit"]),
    "What the entry changes. One that moves credit leaves the balance as it is.",
  ),
  balance_before: described(Money, "Balance before the entry."),
  balance_after: described(Money, "Balance after the entry."),
  balance_version: described(z.int(), "Number of the entry on the account, counted from 1 without gaps."),
  transaction_id: described(z.nullable(z.string()), "The transaction that was booked; null for other entries."),
  trade_id: described(
    z.nullable(z.string()),
    "The trade whose profit, swap or commission was booked; null for other entries.",
  ),
  created_at: described(Timestamp, "Time of creation."),
  _links: ownFields._links,
});

/** Body of `POST /accounts` after validation. */
export type CreateAccount = z.infer<typeof CreateAccountRequest>;
/** An account on the wire. */
export type AccountBody = z.infer<typeof TradingAccount>;
/** A ledger entry on the wire. */
export type LedgerEntryBody = z.infer<typeof LedgerEntry>;
/** One ledger kind. */
export type LedgerKindName = z.infer<typeof LedgerKind>;
/** Body of `PATCH /accounts/{id}` after validation. */
export type UpdateAccount = z.infer<typeof UpdateAccountRequest>;
/** Balance and margin figures of several accounts on the wire. */
export type AccountMetricsBody = z.infer<typeof AccountMetrics>;
/** An account on the list of margin levels on the wire. */
export type WatchedAccountBody = z.infer<typeof WatchedAccount>;
/** Balance and margin figures of an account with its credit on the wire. */
export type AccountBalanceDetailsBody = z.infer<typeof AccountBalanceDetails>;
/** Balance and margin figures of an account on the wire. */
export type AccountBalanceBody = z.infer<typeof AccountBalance>;
