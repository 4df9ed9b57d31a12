import { adjustBalance } from "../accounts/balance.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import { isUnapproved, refuseActed } from "../money/approval.ts";
import { isCredit } from "../money/credit-booking.ts";
import { isUndecided } from "../money/legs.ts";
import { type AccountContext, changedTransaction, transactionEvent } from "../money/transaction.ts";
import { freedNames } from "../money/transaction-names.ts";
import type { Change } from "../records/change.ts";
import type { TradingChange } from "../records/trading-change.ts";
import type { Transaction } from "../records/transaction.ts";
import type { Made } from "./apply.ts";
import { announcing } from "./command/announce.ts";
import { correctionIssued } from "./command/correction.ts";
import { forwardMinor } from "./command/money.ts";
import { settledBy } from "./command/settlement.ts";
import { asHappened, type OperationState } from "./platform-money.ts";
import { type Applied, insteadOf, type OperationLinks, type Reported } from "./reported.ts";
import { type ItemDecision, joinSetAside } from "./set-aside.ts";
import { awaitFor, decideUnasked } from "./unasked.ts";

/**
 * Decides an operation that is set aside for a transaction. It joins that once enough have approved it. Where the
 * transaction has ended, people say what becomes of the money: new money that is approved as such, that of another
 * transaction, or it is taken back.
 */
export function decideWaiting(
  waiting: Transaction,
  state: OperationState,
  reported: Reported,
  links: OperationLinks,
  context: Context,
  decideOther: () => ItemDecision<Made>,
): ItemDecision<Made> {
  const { operation, minor, origin } = reported;
  const { said, tenant, givers, late, named } = links;
  const extra = { candidates: [waiting.id] };
  const same = waiting.account_id === state.account.id && forwardMinor(waiting) === minor;
  if (!same || isCredit(operation) !== isCredit(waiting)) {
    return refuse("approval_required", `It is set aside for ${waiting.id} with another account or amount.`, { extra });
  }
  if (isUndecided(waiting)) {
    if (isUnapproved(waiting, links)) {
      return refuse("approval_required", `It is booked once ${waiting.id} is approved.`, { extra });
    }
    const { margin } = asHappened(state, origin);
    const accountContext = {
      ...state,
      margin,
      tenant,
      givers,
      late,
      source: origin.source as AccountContext["source"],
    };
    const decision = joinSetAside(waiting, waiting, accountContext, context);
    return decision.ok ? { ...decision, result: { transaction_id: waiting.id } } : decision;
  }
  if (said === "take_back") return takenBack(waiting, state, reported, links, context);
  const { set_aside: _item, ...rest } = waiting;
  const freed = asideChanged(waiting, changedTransaction(rest, {}, context));
  const instead = (decision: ItemDecision<Made>): ItemDecision<Made> =>
    decision.ok
      ? {
          ...decision,
          changes: [...freed.changes, ...insteadOf(waiting.id, decision.changes)],
          events: [...freed.events, ...decision.events],
        }
      : decision;
  if (said === "is_named" && named?.id !== waiting.id) return instead(decideOther());
  if (said !== "is_new") {
    const detail = `${waiting.id} has ended: book it with confirm_new, or take it back with take_back.`;
    return refuse("approval_required", detail, { extra });
  }
  const unasked = { tenant, late, related: waiting.id };
  const draft = awaitFor(state, reported, unasked, context);
  if (!draft.ok) return draft;
  const asked = draft.changes.some((change) => isCreated(change) && isUnapproved(change.item, { tenant }));
  return instead(asked ? draft : decideUnasked(state, reported, unasked, context));
}

/**
 * A change of what a transaction that has ended shows of the item that is set aside for it. Its names are free once
 * people have settled the item.
 */
function asideChanged(before: Transaction, after: Transaction) {
  return {
    changes: [{ op: "update", entity: "transaction", before, after } as const, ...freedNames(before, after)],
    events: [transactionEvent("transaction.updated", after, { set_aside: before.set_aside })],
  };
}

function isCreated(change: TradingChange): change is { op: "create"; entity: "transaction"; item: Transaction } {
  return change.op === "create" && change.entity === "transaction";
}

/**
 * Asks the platform to take an operation back that was not approved: the command brings it to what is booked here. It
 * needs one whom the rule of that money accepts, and who did not act on the transaction before.
 */
function takenBack(
  waiting: Transaction,
  { account, balance }: OperationState,
  { operation, minor, origin }: Reported,
  { tenant }: OperationLinks,
  context: Context,
): ItemDecision<Made> {
  if (account.source_id !== origin.source.id || account.platform_login === null) {
    return refuse("not_linked", "The account is not linked to the source of the item.");
  }
  const acted = waiting.status_history.map(({ actor }) => actor);
  const refusal = refuseActed({ minor: -minor, currency: account.currency, acted }, tenant, context);
  if (refusal !== undefined) return refusal;
  const { tenant_id, client_id, id: account_id, platform_login, currency } = account;
  const to = { tenant_id, client_id, account_id, source_id: origin.source.id, platform_login };
  const about = {
    purpose: "settlement",
    transaction_id: waiting.id,
    drift_id: null,
    issued_by: context.actor,
  } as const;
  const type = isCredit(operation) ? "credit_operation" : "balance_operation";
  const issued = correctionIssued({ ...to, ...about, type, amount_minor: -minor, currency }, context);
  const { id: command_id } = issued.command;
  const set = { settled_by: settledBy(balance, [command_id]) };
  const noted = adjustBalance(balance, context, { set, require: [] });
  const { set_aside } = waiting;
  const told = asideChanged(
    waiting,
    changedTransaction(
      waiting,
      { ...(set_aside && { set_aside: { ...set_aside, taken_back_by: command_id } }) },
      context,
    ),
  );
  const changes: readonly Change[] = [...told.changes, ...issued.changes, noted];
  return announcing({ ok: true, result: { command_id }, changes, events: told.events } satisfies Applied);
}
