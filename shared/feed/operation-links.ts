import type { Command } from "../domain/command/command.ts";
import { isTrading } from "../domain/debt.ts";
import { type OperationLinks, unconfirmed } from "../domain/feed/join-operation.ts";
import { type Operation, operationMinor } from "../domain/feed/platform-money.ts";
import type { Dedup } from "../domain/feed/records.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import type { Transaction } from "../domain/transaction.ts";
import { type Ref, ref } from "../table/store.ts";
import type { AccountState, Reads } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { sinceDebit, sinceMoment } from "../trading/since-debit.ts";
import { candidatesOf } from "./unjoined-legs.ts";

/** What is known of the transactions that an operation could be the money of. */
export type Linked = Omit<OperationLinks, "tenant" | "said">;

/**
 * What an operation is linked with: the transaction that it names, itself or by a command, the newest command about it,
 * and the transaction that it was claimed for before it came. Most operations need no read for this.
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
  } = await loadSome(reads, {
    named: ofCommand === undefined ? undefined : ref.transaction(ofCommand),
    command: newest === undefined ? undefined : tradingRef.command(newest),
    claimed: owner === undefined ? undefined : ref.transaction(owner),
  });
  const claimant = claimed && unconfirmed(claimed, source, data.operation_id) ? claimed : undefined;
  const asked = named === undefined && (known === undefined || claimant !== undefined) && amount.ok;
  const candidates = asked ? await candidatesOf(tenant_id, account.id, amount.result) : [];
  const since = named?.returning === undefined ? {} : await sinceDebit(named, balance);
  const adds = amount.ok && amount.result > 0n && !isTrading(data.kind) && source.authoritative === "service";
  const late = adds && at !== undefined ? await sinceMoment(balance, at) : undefined;
  return { named, command, claimant, candidates, late, ...since };
}

interface Reading {
  readonly tenant_id: string;
  readonly source: FeedSource;
  readonly reads: Reads;
  /** When it happened on the platform, where the item says so. */
  readonly at: string | undefined;
}

interface FoundLinks {
  readonly named?: Transaction | undefined;
  readonly command?: Command | undefined;
  readonly known?: { readonly owner_id: string } | undefined;
  readonly mark?: Dedup | undefined;
}

/** Loads what is there to load: nothing is read where all of it is undefined. */
async function loadSome(
  { load }: Reads,
  refs: {
    readonly named: Ref<Transaction> | undefined;
    readonly command: Ref<Command> | undefined;
    readonly claimed: Ref<Transaction> | undefined;
  },
): Promise<{ named?: Transaction | undefined; command?: Command | undefined; claimed?: Transaction | undefined }> {
  const wanted = Object.entries(refs).filter(([, each]) => each !== undefined);
  return wanted.length === 0 ? {} : load(Object.fromEntries(wanted) as never);
}
