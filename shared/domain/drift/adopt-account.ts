import type { Balance } from "../account.ts";
import { amendAccount } from "../amend-account.ts";
import type { Client } from "../client.ts";
import { withClaim } from "../command/money.ts";
import { type Context, type DomainEvent, refuse, refuseField } from "../decision.ts";
import { claimPosition } from "../feed/deals.ts";
import { mergedChange } from "../feed/merged-change.ts";
import { bookOperation, operationMinor } from "../feed/platform-money.ts";
import type { FeedSource } from "../feed/source.ts";
import { isAdjustment } from "../posting.ts";
import type { Tenant } from "../tenant.ts";
import { closeBook, openBook } from "../trading/book.ts";
import type { TradingChange, TradingDecision } from "../trading/changes.ts";
import { openStep, type TradingState } from "../trading/open-trade.ts";
import { refuseExposure } from "../trading/pricing/bounds.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { withoutMoney } from "./adopt-position.ts";
import type { Drift } from "./drift.ts";

/** An account that an unknown account of a platform is adopted with. */
export interface Adopting {
  readonly state: TradingState & { readonly client: Client };
  readonly market: Market;
  readonly source: FeedSource;
  readonly tenant: Tenant;
}

/** Why an account cannot become that of a platform; undefined when it can: nothing was ever booked on it. */
export function refuseAccount({ platform_account }: Drift, { account, balance }: TradingState) {
  if (platform_account === undefined) {
    return refuse(
      "illegal_transition",
      "It has too many positions for one step: link an account, and adopt each drift.",
    );
  }
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  const linked = account.platform_login !== null || (account.source_id ?? null) !== null;
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
      const place = isAdjustment(change) ? this.changes.findIndex((each) => isAdjustment(each)) : -1;
      const first = this.changes[place];
      if (first === undefined) this.changes.push(change);
      else {
        const both = mergedChange(first, change);
        if (both === undefined) throw new Error("Two changes of a balance are not one.");
        this.changes[place] = both;
      }
      if (isAdjustment(change)) this.balance = change.after;
    }
    this.events.push(...events);
  }
}

/**
 * Links an account and books what its platform has: the balance and the credit as operations of the platform, and its
 * positions at their opening prices, without money. Everything has the number of the snapshot, and so has the account:
 * items up to it are part of what was adopted.
 * @returns the transaction of the opening balance, or null where it is 0
 */
export function adoptAccount(
  { state, market, source, tenant }: Adopting,
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
  const baseline = { source_id: source.id, as_of_seq };
  const changes = linked.changes.map((change) =>
    change.op === "update" && change.entity === "account"
      ? { ...change, after: { ...change.after, baseline } }
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
    if (!/[1-9]/.test(amount)) continue;
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
  const held = openedPositions(
    { state: { ...state, account, balance: steps.balance }, market, source },
    drift,
    context,
  );
  if (!held.ok) return held;
  steps.add(held);
  return { ok: true, result: opening, changes: steps.changes, events: steps.events };
}

function openedPositions(
  { state, market, source }: Omit<Adopting, "tenant" | "state"> & { readonly state: TradingState },
  { platform_account, taken_at }: Drift,
  context: Context,
): TradingDecision<undefined> {
  let book = openBook(state);
  const claims: TradingChange[] = [];
  for (const { position_id, open_price: price, ...position } of platform_account?.positions ?? []) {
    const named = { source: source.name, source_trade_id: position_id, source_position_id: position_id };
    const step = openStep(
      book,
      market,
      { ...position, ...named, price, at: taken_at, platform: withoutMoney },
      context,
    );
    if (!step.ok) return step;
    book = step.book;
    if (step.trade !== undefined) claims.push(claimPosition(source, position_id, step.trade, undefined));
  }
  const exposure = refuseExposure(market, state, book.positions, context.now);
  if (exposure !== undefined) return exposure;
  const decision = closeBook(state, book, context, { result: undefined });
  return decision.ok ? { ...decision, changes: [...decision.changes, ...claims] } : decision;
}
