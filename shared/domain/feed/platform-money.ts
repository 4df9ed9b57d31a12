import { limits } from "../../limits.ts";
import type { FeedData } from "../../schema/feed.ts";
import type { Account, Balance, Contra } from "../account.ts";
import { type Context, type Decision, numberOf, refuse, refuseField } from "../decision.ts";
import { moveCredit } from "../internal-money/credit-booking.ts";
import { consumed, lotsOf } from "../internal-money/credit-lots.ts";
import { parseReported } from "../money.ts";
import { type Booking, completion, type Late, post } from "../posting.ts";
import type { Tenant } from "../tenant.ts";
import { draftTransaction, moved, refuseAmount, type Transaction, transactionEvent } from "../transaction.ts";
import type { Origin } from "./mirror-order.ts";

/** Money that a platform moved, as its bridge reports it. */
export type Operation = FeedData["balance_operation"];

/** The account that an operation is about, with what booking it needs. */
export interface OperationState {
  readonly account: Account;
  readonly balance: Balance;
  /** What its open positions have gained or lost, in minor units. */
  readonly floating_minor: bigint;
}

/** How an operation is booked: as it happened, whatever the account has here. */
export function asHappened({ floating_minor }: OperationState, { source }: Pick<Origin, "source">) {
  const margin = { payable_minor: 0n, floating_minor, stale: false, liquidating: false };
  return { booking: { happened: true, owed: source.authoritative === "platform" }, margin } as const;
}

/** Kinds that give the sign of their amount. */
type SignedKind = "deposit" | "withdrawal" | "credit_in" | "credit_out";

const signedKinds: ReadonlySet<Operation["kind"]> = new Set<SignedKind>([
  "deposit",
  "withdrawal",
  "credit_in",
  "credit_out",
]);

/** Where the counter entry of each kind is that only platforms book. */
const controls: Readonly<Record<Exclude<Operation["kind"], SignedKind>, Contra["control_account"]>> = {
  adjustment: "adjustment",
  correction: "adjustment",
  fee: "fee_income",
  commission: "commission",
  dividend: "dividend",
  swap: "swap",
};

/**
 * What an operation adds to its account, in minor units. The kind gives the sign of a deposit, of a withdrawal and of
 * credit, so that `withdrawal 100.00` takes 100.00; a deposit or granted credit below zero contradicts itself.
 */
export function operationMinor({ kind, amount }: Operation, { currency }: Pick<Account, "currency">): Decision<bigint> {
  const negative = amount.startsWith("-");
  const size = parseReported(negative ? amount.slice(1) : amount, currency);
  if (typeof size === "string") return refuseAmount(size, "amount", { currency });
  if (size === 0n) return refuseField("validation_failed", "amount", "must not be 0", "out_of_range");
  if ((kind === "deposit" || kind === "credit_in") && negative) {
    return refuseField("sign_mismatch", "amount", `An amount of the kind ${kind} is not below 0.`);
  }
  const takes = kind === "withdrawal" || kind === "credit_out" || negative;
  return { ok: true, result: takes ? -size : size, changes: [], events: [] };
}

/**
 * Books an operation as it happened: a transaction that is completed at once, with the platform as its provider. What
 * this service asks of new requests is not asked: neither gates, verification nor available money, so the balance may
 * fall below zero while holds stay. Only a closed account, and what cannot be stored, refuse it.
 * @param minor what it adds to the account
 * @param related the transaction that it names and is not the money of
 */
