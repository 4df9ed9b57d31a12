import type { CreateDeposit, CreateWithdrawal } from "../../schema/transaction.ts";
import { creditPolicyOf } from "../access/tenant.ts";
import { adjustBalance, equal, notClosed } from "../accounts/balance.ts";
import { isVerified } from "../accounts/verification.ts";
import { announcing } from "../feed/command/announce.ts";
import { forwardMinor, isCommanded, issued, refuseSource } from "../feed/command/money.ts";
import { type Context, type Requirement, refuse, refuseScope } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { Transaction } from "../records/transaction.ts";
import { approvalRuleOf, refuseUnapproved } from "./approval.ts";
import { holdAmount, refuseTaking } from "./booking.ts";
import { legChanges } from "./legs.ts";
import { completion, post } from "./posting.ts";
import {
  type AccountContext,
  draftTransaction,
  moved,
  refuseGate,
  refuseReceipt,
  transactionEvent,
} from "./transaction.ts";
import { transactionMarkers } from "./transaction-names.ts";

/** Decides `POST /transactions/deposit`. Nothing is credited before the deposit is completed. */
export function requestDeposit(
  accountContext: AccountContext,
  request: CreateDeposit,
  context: Context,
): Decision<Transaction> {
  const { balance, account } = accountContext;
  if (balance.accepts === "none") return refuseGate(account);
  const ended = isCommanded(account) ? refuseSource(accountContext) : undefined;
  if (ended !== undefined) return ended;
  const draft = draftTransaction("deposit", accountContext, request, context);
  if (!draft.ok) return draft;
  const pending = draft.result;
  const refusal = refuseReceipt(pending, accountContext);
  if (refusal !== undefined) return refusal;
  if (request.status === "completed") return createCompleted(pending, accountContext, context);
  return {
    ok: true,
    result: pending,
    changes: [
      { op: "create", entity: "transaction", item: pending },
      adjustBalance(balance, context, { add: { pending: 1 }, require: [notClosed, ...sameLogin(accountContext)] }),
      ...transactionMarkers(pending),
      ...legChanges(accountContext.account, undefined, pending),
    ],
    events: [transactionEvent("transaction.created", pending)],
  };
}

/**
 * A transaction is marked for its platform as the account is linked: another login meets it at the commit. The deposits
 * of an internal account do not meet its positions, but they meet its first link.
 */
function sameLogin({ account, balance }: AccountContext): readonly Requirement[] {
  return account.platform === "internal"
    ? [{ attribute: "linked", is: "not", value: 1 }]
    : [equal("pos_version", balance.pos_version)];
}

/**
 * Decides `POST /transactions/withdrawal`: the amount is held, on the condition that it is still covered at the commit.
 * Margin of open positions is not available; it is computed at the prices that were read (I4).
 */
export function requestWithdrawal(
  client: Client,
  accountContext: AccountContext,
  request: CreateWithdrawal,
  context: Context,
): Decision<Transaction> {
  const { balance, account, tenant } = accountContext;
  if (balance.accepts !== "all") return refuseGate(account);
  const ended = isCommanded(account) ? refuseSource(accountContext) : undefined;
  if (ended !== undefined) return ended;
  // Money that came back after the client was closed is still theirs.
  if (client.status === "suspended") return refuse("client_suspended", "The client may not withdraw while suspended.");
  if (tenant.require_verified_client !== "none" && !isVerified(client, context.now)) {
    return refuse("client_not_verified", "The client must be verified to withdraw.");
  }
  const draft = draftTransaction("withdrawal", accountContext, request, context);
  if (!draft.ok) return draft;
  const pending = draft.result;
  const amount = pending.amount_minor;
  const short = refuseTaking(accountContext, amount);
  if (short !== undefined) return short;
  if (request.status === "completed") return createCompleted(pending, accountContext, context);
  return {
    ok: true,
    result: pending,
    changes: [
      { op: "create", entity: "transaction", item: pending },
      holdAmount(accountContext, amount, context),
      ...transactionMarkers(pending),
      ...legChanges(account, undefined, pending),
    ],
    events: [transactionEvent("transaction.created", pending)],
  };
}

/**
 * A trusted caller books in one step; both events are written, as if the transaction had been created and then
 * completed.
 */
function createCompleted(
  pending: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  if (!context.scopes.includes("transactions:settle")) return refuseScope("transactions:settle");
  if (accountContext.tenant.four_eyes) {
    const detail = "Another application or operator must approve this transaction before it is completed.";
    return refuse("four_eyes_required", detail);
  }
  const rule = approvalRuleOf(pending, accountContext.tenant);
  if (rule !== undefined) return refuseUnapproved(rule.approvers, rule);
  if (isCommanded(accountContext.account)) return createCommanded(pending, accountContext, context);
  const { balance } = accountContext;
  const moment = moved(pending, "completed", context, null);
  const booking = { ...completion(pending), captured_minor: 0n, final: false };
  const withdrawal = pending.kind === "withdrawal";
  const posting = post(moment, balance, context, booking, {
    margin: accountContext.margin,
    credit_policy: creditPolicyOf(accountContext.tenant),
    require: [
      withdrawal ? equal("accepts", "all") : notClosed,
      ...(withdrawal ? [{ attribute: "available_minor", is: "at_least", value: pending.amount_minor } as const] : []),
    ],
  });
  if (!posting.ok) return posting;
  const { seq, balance_before_minor, balance_after_minor, changes } = posting.result;
  const debited = withdrawal ? { debited_seq: seq } : {};
  const after = { ...moment, balance_before_minor, balance_after_minor, ...debited };
  return {
    ok: true,
    result: after,
    changes: [
      { op: "create", entity: "transaction", item: after },
      ...changes,
      ...transactionMarkers(pending),
      ...legChanges(accountContext.account, undefined, after),
    ],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.completed", after, { status: "pending" }),
      transactionEvent("transaction.updated", after, { status: "pending" }),
    ],
  };
}

/** The same where a platform moves the money: it is in processing, with the command that asks for it. */
function createCommanded(
  pending: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { balance, account } = accountContext;
  const held = pending.kind === "withdrawal" ? pending.amount_minor : 0n;
  const money = { leg: "forward", minor: forwardMinor(pending) } as const;
  const { transaction: after, changes } = issued(
    moved(pending, "processing", context, null),
    accountContext,
    money,
    context,
  );
  const covered = { attribute: "available_minor", is: "at_least", value: held } as const;
  return announcing({
    ok: true,
    result: after,
    changes: [
      { op: "create", entity: "transaction", item: after },
      adjustBalance(balance, context, {
        add: { pending: 1, ...(held === 0n ? {} : { held_minor: held, available_minor: -held }) },
        require: [
          held === 0n ? notClosed : equal("accepts", "all"),
          equal("pos_version", balance.pos_version),
          ...(held === 0n ? [] : [covered]),
        ],
      }),
      ...changes,
      ...transactionMarkers(pending),
      ...legChanges(account, undefined, after),
    ],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.updated", after, { status: "pending" }),
    ],
  });
}
