import type { Context } from "../kernel/decision.ts";
import { isUndecided, takesMoney } from "../money/legs.ts";
import { type AccountContext, transactionBody } from "../money/transaction.ts";
import type { Decision } from "../records/change.ts";
import type { Dedup, FeedReject } from "../records/feed-item.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import type { Transaction } from "../records/transaction.ts";
import { withChangeOf } from "./aside-money.ts";
import { type Evidence, platformMoved } from "./command/money.ts";
import { bookReported } from "./platform-money.ts";
import { markOf, resolved } from "./records.ts";

/**
 * Books the item that is set aside for a transaction which enough have approved now: it joins the transaction, and no
 * command is issued. It has happened on the platform, so it is booked whatever the account has.
 * @param before the transaction as it is stored
 * @param approved the same with its last approval
 * @throws Error where no item is set aside for it, or its source was not read
 */
export function joinSetAside(
  before: Transaction,
  approved: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { set_aside, ...rest } = approved;
  const { source, late } = accountContext;
  if (set_aside === undefined || source?.id !== set_aside.source_id) throw new Error("No item to join.");
  const { source_id, operation_id, seq: feed_seq, at, reported_amount, created_for_item } = set_aside;
  const figure = reported_amount === undefined ? {} : { reported_amount };
  const evidence: Evidence = { source, operation_id, at, confirmed: true, feed_seq, ...figure, late };
  const caused: Context = { ...context, cause: { source_id, feed_seq } };
  const decision = created_for_item
    ? bookReported(rest, accountContext, evidence, caused)
    : platformMoved(rest, "forward", accountContext, evidence, caused);
  return asStored(before, decision);
}

/** A decision about a transaction that was changed on the way, as one about the transaction that is stored. */
function asStored(before: Transaction, decision: Decision<Transaction>): Decision<Transaction> {
  if (!decision.ok) return decision;
  const previous = { status: before.status, set_aside: before.set_aside };
  const result: Transaction = { ...decision.result, version: before.version + 1 };
  const shown = transactionBody(result);
  return {
    ...decision,
    result,
    changes: decision.changes.map((change) =>
      change.op === "update" && change.entity === "transaction" ? { ...change, before, after: result } : change,
    ),
    events: decision.events.map((event) => {
      if (event.resource.id !== before.id) return event;
      return { ...event, resource: { ...event.resource, version: result.version }, object: shown, previous };
    }),
  };
}

/** The note of an item that is set aside for a transaction, and its reject. */
export interface AsideRecords {
  readonly mark?: Dedup | undefined;
  readonly reject?: FeedReject | undefined;
}

/** The end of the item of a transaction: it was joined, or it is left to people since the transaction has ended. */
function becameOf(before: Transaction, after: Transaction): "joined" | "left" | undefined {
  if (before.set_aside === undefined) return undefined;
  if (after.set_aside === undefined) return "joined";
  return isUndecided(before) && !isUndecided(after) ? "left" : undefined;
}

/**
 * A decision about a transaction with what it does to the money that depends on the item which is set aside for it. A
 * join ends that; where the transaction ends, the item keeps what the transaction held: the money has left.
 */
export function withAsideMoney(
  before: Transaction,
  decision: Decision<Transaction>,
  { mark }: AsideRecords,
  { balance }: Pick<AccountContext, "balance">,
  context: Context,
): Decision<Transaction> {
  if (!decision.ok) return decision;
  const became = becameOf(before, decision.result);
  const counted = mark?.aside_minor ?? 0n;
  const left = became === "left" && takesMoney(before) ? -before.amount_minor : counted;
  const after = became === "joined" ? 0n : left;
  if (became === undefined || after === counted) return decision;
  const changes = withChangeOf(decision.changes, balance, counted, after, context);
  return { ...decision, changes } as Decision<Transaction>;
}

/** Changes, by a decision about a transaction, of the note of the item that is set aside for it. */
export function asideNotes(
  before: Transaction,
  after: Transaction,
  { mark, reject }: AsideRecords,
  { now }: Pick<Context, "now">,
): readonly TradingChange[] {
  const became = becameOf(before, after);
  if (mark === undefined || became === undefined) return [];
  const { kind, name, seq, contents = [], tenant_id, source_id } = mark;
  if (became === "joined") {
    const outcome = { status: "applied", made: { transaction_id: before.id }, contents } as const;
    const named = { raw: { seq }, dedup: [kind, name] as const, content: [] };
    const applied = markOf({ source: { id: source_id }, tenant_id }, named, mark, now, outcome);
    return [{ op: "mark", before: mark, after: applied }, ...resolved({ reject }, now)];
  }
  if (!takesMoney(before)) return [];
  return [{ op: "mark", before: mark, after: { ...mark, aside_minor: -before.amount_minor } }];
}

/** Note of an item that is set aside. */
export interface SetAside {
  /** The transaction that it waits for. */
  readonly transaction_id: string;
  readonly account_id: string;
  readonly detail: string;
  /** Effect on the money of its account until then, with its sign; 0 where the transaction holds it. */
  readonly minor: bigint;
}

/** A decision about an item; with `aside` it is set aside, and its changes say for what. */
export type ItemDecision<R> = TradingDecision<R> & { readonly aside?: SetAside };
