import { limits } from "../../../limits.ts";
import type { CreateTransfer } from "../../../schema/transaction.ts";
import { adjustBalance, equal, notClosed } from "../../accounts/balance.ts";
import { announcing } from "../../feed/command/announce.ts";
import { commandBack, commandForward, isCommanded, issued, refuseSource } from "../../feed/command/money.ts";
import { type Context, type Refusal, refuse, unchanged } from "../../kernel/decision.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { Account } from "../../records/account.ts";
import type { Balance } from "../../records/balance.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { Transaction } from "../../records/transaction.ts";
import type { TransferRate } from "../../records/transfer-quote.ts";
import { refusePlatformAccount } from "../adjustment.ts";
import { refuseJudged } from "../approval.ts";
import { book, end, giveBack, holdAmount, intoTransit, refuseTaking, settled } from "../booking.ts";
import { contraEntries } from "../entries.ts";
import { legChanges } from "../legs.ts";
import { refusePayment } from "../posting.ts";
import {
  type AccountContext,
  changedTransaction,
  moved,
  refuseGate,
  refuseReceipt,
  transactionEvent,
} from "../transaction.ts";
import { transactionMarkers } from "../transaction-names.ts";
import { transferCredit } from "./booking.ts";
import { bookLeg, draftLeg, isMovedByHand, type Transfer } from "./transfer.ts";

type Reason = NonNullable<Transaction["status_reason"]>;

/** An account with its money. */
interface Side {
  readonly account: Account;
  readonly balance: Balance;
}

/** Input to a transfer that is not made in one commit. */
interface Asked {
  readonly transfer: Transfer;
  readonly other: Account;
  readonly request: CreateTransfer;
  /** Another application or operator must approve it before it begins. */
  readonly approval: boolean;
}

/**
 * Decides `POST /transactions/transfer` where a platform keeps one of the accounts, or they belong to two clients: the
 * amount is held, and the debit begins in a commit of its own, once it is approved where that is needed.
 */
export function holdTransfer(
  accountContext: AccountContext,
  { transfer, other, request, approval }: Asked,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = accountContext;
  const { amount_minor: amount, credit_minor: minor } = transfer;
  if (balance.accepts !== "all") return refuseGate(account);
  const refusal =
    (isCommanded(account) ? refuseSource(accountContext) : undefined) ?? refuseTaking(accountContext, amount);
  if (refusal !== undefined) return refusal;
  const details = { account_id: other.id, transaction_id: null, minor, other };
  const draft = draftLeg(
    "transfer_out",
    accountContext,
    { transfer, id: context.newId("txn"), details },
    request,
    context,
  );
  if (!draft.ok) return draft;
  const pending: Transaction = { ...draft.result, ...termsOf(transfer) };
  const held = approval ? pending : moved(pending, "approved", context, null);
  return {
    ok: true,
    result: held,
    changes: [
      { op: "create", entity: "transaction", item: held },
      holdAmount(accountContext, amount, context),
      ...transactionMarkers(held),
      ...legChanges(account, undefined, held),
    ],
    events: [
      transactionEvent("transaction.created", pending),
      ...(approval ? [] : [transactionEvent("transaction.updated", held, { status: "pending" })]),
    ],
  };
}

function termsOf(rate: Pick<TransferRate, "credit_minor" | "income_minor">) {
  return {
    transfer_credit_minor: rate.credit_minor,
    transfer_income_minor: rate.income_minor,
  };
}

/** Refusals that pass by themselves: the transfer begins later. */
const passing: ReadonlySet<Refusal["code"]> = new Set([
  ...(["market_closed", "metrics_stale", "liquidation_in_progress"] as const),
  // Approvals that do not count any more can be given again.
  "four_eyes_required",
]);

/**
 * Decides the debit of a transfer that may begin: on an account of this service it is booked, on a platform's it is
 * asked for. Its credit is fixed now. It ends where it cannot be made any more, which is where its firm quote has not
 * held that long, and waits where that may pass.
 * @param rate the rate of now; undefined where it does not change
 */
export function beginTransfer(
  before: Transaction,
  accountContext: AccountContext,
  { rate, to }: { readonly rate: Decision<TransferRate> | undefined; readonly to: Account },
  context: Context,
): Decision<Transaction | undefined> {
  const decision = begun(before, accountContext, { rate, to }, context);
  if (decision.ok) return withLegs(accountContext, before, decision);
  const { code, detail } = decision.refusal;
  if (passing.has(code)) return unchanged(undefined);
  const after = moved(before, "failed", context, { code, message: detail });
  return withLegs(accountContext, before, end(before, after, accountContext, context));
}

function begun(
  before: Transaction,
  accountContext: AccountContext,
  { rate, to }: { readonly rate: Decision<TransferRate> | undefined; readonly to: Account },
  context: Context,
): Decision<Transaction> {
  const unapproved = refuseJudged(before, accountContext);
  if (unapproved !== undefined) return unapproved;
  if (isOutlived(before, context)) {
    return refuse("transfer_quote_invalid", "The debit could not begin as long as the quote holds.");
  }
  if (rate?.ok === false) return rate;
  const { balance, margin, account } = accountContext;
  if (balance.accepts !== "all") return refuseGate(account);
  const terms = rate === undefined ? {} : { ...termsOf(rate.result), ...shownRate(before, rate.result, to) };
  if (isCommanded(account)) {
    const decision = commandForward({ ...before, ...terms }, accountContext, context);
    if (!decision.ok) return decision;
    const changes = decision.changes.map((change): Change => {
      return change.op === "update" && change.entity === "transaction" ? { ...change, before } : change;
    });
    return { ...decision, changes };
  }
  const refusal = refusePayment(balance, before.amount_minor, margin);
  if (refusal !== undefined) return refusal;
  const after = { ...moved(before, "processing", context, null), ...terms };
  return book(before, after, accountContext, context, intoTransit(before));
}

