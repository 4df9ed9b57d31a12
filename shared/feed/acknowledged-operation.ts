import { withoutAside } from "../domain/feed/aside-money.ts";
import { acknowledge } from "../domain/feed/command/settle.ts";
import type { Context } from "../domain/kernel/decision.ts";
import type { Decision } from "../domain/records/change.ts";
import type { MoneyCommand } from "../domain/records/command.ts";
import type { Dedup } from "../domain/records/feed-item.ts";
import { books, freedNote } from "../money/move.ts";
import type { AckCommand } from "../schema/feed/command.ts";
import type { Committable, Load } from "../table/store.ts";
import { decideCommand } from "./commands.ts";

/**
 * Decides an acknowledgement of a command about money. An operation that was put aside before is booked by it: it is
 * neither held nor counted any more, and its item is still to be retried, which confirms the operation. A command that
 * corrects a drift books nothing here: the item itself takes back what it held, once it is retried.
 * @param note what is noted of the operation that the acknowledgement names
 */
export async function decideAck(
  load: Load,
  context: Context,
  command: MoneyCommand,
  ack: AckCommand,
  note: Dedup | undefined,
): Promise<Committable<MoneyCommand>> {
  const { account_id, amount_minor } = command;
  const isOwn = note?.aside_account_id === account_id && note.aside_minor === amount_minor;
  const committable = await decideCommand(load, context, command, (state) => {
    const decision = acknowledge(state, ack, context);
    const { about } = state;
    if (!isOwn || about.purpose !== "transaction" || !books(decision)) return decision;
    return withoutAside(decision, note, about.accountContext.balance, context) as Decision<MoneyCommand>;
  });
  if (!isOwn || command.purpose !== "transaction" || !books(committable)) return committable;
  return { ...committable, changes: [...committable.changes, freedNote(note, context)] };
}
