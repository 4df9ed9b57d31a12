import * as z from "zod/mini";
import { limits } from "../limits.ts";
import {
  Currency,
  createdRange,
  id,
  identifier,
  listOf,
  Metadata,
  MetadataPatch,
  Money,
  name,
  Percent,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  text,
  ulid,
} from "./fields.ts";

const AccountType = z.enum(["live", "demo"]);
const AccountStatus = z.enum(["active", "disabled", "closed"]);
const MarginStatus = z.enum(["normal", "margin_call", "stop_out"]);
const Platform = z.enum(["internal", "mt4", "mt5", "ctrader", "other"]);
const StopOutOrder = z.enum(["most_losing_first", "most_margin_first"]);
const StopOutMode = z.enum(["full", "partial"]);
const PositionMode = z.enum(["hedging", "netting"]);
const MarginCalculation = z.enum(["max", "sum", "net"]);

/** `POST /accounts`: the client is enough. */
export const CreateAccountRequest = z.strictObject({
  client_id: id("cli"),
  number: z.optional(z.string().check(z.regex(/^\d{8,10}$/, "must be 8 to 10 digits"))),
  type: z.optional(AccountType),
  currency: z.optional(Currency),
  group_id: z.optional(identifier(64)),
  name: z.optional(z.nullable(name(100))),
  leverage: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
  position_mode: z.optional(PositionMode),
  margin_calculation: z.optional(MarginCalculation),
  platform: z.optional(Platform),
  platform_login: z.optional(z.nullable(identifier(64))),
  swap_free: z.optional(z.boolean()),
  negative_balance_protection: z.optional(z.boolean()),
  margin_call_level: z.optional(Percent),
  stop_out_level: z.optional(Percent),
  margin_rearm_level: z.optional(Percent),
  stop_out_order: z.optional(StopOutOrder),
  stop_out_mode: z.optional(StopOutMode),
  metadata: z.optional(Metadata),
});

/** `PATCH /accounts/{id}`, a merge patch (RFC 7396). */
export const UpdateAccountRequest = z.strictObject({
  name: z.optional(z.nullable(name(100))),
  leverage: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
  group_id: z.optional(identifier(64)),
  platform_login: z.optional(z.nullable(identifier(64))),
  swap_free: z.optional(z.boolean()),
  trading_mode: z.optional(z.enum(["full", "close_only", "none"])),
  margin_call_level: z.optional(Percent),
  stop_out_level: z.optional(Percent),
  margin_rearm_level: z.optional(Percent),
  status: z.optional(AccountStatus),
  disabled_reason: z.optional(z.nullable(text(500))),
  force: z.optional(z.boolean()),
  metadata: z.optional(MetadataPatch),
});

/** Amounts of an account, each computed from its balance item. */
const money = {
  balance: Money,
  credit: Money,
  held: Money,
  available_balance: Money,
  floating_pnl: Money,
  equity: Money,
  used_margin: Money,
  free_margin: Money,
  margin_level: z.nullable(z.string()),
  withdrawable: Money,
};

/** `GET /accounts/{id}/balance`: the money of an account alone. */
export const AccountBalance = z.object({
  object: z.literal("account_balance"),
  account_id: z.string(),
  currency: Currency,
  ...money,
  margin_status: MarginStatus,
  metrics_as_of: Timestamp,
  metrics_stale: z.boolean(),
  balance_version: z.int(),
  _links: resourceFields._links,
});

/** Query of `GET /accounts/metrics`. */
export const AccountMetricsQuery = z.strictObject({
  account_ids: listOf(`acc_${ulid}`, limits.page.max_items, `up to ${limits.page.max_items} account ids`),
});

/** `GET /accounts/metrics`: the money of several accounts at the newest prices. */
export const AccountMetrics = z.object({
  object: z.literal("account_metrics"),
  data: z.array(AccountBalance),
  missing: z.array(z.string()),
  _links: resourceFields._links,
});

