import type { FeedData } from "../../schema/feed.ts";
import type { OwnedAccount } from "../accounts/amend-account.ts";
import { type Context, later, refuse } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { amendHoldings } from "../trading/amend-holdings.ts";
import type { Market } from "../trading/pricing/quote.ts";
import type { WatchedState } from "../trading/stored-risk.ts";
import type { Made } from "./apply.ts";

/**
 * Decides what a platform changed of an account. It applies as it happened: neither the largest leverage of a retail
 * client, the margin that a lower one takes nor a running liquidation refuses it. The trading mode of a disabled
 * account is stored for its return; that a linked one has no access is the effect of its disable.
 */
export function updateAccount(
  state: WatchedState & Pick<OwnedAccount, "client">,
  market: Market,
  { group, leverage, access }: FeedData["account_update"],
  context: Context,
): TradingDecision<Made> {
  const { account, balance, client } = state;
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  const active = account.status === "active";
  const patch = {
    ...(group === undefined ? {} : { group_id: group }),
    ...(leverage === undefined ? {} : { leverage }),
    ...(access === undefined || !active ? {} : { trading_mode: access }),
  };
  const amended = amendHoldings({ account, balance, client }, state, patch, market, context, true);
  if (!amended.ok) return amended;
  const decision = { ...amended, result: {} };
  const disabled = access === "none" && account.source_id !== null;
  if (access === undefined || active || disabled || access === account.trading_mode_before) return decision;
  return { ...decision, changes: withModeBefore(decision.changes, account, access, context) };
}

function withModeBefore(
  changes: Extract<TradingDecision<Made>, { ok: true }>["changes"],
  before: Account,
  trading_mode_before: Account["trading_mode"],
  { now }: Context,
) {
  const own = changes.find((change) => change.op === "update" && change.entity === "account");
  if (own === undefined) {
    const updated_at = later(before.updated_at, now);
    const after = { ...before, trading_mode_before, updated_at, version: before.version + 1 };
    return [...changes, { op: "update", entity: "account", before, after } as const];
  }
  return changes.map((change) =>
    change.op === "update" && change.entity === "account"
      ? { ...change, after: { ...change.after, trading_mode_before } }
      : change,
  );
}
