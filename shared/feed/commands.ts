import { isCorrection, isOpen, moneyOf } from "../domain/feed/command/command.ts";
import type { CommandState } from "../domain/feed/command/settle.ts";
import { type Context, notFound } from "../domain/kernel/decision.ts";
import { isComplete } from "../domain/money/transaction.ts";
import type { Decision } from "../domain/records/change.ts";
import type { CorrectionCommand, LiquidateCommand, MoneyCommand, TermsCommand } from "../domain/records/command.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import type { TradingDecision } from "../domain/records/trading-change.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { countAttention, decideMoney, moneyRefs, readValuedAccount } from "../money/decide.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { type AccountState, decideTrading, prepared } from "../trading/commit.ts";
import { linkOf, tradingRef } from "../trading/items.ts";
import { driftRef } from "./drift-refs.ts";

/**
 * Makes a decision about a command with what it is for: the money of a transaction, the correction of a drift, or what
 * was settled here.
 */
export async function decideCommand(
  load: Load,
  context: Context,
  command: MoneyCommand,
  decide: (state: CommandState) => Decision<MoneyCommand>,
): Promise<Committable<MoneyCommand>> {
  const { about_id } = command;
  if (isCorrection(command)) {
    const state = await correctionState(load, command);
    return state === undefined ? notFound() : countAttention(decide(state));
  }
  const { transaction_id, leg } = command;
  const { transaction, sought, risk, ...found } = await load({
    ...moneyRefs(command.account_id),
    ...(about_id === undefined ? {} : { sought: tradingRef.command(about_id) }),
    transaction: ref.transaction(transaction_id),
  });
  if (transaction === undefined || !isComplete(found)) return notFound();
  const [held, link] = await Promise.all([
    readValuedAccount(load, context, { ...found, risk }),
    linkOf(load, found, transaction),
  ]);
  const about = { purpose: "transaction", transaction, leg } as const;
  return decideMoney(
    held,
    context,
    { ...found, ...link },
    (accountContext) => decide({ command, about: { ...about, accountContext }, sought: moneyOf(sought) }),
    booked(transaction, command, moneyOf(sought)),
  );
}

/** A command for which nothing is booked, with what it is for; undefined where the brokerage is gone. */
export async function correctionState(load: Load, command: CorrectionCommand): Promise<CommandState | undefined> {
  const { about_id, source_id } = command;
  const refs = {
    tenant: ref.tenant(),
    ...(about_id === undefined ? {} : { sought: tradingRef.command(about_id) }),
  };
  if (command.purpose === "drift") {
    const { tenant, drift, sought } = await load({ ...refs, drift: driftRef.drift(command.drift_id) });
    return tenant && { command, about: { purpose: "drift", drift, tenant }, sought: moneyOf(sought) };
  }
  const { tenant, source, sought } = await load({ ...refs, source: tradingRef.feedSource(source_id) });
  return tenant && { command, about: { purpose: "settlement", source, tenant }, sought: moneyOf(sought) };
}

/** Makes a decision about a command to close a position, with the margin of its account. */
export async function decideLiquidation(
  load: Load,
  context: Context,
  command: LiquidateCommand,
  decide: (command: LiquidateCommand, risk: StoredRisk | undefined) => TradingDecision<LiquidateCommand>,
): Promise<Committable<LiquidateCommand>> {
  const { risk } = await load({ risk: tradingRef.risk(command.account_id) });
  return prepared(decide(command, risk), context);
}

/** Makes a decision about a command to change a term of an account, with what the term means for its margin. */
export async function decideTerms(
  load: Load,
  context: Context,
  command: TermsCommand,
  decide: (command: TermsCommand, state: AccountState, market: Market) => TradingDecision<TermsCommand>,
): Promise<Committable<TermsCommand>> {
  let decided: TradingDecision<TermsCommand> | undefined;
  const committable = await decideTrading(load, context, {
    account_id: command.account_id,
    refs: {},
    needs: () => ({}),
    decide: (state, market) => {
      decided = decide(command, state, market);
      return decided;
    },
  });
  if (decided !== undefined) await countAttention(decided);
  return committable;
}

/** The transaction, where the ledger since its debit may matter: what a command brings back takes that debit back. */
function booked(
  transaction: Transaction,
  command: MoneyCommand,
  sought: MoneyCommand | undefined,
): Transaction | undefined {
  const moving = sought !== undefined && isOpen(sought) ? sought : command;
  return moving.leg === "reverse" ? transaction : undefined;
}
