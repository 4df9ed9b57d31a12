import { isTrading } from "../domain/accounts/debt.ts";
import type { Made } from "../domain/feed/apply.ts";
import { isCorrection, isOpen } from "../domain/feed/command/command.ts";
import { unconfirmed } from "../domain/feed/join-operation.ts";
import { type Operation, operationMinor } from "../domain/feed/platform-money.ts";
import type { OperationLinks } from "../domain/feed/reported.ts";
import type { CorrectionCommand, PlatformCommand } from "../domain/records/command.ts";
import type { Drift } from "../domain/records/drift.ts";
import type { Dedup } from "../domain/records/feed-item.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { sinceDebit, sinceMoment } from "../money/since-debit.ts";
import type { RetryFeedReject } from "../schema/feed.ts";
import { giversOf } from "../table/givers.ts";
import { type Ref, ref } from "../table/store.ts";
import type { AccountState } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { driftRef } from "./drift-refs.ts";
import type { FeedReads } from "./unjoined-legs.ts";

/** The transactions that an operation could be the money of. */
export type Linked = Omit<OperationLinks, "tenant" | "said">;

/**
 * The links of an operation: the transaction that it names, itself or by a command, the newest command about it, and
 * the transaction or the command that it was claimed for before it came. Most operations need no read for this.
 */
export async function linksOf(
  { tenant_id, source, reads, at }: Reading,
  data: Operation,
  { account, balance }: Pick<AccountState, "account" | "balance">,
  found: FoundLinks,
): Promise<Linked> {
  const { known, mark } = found;
  const amount = operationMinor(data, account);
  const owner = known === undefined || mark?.status === "applied" ? undefined : known.owner_id;
  const ofCommand = found.command?.transaction_id ?? undefined;
  const newest = found.named?.command_id;
  const {
    named = found.named,
    command = found.command,
    claimed,
    claiming: claimer,
  } = await loadSome(reads, {
    named: ofCommand === undefined ? undefined : ref.transaction(ofCommand),
    command: newest === undefined ? undefined : tradingRef.command(newest),
    claimed: owner === undefined || isCommandId(owner) ? undefined : ref.transaction(owner),
    claiming: owner === undefined || !isCommandId(owner) ? undefined : tradingRef.command(owner),
  });
  const waiting = claimed && waitsFor(claimed, data) ? claimed : undefined;
  const claimant = claimed && unconfirmed(claimed, source, data.operation_id) ? claimed : undefined;
  const claiming = isCorrection(claimer) && claimer.feed_seq === undefined ? claimer : undefined;
  const drift = isCorrection(command) ? await driftOf(command, reads) : undefined;
  const open = known === undefined || claimant !== undefined || claiming !== undefined;
  const givers = await giversOf(tenant_id, [named, waiting], reads.items);
  const asked = named === undefined && !isCorrection(command) && open && amount.ok;
  const candidates = asked ? await reads.candidatesOf(tenant_id, account.id, amount.result) : [];
  const since = named?.returning === undefined ? {} : await sinceDebit(named, balance);
  const adds = amount.ok && amount.result > 0n && !isTrading(data.kind) && source.authoritative === "service";
  const late = adds && at !== undefined ? await sinceMoment(balance, at) : undefined;
  return { named, command, claimant, claiming, waiting, givers, drift, candidates, late, ...since };
}

/** Whether a transaction, or the people who are left with it, waits for an operation that is set aside. */
function waitsFor({ set_aside }: Transaction, { operation_id }: Pick<Operation, "operation_id">): boolean {
  return set_aside?.operation_id === operation_id && set_aside.taken_back_by === undefined;
}

/** The drift of a command that was given up: whether the books were found equal says what its operation is. */
async function driftOf(command: CorrectionCommand, { load }: FeedReads): Promise<Drift | undefined> {
  if (isOpen(command) || command.status === "done" || command.purpose !== "drift") return undefined;
  return (await load({ drift: driftRef.drift(command.drift_id) })).drift;
}

/** The transaction or the command that an operation names, itself or by the person who tries it again. */
export function nameOf({ reference }: Operation, said: RetryFeedReject | undefined): string | undefined {
  return said?.transaction_id ?? said?.command_id ?? reference ?? undefined;
}

/** The decision of a person who tries an operation again. */
export function retryDecision(said: RetryFeedReject | undefined): OperationLinks["said"] {
  const named = said?.transaction_id ?? said?.command_id;
  if (named !== undefined) return "is_named";
  if (said?.take_back) return "take_back";
  return said?.confirm_new ? "is_new" : undefined;
}

/** The owner of an operation that is known already: a transaction or a command. */
export function madeBy({ owner_id: id }: { readonly owner_id: string }): Made {
  return isCommandId(id) ? { command_id: id } : { transaction_id: id };
}

/** Whether an identifier is that of a command. */
export function isCommandId(id: string): boolean {
  return id.startsWith("cmd_");
}

interface Reading {
  readonly tenant_id: string;
  readonly source: FeedSource;
  readonly reads: FeedReads;
  /** When it happened on the platform, where the item says so. */
  readonly at: string | undefined;
}

interface FoundLinks {
  readonly named?: Transaction | undefined;
  readonly command?: PlatformCommand | undefined;
  readonly known?: { readonly owner_id: string } | undefined;
  readonly mark?: Dedup | undefined;
}

/** Loads what is there to load: nothing is read where all of it is undefined. */
async function loadSome(
  { load }: FeedReads,
  refs: {
    readonly named: Ref<Transaction> | undefined;
    readonly command: Ref<PlatformCommand> | undefined;
    readonly claimed: Ref<Transaction> | undefined;
    readonly claiming: Ref<PlatformCommand> | undefined;
  },
): Promise<{
  named?: Transaction | undefined;
  command?: PlatformCommand | undefined;
  claimed?: Transaction | undefined;
  claiming?: PlatformCommand | undefined;
}> {
  const wanted = Object.entries(refs).filter(([, each]) => each !== undefined);
  return wanted.length === 0 ? {} : load(Object.fromEntries(wanted) as never);
}