export function bookOperation(
  state: OperationState,
  operation: Operation,
  minor: bigint,
  {
    tenant,
    related,
    late,
  }: { readonly tenant: Tenant; readonly related: string | null; readonly late?: Late | undefined },
  { source, at }: Origin,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = state;
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  if (balance.balance_minor + minor < -limits.money.max_minor) {
    return refuse("amount_too_large", "The balance would be lower than the service can hold.");
  }
  const { kind, operation_id } = operation;
  const request = {
    account_id: account.id,
    amount: operation.amount.replace("-", ""),
    method: "internal",
    provider: source.name,
    provider_reference: operation_id,
  } as const;
  const draft = draftTransaction(kind, { account, tenant }, request, context);
  if (!draft.ok) return draft;
  const signed = signedKinds.has(kind) ? draft.result.amount_minor : minor;
  const deal = operation.deal_id === null || operation.deal_id === undefined ? {} : { deal_id: operation.deal_id };
  const joined = { source_id: source.id, operation_id, leg: "forward", at, ...deal, ...numberOf(context) } as const;
  const pending = { ...draft.result, amount_minor: signed, related_to: related, platform_operations: [joined] };
  const moment = moved(pending, "completed", context, null);
  const booked =
    kind === "credit_in" || kind === "credit_out"
      ? bookCredit(moment, balance, minor, context)
      : bookMoney(state, kind, { pending, moment, minor, late }, source, context);
  if (!booked.ok) return booked;
  const { result: after, changes } = booked;
  const previous = { status: "pending" };
  return {
    ok: true,
    result: after,
    changes: [{ op: "create", entity: "transaction", item: after }, ...changes],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.completed", after, previous),
      transactionEvent("transaction.updated", after, previous),
    ],
  };
}

/** A transaction before and after it is completed, with what it adds to the account. */
interface Moved {
  readonly pending: Transaction;
  readonly moment: Transaction;
  readonly minor: bigint;
  readonly late: Late | undefined;
}

/** Books an operation that moves the balance. */
function bookMoney(
  state: OperationState,
  kind: Exclude<Operation["kind"], "credit_in" | "credit_out">,
  { pending, moment, minor, late }: Moved,
  source: Origin["source"],
  context: Context,
): Decision<Transaction> {
  const { booking, margin } = asHappened(state, { source });
  const placed = late === undefined ? booking : { ...booking, late };
  const posting = post(moment, state.balance, context, { ...bookingOf(kind, pending, minor), ...placed }, { margin });
  if (!posting.ok) return posting;
  const { seq, balance_before_minor, balance_after_minor, changes } = posting.result;
  const debited = kind === "withdrawal" ? { debited_seq: seq } : {};
  const after = { ...moment, balance_before_minor, balance_after_minor, ...debited };
  return { ok: true, result: after, changes, events: [] };
}

/**
 * Books credit that a platform granted or took. It is in no lot of this service, since the platform decides when it
 * ends. An account has no credit below zero: what takes more than there is is put aside.
 */
export function bookCredit(
  moment: Transaction,
  balance: Balance,
  minor: bigint,
  context: Context,
): Decision<Transaction> {
  const { balance_minor, credit_minor } = balance;
  if (credit_minor + minor < 0n) return refuse("insufficient_credit", "The credit of the account is less than that.");
  if (credit_minor + minor > limits.money.max_minor) {
    return refuse("amount_too_large", "The credit would be larger than the service can hold.");
  }
  const lots = lotsOf(balance);
  const granted = { ...balance, credit_minor: credit_minor + minor };
  const left = minor < 0n ? consumed(lots, -minor, context.now) : lotsOf(granted);
  const done = { ...moment, balance_before_minor: balance_minor, balance_after_minor: balance_minor };
  return { ok: true, result: done, changes: moveCredit(done, balance, left, {}, context), events: [] };
}

/** What an operation books. It was never pending, and uses up no hold. */
function bookingOf(
  kind: Exclude<Operation["kind"], "credit_in" | "credit_out">,
  transaction: Transaction,
  minor: bigint,
): Booking {
  const rest = { captured_minor: 0n, final: false } as const;
  if (kind === "deposit" || kind === "withdrawal") return { ...completion(transaction), ...rest };
  return { kind, customer_minor: minor, legs: [[controls[kind], -minor]], ...rest };
}
