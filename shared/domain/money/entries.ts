import { demoMark } from "../accounts/account.ts";
import { type CreditLot, creditOf, lotChanges, storedLots } from "../accounts/credit-lots.ts";
import type { Context } from "../kernel/decision.ts";
import type { Change } from "../records/change.ts";
import type { Contra, Ledger } from "../records/ledger.ts";
import type { Transaction } from "../records/transaction.ts";

/** A leg on a control account, in minor units. */
export type Leg = readonly [control: Contra["control_account"], minor: bigint];

/** Members that only some entries have. */
type Noted = Partial<
  Pick<Ledger, "settlement" | "reverses_seq" | "precedes_seq" | "offset_minor" | "credit_policy" | "moves" | "lots">
>;

/** One posting of a transaction on its account; the balance stays as it is where it moves credit. */
export function ledgerEntry(
  transaction: Transaction,
  context: Context,
  posting: {
    kind: Ledger["kind"];
    change: bigint;
    before: bigint;
    seq: number;
    debt: bigint;
    /** Credit of the account after it. */
    credit: bigint;
    more?: Noted;
  },
): Ledger {
  return {
    id: context.newId("led"),
    tenant_id: transaction.tenant_id,
    account_id: transaction.account_id,
    kind: posting.kind,
    amount_minor: posting.change,
    currency: transaction.currency,
    balance_before_minor: posting.before,
    balance_after_minor: posting.before + (posting.more?.moves === "credit" ? 0n : posting.change),
    balance_version: posting.seq,
    ...(posting.credit === 0n ? {} : { credit_after_minor: posting.credit }),
    transaction_id: transaction.id,
    ...(posting.debt === 0n ? {} : { debt_before_minor: posting.debt }),
    ...posting.more,
    ...context.cause,
    created_at: context.now,
  };
}

/** The legs of a booking on control accounts; a leg of nothing is left out. */
export function contraEntries(
  transaction: Transaction,
  legs: readonly Leg[],
  context: Context,
  ledgerId: string | null,
): Change[] {
  return legs
    .filter(([, minor]) => minor !== 0n)
    .map(([control_account, amount_minor]) => ({
      op: "create",
      entity: "contra",
      item: {
        id: context.newId("ctl"),
        tenant_id: transaction.tenant_id,
        control_account,
        amount_minor,
        currency: transaction.currency,
        account_id: transaction.account_id,
        ledger_id: ledgerId,
        transaction_id: transaction.id,
        ...demoMark(transaction.account_type),
        created_at: context.now,
      } satisfies Contra,
    }));
}

/** The lots before and after an entry that moves credit, and the balance, which it does not move. */
export interface CreditMove {
  readonly lots: readonly CreditLot[];
  readonly after: readonly CreditLot[];
  readonly balance_minor: bigint;
  readonly debt_minor: bigint;
  /** Number of the entry. */
  readonly seq: number;
}

/** The entry of a change of credit; undefined where no lot changes. */
export function creditEntry(
  transaction: Transaction,
  move: CreditMove,
  more: Pick<Ledger, "settlement">,
  context: Context,
): Ledger | undefined {
  const changes = lotChanges(move.lots, move.after);
  return changes.length === 0 ? undefined : creditLedgerEntry(transaction, move, changes, more, context);
}

/** The entry of these changes of credit, also where there are none. */
export function creditLedgerEntry(
  transaction: Transaction,
  { balance_minor: before, seq, debt_minor: debt, after }: CreditMove,
  changes: readonly CreditLot[],
  more: Pick<Ledger, "settlement">,
  context: Context,
): Ledger {
  const change = creditOf(changes);
  const kind = change > 0n ? "credit_in" : "credit_out";
  const lots = storedLots(changes, transaction.currency);
  return ledgerEntry(transaction, context, {
    kind,
    change,
    before,
    seq,
    debt,
    credit: creditOf(after),
    more: { ...more, moves: "credit", lots },
  });
}

/** An entry with its counter entry on a control account. */
export function entryChanges(
  transaction: Transaction,
  item: Ledger,
  control: Contra["control_account"],
  context: Context,
): Change[] {
  return [
    { op: "create", entity: "ledger", item },
    ...contraEntries(transaction, [[control, -item.amount_minor]], context, item.id),
  ];
}
