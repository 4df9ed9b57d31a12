import { demoMark } from "../accounts/account.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import { afterPosting, realisedAfter, realisedChange, standingOf } from "../accounts/debt.ts";
import { type Context, type DomainEvent, later, type Requirement } from "../kernel/decision.ts";
import { postedAt, postingTime } from "../money/posting.ts";
import type { Balance } from "../records/balance.ts";
import type { Contra, Ledger, Settlement } from "../records/ledger.ts";
import type { Position } from "../records/position.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { positionChanges } from "./changes.ts";
import { type Holdings, usedMargin } from "./margin.ts";

/**
 * An account on its way through one decision: what it holds after the steps so far, and what else they change. The
 * changes of its balance and its positions are made once, by {@link closeBook}, whatever the number of steps.
 */
export interface Book extends Holdings {
  readonly changes: readonly TradingChange[];
  readonly events: readonly DomainEvent[];
}

/** A book before the first step. */
export function openBook(holdings: Holdings): Book {
  return { ...holdings, changes: [], events: [] };
}

/** One posting on the customer's account; its counter entry is on the control account of the same kind. */
export interface Entry {
  readonly kind: Ledger["kind"];
  readonly control: Contra["control_account"];
  readonly amount_minor: bigint;
  readonly trade_id?: string;
  readonly transaction_id?: string;
  readonly settlement?: Settlement;
  /** Number of the entry that it takes back. */
  readonly reverses_seq?: number;
  /** Change of each lot of credit, where it moves that and not the balance. */
  readonly lots?: NonNullable<Ledger["lots"]>;
}

/** Books entries in their order, each with its counter entry. */
export function bookEntries(book: Book, entries: readonly Entry[], context: Context): Book {
  return entries.reduce((before, entry) => bookEntry(before, entry, context), book);
}

function bookEntry(book: Book, entry: Entry, context: Context): Book {
  const { balance } = book;
  const standing = standingOf(balance);
  const credits = entry.lots !== undefined;
  const after = credits ? standing : afterPosting(standing, entry);
  const posted_at = postingTime(balance, context);
  const credit_minor = balance.credit_minor + (credits ? entry.amount_minor : 0n);
  const shared = {
    tenant_id: balance.tenant_id,
    account_id: balance.account_id,
    currency: balance.currency,
    transaction_id: entry.transaction_id ?? null,
    ...(entry.trade_id === undefined ? {} : { trade_id: entry.trade_id }),
    created_at: posted_at,
  };
  const ledger: Ledger = {
    ...shared,
    id: context.newId("led"),
    kind: entry.kind,
    amount_minor: entry.amount_minor,
    balance_before_minor: balance.balance_minor,
    balance_after_minor: after.balance_minor,
    balance_version: balance.seq + 1,
    ...(credit_minor === 0n ? {} : { credit_after_minor: credit_minor }),
    ...(standing.debt_minor === 0n ? {} : { debt_before_minor: standing.debt_minor }),
    ...(entry.lots === undefined ? {} : { moves: "credit", lots: entry.lots }),
    ...(entry.settlement === undefined ? {} : { settlement: entry.settlement }),
    ...(entry.reverses_seq === undefined ? {} : { reverses_seq: entry.reverses_seq }),
    ...context.cause,
  };
  const contra: Contra = {
    ...shared,
    id: context.newId("ctl"),
    control_account: entry.control,
    ...demoMark(book.account.type),
    amount_minor: -entry.amount_minor,
    ledger_id: ledger.id,
  };
  const counter: readonly TradingChange[] =
    entry.amount_minor === 0n ? [] : [{ op: "create", entity: "contra", item: contra }];
  return {
    ...book,
    balance: {
      ...realisedAfter(balance, entry),
      ...after,
      available_minor: balance.available_minor + after.balance_minor - balance.balance_minor,
      seq: balance.seq + 1,
      credit_minor,
      posted_at,
      updated_at: later(balance.updated_at, context.now),
    },
    changes: [...book.changes, { op: "create", entity: "ledger", item: ledger }, ...counter],
  };
}

/** The book with other positions: used margin and their number follow. */
export function withPositions(book: Book, positions: readonly Position[]): Book {
  const used_margin_minor = usedMargin({ ...book, positions });
  return { ...book, positions, balance: { ...book.balance, used_margin_minor, positions: positions.length } };
}

/** The positions of a book with one of them replaced. */
export function replaced(positions: readonly Position[], position: Position): Position[] {
  return positions.map((other) => (other.id === position.id ? position : other));
}

/** A hold takes free margin and moves neither number: what backs a new trade must not be held by then. */
function stillAvailable({ available_minor: value }: Balance): Requirement {
  return { attribute: "available_minor", is: "at_least", value };
}

/**
 * The decision of a book: its changes, one change of the balance and one of each position that differs, on the
 * condition that no other decision posted or changed a position in between. `gated` also holds it to the gate and to
 * the holds that were read: what opens a trade must pass neither a disable nor a withdrawal.
 */
export function closeBook<R>(
  { balance: before, positions: held }: Holdings,
  book: Book,
  context: Context,
  { result, gated = false }: { readonly result: R; readonly gated?: boolean },
): TradingDecision<R> {
  if (book.changes.length === 0) return { ok: true, result, changes: [], events: book.events };
  const { balance_minor, available_minor, seq, used_margin_minor, positions } = book.balance;
  const { credit_minor, credit_lots, debt_minor, below_zero_seq, posted_at } = book.balance;
  const change = adjustBalance(before, context, {
    set: {
      ...{ balance_minor, seq, used_margin_minor, positions, pos_version: before.pos_version + 1 },
      ...(credit_minor === before.credit_minor ? {} : { credit_minor }),
      ...(credit_lots === undefined || credit_lots === before.credit_lots ? {} : { credit_lots }),
      ...(posted_at === undefined || posted_at === before.posted_at ? {} : postedAt(before, posted_at)),
      ...realisedChange(before, book.balance),
      ...(debt_minor === before.debt_minor ? {} : { debt_minor }),
      ...(below_zero_seq === undefined || below_zero_seq === before.below_zero_seq ? {} : { below_zero_seq }),
    },
    add:
      available_minor === before.available_minor ? {} : { available_minor: available_minor - before.available_minor },
    require: [
      equal("seq", before.seq),
      equal("pos_version", before.pos_version),
      ...(gated ? [equal("accepts", before.accepts), stillAvailable(before)] : []),
    ],
  });
  const changes = [change, ...book.changes, ...positionChanges(held, book.positions)];
  return { ok: true, result, changes, events: book.events };
}

/** The holdings of a book as they are once its decision is committed. */
export function holdingsOf(before: Balance, { account, balance, positions, changes }: Book): Holdings {
  const moved = changes.length === 0 ? 0 : 1;
  return { account, balance: { ...balance, pos_version: before.pos_version + moved }, positions };
}
