import { type Context, unchanged } from "../domain/kernel/decision.ts";
import { continueSetAside, expireTransaction } from "../domain/money/move.ts";
import { type AccountContext, isComplete } from "../domain/money/transaction.ts";
import { isTransfer, transferStep, transferTurn } from "../domain/money/transfers/state.ts";
import { beginTransfer, creditTransfer, followCredit, undoTransfer } from "../domain/money/transfers/steps.ts";
import type { Decision } from "../domain/records/change.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { transactions } from "../table/entities.ts";
import { giversOf } from "../table/givers.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { commitDecision } from "../trading/commit.ts";
import { linkOf } from "../trading/items.ts";
import { decideMoney, decideTransaction, moneyRefs, readValuedAccount } from "./decide.ts";
import { changesOfSide, rateNow } from "./transfers.ts";

type Step = Committable<Transaction | undefined>;

/** Takes every transfer further that is due. Returns how many steps were made, and how many transfers failed. */
export function continueTransfers(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems("TRANSFER", hasTime, {
    entity: transactions,
    isDue: (out) => transferTurn(out) !== undefined,
    run: (out) => continueTransfer(out, remainingMs),
    report: ({ id }, error) => log.error("A transfer could not continue.", { transaction_id: id, ...causeOf(error) }),
  });
}

/** Takes a transfer further after a caller has moved one of its legs; other transactions need nothing. */
export async function continueMoved(moved: Transaction, remainingMs: () => number): Promise<void> {
  if (isTransfer(moved)) await continueTransfer(moved, remainingMs);
}

/**
 * Takes a transfer as far as the service can by itself, by either of its legs: its debit, its credit, and giving the
 * debit back where it cannot be credited. Each step is one commit on the version of the debit, so that a run that
 * comes twice, or ends in between, changes nothing. Returns how many steps were made.
 */
export async function continueTransfer(
  { tenant_id, id }: Pick<Transaction, "tenant_id" | "id">,
  remainingMs: () => number,
): Promise<number> {
  const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "transfer"), remainingMs };
  for (let steps = 0; ; steps += 1) {
    const outcome = await commitDecision(attempted, (load, context) => decideStep(load, context, id));
    if (outcome.kind !== "done" || outcome.result === undefined) return steps;
  }
}

async function decideStep(load: Load, context: Context, id: string): Promise<Step> {
  const { leg } = await load({ leg: ref.transaction(id) });
  const outId = leg?.kind === "transfer_in" ? leg.transfer?.transaction_id : undefined;
  const { out = leg } = typeof outId === "string" ? await load({ out: ref.transaction(outId) }) : {};
  if (out?.transfer === undefined || transferTurn(out) === undefined) return unchanged(undefined);
  const { account_id, transaction_id: intoId } = out.transfer;
  const { risk, ...from } = await load(moneyRefs(out.account_id));
  const { risk: toRisk, ...to } = await load(moneyRefs(account_id));
  if (!isComplete(from) || !isComplete(to)) return unchanged(undefined);
  const sides = { from: { ...from, risk }, to: { ...to, risk: toRisk } };
  const { into } = intoId === null ? {} : await load({ into: ref.transaction(intoId) });
  const next = transferStep(out, into);
  switch (next?.step) {
    case "begin":
      return begin(load, context, out, sides);
    case "credit":
      return credit(load, context, out, sides);
    case "follow":
      return into === undefined ? unchanged(undefined) : followCredit(out, from, into, context);
    case "undo":
      return undo(load, context, out, sides.from, next.reason);
    default:
      return unchanged(undefined);
  }
}

type Side = AccountContext & { readonly risk: Parameters<typeof readValuedAccount>[2]["risk"] };
interface Sides {
  readonly from: Side;
  readonly to: Side;
}

/** Makes a decision about the money of one side, at the prices of now. */
async function about(
  load: Load,
  context: Context,
  { risk, ...side }: Side,
  decide: (now: AccountContext) => Decision<Transaction | undefined>,
  transaction?: Transaction,
): Promise<Step> {
  const [held, link] = await Promise.all([readValuedAccount(load, context, { ...side, risk }), linkOf(load, side)]);
  return decideMoney(held, context, { ...side, ...link }, decide, transaction, changesOfSide);
}

async function begin(load: Load, context: Context, out: Transaction, { from, to }: Sides): Promise<Step> {
  if (out.set_aside !== undefined) return decideTransaction(load, context, out.id, beginReported);
  const expired = expireTransaction(out, from, context);
  if (expired !== undefined) return expired;
  const fixed = out.transfer?.quote_id !== null || from.account.currency === to.account.currency;
  const rate = fixed ? undefined : await rateNow({ tenant: from.tenant, from, to }, out.amount_minor, context);
  const givers = await giversOf(out.tenant_id, [out]);
  return about(load, context, from, (now) => beginTransfer(out, { ...now, givers }, { rate, to: to.account }, context));
}

/** The platform has made the debit of a transfer: it is joined once it is approved, or left to people at its end. */
function beginReported(out: Transaction, from: AccountContext, context: Context): Decision<Transaction> {
  return expireTransaction(out, from, context) ?? continueSetAside(out, from, context) ?? unchanged(out);
}

async function credit(load: Load, context: Context, out: Transaction, { from, to }: Sides): Promise<Step> {
  const credited = await about(load, context, to, (now) => creditTransfer(out, from.account, now, context));
  if (!credited.ok) {
    const { code, detail } = credited.refusal;
    return undo(load, context, out, from, { code, message: detail });
  }
  if (credited.result === undefined) return unchanged(undefined);
  const followed = followCredit(out, from, credited.result, context);
  if (!followed.ok) return followed;
  return {
    ok: true,
    result: followed.result,
    changes: [...credited.changes, ...followed.changes],
    events: [...credited.events, ...followed.events],
  };
}

function undo(
  load: Load,
  context: Context,
  out: Transaction,
  from: Side,
  reason: NonNullable<Transaction["status_reason"]>,
): Promise<Step> {
  return about(load, context, from, (now) => undoTransfer(out, now, reason, context), out);
}
