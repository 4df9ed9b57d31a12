import { type Command, isOpen } from "../domain/command/command.ts";
import type { CommandState } from "../domain/command/settle.ts";
import { type Context, type Decision, notFound } from "../domain/decision.ts";
import { isComplete, type Transaction } from "../domain/transaction.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { tradingRef } from "../trading/items.ts";
import { decideMoney, linkOf, moneyRefs, readHeld } from "../trading/margin.ts";

/** Makes a decision about a command with the transaction whose money it moves, and the account of that. */
export async function decideCommand(
  load: Load,
  context: Context,
  command: Command,
  decide: (state: CommandState) => Decision<Command>,
): Promise<Committable<Command>> {
  const { about_id, transaction_id } = command;
  const { transaction, sought, risk, ...found } = await load({
    ...moneyRefs(command.account_id),
    transaction: ref.transaction(transaction_id ?? ""),
    ...(about_id === undefined ? {} : { sought: tradingRef.command(about_id) }),
  });
  if (transaction === undefined || !isComplete(found)) return notFound();
  const [held, link] = await Promise.all([
    readHeld(load, context, { ...found, risk }),
    linkOf(load, found, transaction),
  ]);
  return decideMoney(
    held,
    context,
    { ...found, ...link },
    (accountContext) => decide({ command, transaction, accountContext, sought }),
    booked(transaction, command, sought),
  );
}

/** The transaction, where the ledger since its debit may matter: what a command brings back takes that debit back. */
function booked(transaction: Transaction, command: Command, sought: Command | undefined): Transaction | undefined {
  const moving = sought !== undefined && isOpen(sought) ? sought : command;
  return moving.leg === "reverse" ? transaction : undefined;
}
