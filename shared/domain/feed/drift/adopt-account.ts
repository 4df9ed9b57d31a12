import { limits } from "../../../limits.ts";
import { amendAccount } from "../../accounts/amend-account.ts";
import { isAdjustment } from "../../accounts/balance.ts";
import { type Context, type DomainEvent, refuse, refuseField } from "../../kernel/decision.ts";
import { roundReported } from "../../kernel/money.ts";
import type { Balance } from "../../records/balance.ts";
import type { BalanceAdjustment } from "../../records/change.ts";
import type { Client } from "../../records/client.ts";
import type { Drift, DriftPositions } from "../../records/drift.ts";
import type { FeedSource } from "../../records/feed-source.ts";
import type { Tenant } from "../../records/tenant.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";
import type { TradingState } from "../../trading/open-trade.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import { withClaim } from "../command/money.ts";
import { mergedAdjustment } from "../merged-change.ts";
import { bookOperation, operationMinor } from "../platform-money.ts";
import { openPositions } from "./open-positions.ts";

/** An account that an unknown account of a platform is adopted with. */
export interface Adopting {
  readonly state: TradingState & { readonly client: Client };
  readonly market: Market;
  readonly source: FeedSource;
  readonly tenant: Tenant;
  /** All positions that the platform has. */
  readonly positions: DriftPositions["positions"];
}

/** Why an account cannot become that of a platform; undefined when it can: nothing was ever booked on it. */
export function refuseAccount({ platform_account }: Drift, { account, balance }: TradingState) {
  if (platform_account === undefined) {
    return refuse("illegal_transition", "It has more positions than an account of this service may have.");
  }
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  const linked = account.platform_login !== null || account.source_id !== null;
  const { seq, positions, pending, credit_minor } = balance;
  if (linked || seq + positions + pending > 0 || credit_minor !== 0n) {
    return refuseField("account_not_empty", "account_id", "The account is linked, or something was booked on it.");
  }
  return undefined;
}

/** The decisions so far, each made on what those before it leave, as one. */
class Steps {
  readonly changes: TradingChange[] = [];
  readonly events: DomainEvent[] = [];
  balance: Balance;

  constructor(balance: Balance) {
    this.balance = balance;
  }

  /** Adds a decision; its change of the balance becomes part of the one before. */
  add({ changes, events }: Extract<TradingDecision<unknown>, { ok: true }>): void {
    for (const change of changes) {
      if (isAdjustment(change)) this.adjust(change);
      else this.changes.push(change);
    }
    this.events.push(...events);
  }

  private adjust(change: BalanceAdjustment): void {
    this.balance = change.after;
    const place = this.changes.findIndex(isAdjustment);
    const first = this.changes[place];
    if (first === undefined || !isAdjustment(first)) {
      this.changes.push(change);
      return;
    }
    const both = mergedAdjustment(first, change);
    if (both === undefined) throw new Error("Two changes of a balance are not one.");
    this.changes[place] = both;
  }
}

/**
 * Links an account and books what its platform has: the balance and the credit as operations of the platform, and its
 * positions at their opening prices, without money. Everything has the number of the snapshot, and so has the account:
 * items up to it are part of what was adopted. More positions than one commit can hold are opened by steps that follow,
 * where all of them can be opened now.
 * @returns the transaction of the opening balance, or null where it is 0
 */
export function adoptAccount(
  { state, market, source, tenant, positions }: Adopting,
  drift: Drift,
  given: Context,
): TradingDecision<string | null> {
  const { platform_account: theirs, as_of_seq, taken_at } = drift;
  if (theirs === undefined) throw new Error("Nothing to adopt.");
  const context: Context = { ...given, cause: { source_id: source.id, feed_seq: as_of_seq } };
  const steps = new Steps(state.balance);
  const link = { source_id: source.id, platform_login: drift.platform_login };
  const linked = amendAccount({ ...state, source }, link, context);
  if (!linked.ok) return linked;
  const inSteps = positions.length > limits.snapshots.baseline_positions;
  const baseline = { source_id: source.id, as_of_seq };
  const marks = inSteps ? { baseline, opening: { drift_id: drift.id, taken: 0 } } : { baseline };
  const changes = linked.changes.map((change) =>
    change.op === "update" && change.entity === "account"
      ? { ...change, after: { ...change.after, ...marks } }
      : change,
  );
  steps.add({ ...linked, changes });
  const { account } = linked.result;
  let opening: string | null = null;
  for (const [kind, amount] of [
    ["adjustment", theirs.balance],
    ["credit_in", theirs.credit],
  ] as const) {
    const operation = { kind, amount, operation_id: `${drift.id}-${kind}`, platform_login: drift.platform_login };
    if (roundReported(amount, account.currency) === 0n) continue;
    const minor = operationMinor(operation, account);
    if (!minor.ok) return minor;
    const booked = bookOperation(
      { account, balance: steps.balance, floating_minor: 0n },
      operation,
      minor.result,
      { tenant, related: null },
      { source, at: taken_at },
      context,
    );
    if (!booked.ok) return booked;
    const evidence = { source, operation_id: operation.operation_id, at: taken_at, confirmed: true };
    const claimed = withClaim(booked, evidence, booked.result);
    if (!claimed.ok) return claimed;
    steps.add(claimed);
    if (kind === "adjustment") opening = booked.result.id;
  }
  const linkedState = { ...state, account, balance: steps.balance };
  const held = openPositions({ state: linkedState, market, source }, positions, drift, context);
  if (!held.ok) return held;
  if (!inSteps) steps.add(held);
  return { ok: true, result: opening, changes: steps.changes, events: steps.events };
}