/** Query of `GET /accounts/margin_watch`. */
export const ListMarginWatchQuery = z.strictObject({
  ...pageParameters,
  margin_status: z.optional(setOf(MarginStatus.options)),
  sort: z.optional(z.enum(["margin_level"])),
});

/** An account with open positions on the list of margin levels: how it stands now, and at its last evaluation. */
export const WatchedAccount = z.object({
  ...AccountBalance.shape,
  object: z.literal("watched_account"),
  client_id: z.string(),
  evaluated_at: Timestamp,
  evaluated_margin_level: z.nullable(z.string()),
  liquidating: z.boolean(),
});

/** Query of `GET /accounts`. */
export const ListAccountsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: z.optional(setOf(AccountStatus.options)),
  type: z.optional(setOf(AccountType.options)),
  currency: z.optional(setOf(Currency.options)),
  group_id: z.optional(identifier(64)),
  number: z.optional(z.string().check(z.regex(/^\d{8,10}$/, "must be 8 to 10 digits"))),
  platform_login: z.optional(identifier(64)),
  margin_status: z.optional(setOf(MarginStatus.options)),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** An account as the API shows it; the money fields are computed from its balance item. */
export const TradingAccount = z.object({
  id: z.string(),
  object: z.literal("account"),
  number: z.string(),
  client_id: z.string(),
  type: AccountType,
  group_id: z.string(),
  name: z.nullable(z.string()),
  currency: Currency,
  leverage: z.int(),
  position_mode: PositionMode,
  margin_calculation: MarginCalculation,
  platform: Platform,
  platform_login: z.nullable(z.string()),
  swap_free: z.boolean(),
  negative_balance_protection: z.boolean(),
  status: AccountStatus,
  trading_mode: z.enum(["full", "close_only", "none"]),
  ...money,
  margin_status: MarginStatus,
  margin_call_level: Percent,
  stop_out_level: Percent,
  margin_rearm_level: Percent,
  stop_out_order: StopOutOrder,
  stop_out_mode: StopOutMode,
  metrics_as_of: Timestamp,
  metrics_stale: z.boolean(),
  balance_version: z.int(),
  disabled_at: z.nullable(Timestamp),
  disabled_reason: z.nullable(z.string()),
  closed_at: z.nullable(Timestamp),
  ...resourceFields,
});

/** The money of an account at one moment of a liquidation. */
export const MarginMoney = z.object({
  ...money,
  margin_status: MarginStatus,
  metrics_as_of: Timestamp,
  metrics_stale: z.boolean(),
});

/** What a liquidation came to, in all its steps. */
export const Liquidation = z.object({
  order: StopOutOrder,
  mode: StopOutMode,
  started_at: Timestamp,
  before: MarginMoney,
  after: MarginMoney,
  closed_trade_ids: z.array(z.string()),
});

/** An account as the event `stop.out` shows it. */
export const LiquidatedAccount = z.object({ ...TradingAccount.shape, stop_out: Liquidation });

/** Kinds of a ledger entry. */
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
  kind: z.optional(setOf(LedgerKind.options)),
  sort: z.optional(z.enum(["-balance_version", "balance_version"])),
});

/** One posting on an account. `balance_version` counts the postings of the account from 1 without a gap. */
export const LedgerEntry = z.object({
  id: z.string(),
  object: z.literal("ledger_entry"),
  account_id: z.string(),
  kind: LedgerKind,
  amount: Money,
  currency: Currency,
  balance_before: Money,
  balance_after: Money,
  balance_version: z.int(),
  transaction_id: z.nullable(z.string()),
  trade_id: z.nullable(z.string()),
  created_at: Timestamp,
  _links: resourceFields._links,
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
/** The money of several accounts on the wire. */
export type AccountMetricsBody = z.infer<typeof AccountMetrics>;
/** An account on the list of margin levels on the wire. */
export type WatchedAccountBody = z.infer<typeof WatchedAccount>;
/** The money of an account on the wire. */
export type AccountBalanceBody = z.infer<typeof AccountBalance>;
