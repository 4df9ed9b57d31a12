import { withoutAside } from "../domain/feed/aside-money.ts";
import { forwardMinor } from "../domain/feed/command/money.ts";
import { markOf } from "../domain/feed/records.ts";
import type { Context } from "../domain/kernel/decision.ts";
import { moveTransaction } from "../domain/money/move.ts";
import type { AccountContext } from "../domain/money/transaction.ts";
import type { Decision } from "../domain/records/change.ts";
import type { Dedup } from "../domain/records/feed-item.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import type { AckCommand } from "../schema/feed/command.ts";
import type { UpdateTransaction } from "../schema/transaction.ts";
import { type Committable, type Load, type PreparedChange, type Ref, ref } from "../table/store.ts";
import { tradingRef, writeTrading } from "../trading/items.ts";
import { decideTransaction } from "./decide.ts";

/**
 * Decides `PATCH /transactions/{id}`, and approvals and rejections, which are such moves. An operation that a person
 * settles with may have been put aside before: it is booked by this, so it is neither held nor counted any more, as
 * where a command is acknowledged with it.
 * @param found called with the transaction before anything else is read
 */
export async function decideMove(
  load: Load,
  context: Context,
  id: string,
  request: UpdateTransaction,
  found?: (transaction: Transaction) => void,
): Promise<Committable<Transaction>> {
  const { operation_id } = request;
  const note = operation_id === undefined ? undefined : await noteOf(load, id, operation_id);
  const settles = ({ result }: { readonly result: Transaction }) =>
    operation_id !== undefined &&
    note?.aside_account_id === result.account_id &&
    note.aside_minor === claimedMinor(result, operation_id);
  const decide = (transaction: Transaction, accountContext: AccountContext) => {
    const decision = moveTransaction(transaction, accountContext, request, context);
    if (!books(decision) || !settles(decision)) return decision;
    return withoutAside(decision, note, accountContext.balance, context) as Decision<Transaction>;
  };
  const committable = await decideTransaction(load, context, id, decide, found);
  if (note === undefined || !books(committable) || !settles(committable)) return committable;
  return { ...committable, changes: [...committable.changes, freedNote(note, context)] };
}

/** The note of the operation that an acknowledgement names, to be read with its command. */
export function noteRef(
  sourceId: string,
  { operation_id: id }: Pick<AckCommand, "operation_id">,
): { readonly note?: Ref<Dedup> } {
  return id === undefined || id === null ? {} : { note: tradingRef.dedup(sourceId, "operation", id) };
}

/** The note of an operation of the source that the account of a transaction is linked to. */
async function noteOf(load: Load, id: string, operation_id: string): Promise<Dedup | undefined> {
  const { transaction } = await load({ transaction: ref.transaction(id) });
  if (transaction === undefined) return undefined;
  const { account } = await load({ account: ref.account(transaction.account_id) });
  const source = account?.source_id ?? undefined;
  return source === undefined ? undefined : (await load(noteRef(source, { operation_id }))).note;
}

/** Amount that a leg of a transaction adds to its account, for the leg that an operation was claimed for. */
function claimedMinor(transaction: Transaction, operation_id: string): bigint | undefined {
  const entry = transaction.platform_operations?.find((each) => each.operation_id === operation_id);
  return entry?.leg === "reverse" ? transaction.reverse_minor : forwardMinor(transaction);
}

type Booking<D> = Extract<D, { readonly ok: true }>;

/** Whether a decision books an operation in the name that its bridge gave it. */
export function books<D extends Committable<unknown>>(decision: D): decision is Booking<D> {
  return decision.ok && decision.changes.some((each) => each.op === "claim" && each.kind === "source_operation");
}

/** The note of an operation that is neither held nor counted any more. */
export function freedNote(note: Dedup, { tenant_id, now }: Context): PreparedChange {
  const { source_id, kind, name, seq, status, made, code, detail, candidates } = note;
  const outcome = { status, made, code, detail, ...(candidates === undefined ? {} : { candidates }) };
  const named = { raw: { seq }, dedup: [kind, name], content: [] } as const;
  const after = markOf({ source: { id: source_id }, tenant_id }, named, note, now, outcome);
  return { op: "prepared", item: writeTrading({ op: "mark", before: note, after }, tenant_id) };
}