/**
 * Whether a firm quote does not hold any more for the debit of its transfer. It was valid when the transfer was asked
 * for, so its time is counted from there: a transfer that waits for a price must not be made at the rate of days ago.
 */
function isOutlived({ transfer, created_at }: Transaction, { now }: Context): boolean {
  const heldMs = Date.parse(now) - Date.parse(created_at);
  return (transfer?.quote_id ?? null) !== null && heldMs > limits.transfers.quoted_debit_seconds * 1000;
}

function shownRate(
  { transfer }: Transaction,
  { credit_minor, conversion, mark_up_percent }: TransferRate,
  to: Account,
): Pick<Transaction, "transfer"> {
  if (transfer === undefined) return {};
  return { transfer: { ...transfer, amount: formatAmount(credit_minor, to.currency), conversion, mark_up_percent } };
}

function withLegs(
  { account }: Pick<AccountContext, "account">,
  before: Transaction,
  decision: Decision<Transaction>,
): Decision<Transaction> {
  if (!decision.ok) return decision;
  return announcing({ ...decision, changes: [...decision.changes, ...legChanges(account, before, decision.result)] });
}

/**
 * Decides the credit of a transfer whose debit is booked: on an account of this service it is booked, on a platform's
 * it is asked for. A refusal means that it cannot be credited, and the debit is to be given back.
 */
export function creditTransfer(
  out: Transaction,
  from: Account,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = accountContext;
  if (balance.accepts === "none") return refuseGate(account);
  // Nothing was written on the account yet: its client may be closed since the transfer was asked for.
  const closed = refuseReceipt({ kind: "transfer_in", amount_minor: 0n }, accountContext);
  if (closed !== undefined) return closed;
  // It may have been linked to a platform since the transfer was asked for.
  if (isMovedByHand(account)) return refusePlatformAccount("to_account_id");
  const refusal = isCommanded(account) ? refuseSource(accountContext) : undefined;
  if (refusal !== undefined) return refusal;
  const { transfer, transfer_credit_minor: credit_minor = 0n, transfer_income_minor } = out;
  if (transfer === undefined) throw new Error(`${out.id} is no leg of a transfer.`);
  const { transfer_id: id, conversion, mark_up_percent, quote_id } = transfer;
  const terms = { id, amount_minor: out.amount_minor, credit_minor, conversion, mark_up_percent, quote_id };
  const details = { account_id: from.id, transaction_id: out.id, minor: out.amount_minor, other: from };
  const shared = { metadata: out.metadata, ...(out.description === null ? {} : { description: out.description }) };
  const leg = { transfer: terms, id: context.newId("txn"), details };
  const draft = draftLeg("transfer_in", accountContext, leg, shared, context);
  if (!draft.ok) return draft;
  const pending: Transaction = {
    ...draft.result,
    ...(transfer_income_minor === undefined ? {} : { transfer_income_minor }),
  };
  if (isCommanded(account)) return askForCredit(pending, accountContext, context);
  return bookLeg(pending, accountContext, { ...transferCredit(pending), final: false }, context, [notClosed]);
}

function askForCredit(pending: Transaction, accountContext: AccountContext, context: Context): Decision<Transaction> {
  const { account, balance } = accountContext;
  const money = { leg: "forward", minor: pending.amount_minor } as const;
  const next = moved(pending, "processing", context, null);
  const { transaction: after, changes } = issued(next, accountContext, money, context);
  return announcing({
    ok: true,
    result: after,
    changes: [
      { op: "create", entity: "transaction", item: after },
      adjustBalance(balance, context, {
        add: { pending: 1 },
        require: [notClosed, equal("pos_version", balance.pos_version)],
      }),
      ...changes,
      ...legChanges(account, undefined, after),
    ],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.updated", after, { status: "pending" }),
    ],
  });
}

/**
 * Decides what the credit of a transfer makes of its debit: it names the credit, and is completed with it. No other
 * run can then credit the same debit or give it back, since each writes the debit.
 */
export function followCredit(
  out: Transaction,
  { balance }: Side,
  into: Pick<Transaction, "id" | "status">,
  context: Context,
): Decision<Transaction> {
  const named = (leg: Transaction): Transaction =>
    leg.transfer === undefined ? leg : { ...leg, transfer: { ...leg.transfer, transaction_id: into.id } };
  if (into.status !== "completed") return settled(out, named(changedTransaction(out, {}, context)), [], []);
  const after = named(moved(out, "completed", context, null));
  const amount = out.amount_minor;
  const legs = [
    ["in_transit", -amount],
    ["transfers", amount],
  ] as const;
  const counted = adjustBalance(balance, context, { add: { pending: -1 }, require: [] });
  const changes = [counted, ...contraEntries(after, legs, context, null)];
  return settled(out, after, changes, ["transaction.completed"]);
}

/** Decides that the debit of a transfer is given back, whose credit has failed or can never be made. */
export function undoTransfer(
  out: Transaction,
  accountContext: AccountContext,
  reason: Reason,
  context: Context,
): Decision<Transaction> {
  const returning = { minor: out.amount_minor, to: "failed", reason, held_minor: 0n, kept_fee_minor: 0n } as const;
  const decision = isCommanded(accountContext.account)
    ? commandBack(out, returning, accountContext, context)
    : giveBack(out, moved(out, "failed", context, reason), accountContext, context);
  return withLegs(accountContext, out, decision);
}
