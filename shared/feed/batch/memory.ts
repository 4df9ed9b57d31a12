import { isAdjustment } from "../../domain/accounts/balance.ts";
import type { Balance } from "../../domain/records/balance.ts";
import type { BalanceAdjustment } from "../../domain/records/change.ts";
import type { Position } from "../../domain/records/position.ts";
import type { TradingChange } from "../../domain/records/trading-change.ts";
import { limits } from "../../limits.ts";
import { keepLast } from "../../runtime/keep-last.ts";
import { causeOf, log } from "../../runtime/log.ts";
import { isUnavailable } from "../../runtime/unavailable.ts";
import { accounts, balances, type Key, risks } from "../../table/entities.ts";
import { identityOf, type Load, readKeys } from "../../table/store.ts";
import { positionsOf } from "../../trading/holdings.ts";
import { candidatesOf, type FeedReads } from "../unjoined-legs.ts";

/** The positions of accounts as this environment left them, with the `pos_version` that it left with them. */
const leftPositions = new Map<string, Pick<Balance, "pos_version"> & { readonly positions: readonly Position[] }>();

/**
 * The open positions of an account whose money was read now, as far as they are known without a query: there are none,
 * or they are as this environment left them, since every change of a position raises `pos_version`.
 */
export function knownPositions(
  tenant: string,
  accountId: string,
  balance: Balance | undefined,
): readonly Position[] | undefined {
  if (balance?.positions === 0) return [];
  const left = leftPositions.get(`${tenant}#${accountId}`);
  return left !== undefined && left.pos_version === balance?.pos_version ? left.positions : undefined;
}

/** Keys that earlier batches read for names and accounts: the next batch reads them at once. */
const leads = new Map<string, readonly Key[]>();

/**
 * Keys that a name or an account led to in an earlier batch. They are a guess: what is read by them is used where the
 * items that were read say the same.
 */
export function ledTo(tenant: string, name: string): readonly Key[] {
  return leads.get(`${tenant}#${name}`) ?? [];
}

/** Remembers what a name or an account leads to, of those that came last. */
export function leadsTo(tenant: string, name: string, keys: readonly Key[]): void {
  keepLast(leads, `${tenant}#${name}`, keys, limits.feed.remembered_names);
}

/** Remembers the positions of an account that was just committed, of the accounts that came last. */
async function rememberPositions(tenant: string, accountId: string, memory: AccountMemory): Promise<void> {
  const name = `${tenant}#${accountId}`;
  const [balance] = (await memory.items([balances.key(tenant, accountId)])) as (Balance | undefined)[];
  const positions = await memory.positionsOf(tenant, accountId);
  leftPositions.delete(name);
  if (balance === undefined || positions.length > limits.feed.remembered_positions) return;
  keepLast(leftPositions, name, { pos_version: balance.pos_version, positions }, limits.feed.remembered_accounts);
}

/** The account, its money and its risk. */
export function holderKeys(tenant: string, id: string): readonly Key[] {
  return [accounts.key(tenant, id), balances.key(tenant, id), risks.key(tenant, id)];
}

/**
 * Everything that was read for a batch, so that items that depend on the same read it once. Each item and each
 * account's positions are read when they are first asked for, strongly consistent, and stay as they were then: whatever
 * is decided on them is written on the condition that they are still so.
 */
export class BatchMemory {
  private readonly known = new Map<string, unknown>();
  private readonly positions = new Map<string, Promise<readonly Position[]>>();
  private readonly candidates = new Map<string, ReturnType<typeof candidatesOf>>();

  /** Items by key, in the order of the keys; those that are not known yet in one read. */
  readonly items = async (keys: readonly Key[]): Promise<readonly unknown[]> => {
    const names = keys.map(identityOf);
    const missing = keys.filter((_, place) => !this.known.has(names[place] ?? ""));
    if (missing.length > 0) {
      const found = await readKeys(missing);
      for (const [place, key] of missing.entries()) this.known.set(identityOf(key), found[place]);
    }
    return names.map((name) => this.known.get(name));
  };

  /**
   * Reads items that are probably asked for next. Where one of them cannot be read, each is read when it is asked for:
   * that one holds up its own account, and no other.
   * @throws what says that the table does not answer now: reads of single items would only make it worse
   */
  readonly ahead = async (keys: readonly Key[]): Promise<void> => {
    await this.items(keys).catch((error: unknown) => {
      if (isUnavailable(error)) throw error;
      log.warn("The items of a batch could not be read together; each is read alone.", causeOf(error));
    });
  };

  /** Takes the positions of an account as known. */
  holds(accountId: string, positions: readonly Position[]): void {
    this.positions.set(accountId, Promise.resolve(positions));
  }

  /**
   * Transactions that an amount could be the money of. It is asked for when the account is read: money that is booked
   * between the two changes the account.
   */
  readonly candidatesOf: FeedReads["candidatesOf"] = (tenant, accountId, amountMinor) => {
    const name = `${accountId} ${amountMinor}`;
    const known = this.candidates.get(name) ?? candidatesOf(tenant, accountId, amountMinor);
    this.candidates.set(name, known);
    return known;
  };

  /** The open positions of an account as they are stored. */
  readonly positionsOf = (tenant: string, accountId: string): Promise<readonly Position[]> => {
    const known = this.positions.get(accountId) ?? positionsOf(tenant, accountId);
    this.positions.set(accountId, known);
    return known;
  };
}

/**
 * State for the items of one account: everything that was read for the batch, and the state after the items before
 * them. Items of other accounts do not change it, because they may not be committed.
 */
export class AccountMemory implements FeedReads {
  readonly tries = 1;
  private readonly left = new Map<string, unknown>();
  private readonly positions = new Map<string, Position | undefined>();
  private readonly batch: BatchMemory;
  private readonly tenant: string;

  constructor(batch: BatchMemory, tenant: string) {
    this.batch = batch;
    this.tenant = tenant;
  }

  readonly items = async (keys: readonly Key[]): Promise<readonly unknown[]> => {
    const names = keys.map(identityOf);
    const read = await this.batch.items(keys.filter((_, place) => !this.left.has(names[place] ?? "")));
    const others = read[Symbol.iterator]();
    return names.map((name) => (this.left.has(name) ? this.left.get(name) : others.next().value));
  };

  readonly candidatesOf: FeedReads["candidatesOf"] = (...asked) => this.batch.candidatesOf(...asked);

  get uncommitted(): boolean {
    return this.left.size > 0;
  }

  readonly load: Load = async (refs) => {
    const found = await this.items(Object.values(refs).map((each) => each.keyIn(this.tenant)));
    return Object.fromEntries(Object.keys(refs).map((name, place) => [name, found[place]])) as never;
  };

  readonly positionsOf = async (tenant: string, accountId: string): Promise<readonly Position[]> => {
    const read = await this.batch.positionsOf(tenant, accountId);
    if (this.positions.size === 0) return read;
    const open = new Map<string, Position | undefined>(read.map((position) => [position.id, position]));
    for (const [id, position] of this.positions) open.set(id, position);
    const left = [...open.values()].filter((position) => position !== undefined);
    return left.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  };

  /** Keeps the positions of the account for later batches, once all that was noted here is committed. */
  remember(accountId: string): Promise<void> {
    return rememberPositions(this.tenant, accountId, this);
  }

  /** Notes what a change of the account's own leaves of the item of this key. */
  leave(key: Key, change: TradingChange): void {
    if (!isKept(change)) return;
    const item = itemAfter(change);
    this.left.set(identityOf(key), item);
    if (change.op === "remove") this.positions.set(change.before.id, undefined);
    else if ("entity" in change && change.entity === "position") {
      this.positions.set((item as Position).id, item as Position);
    }
  }
}

/** Changes of items that no decision about an account reads. */
const unread = ["expose", "hide", "list", "unlist", "find", "unfind"] as const;

type Kept = Exclude<TradingChange, { op: (typeof unread)[number] } | { op: "adjust" }> | BalanceAdjustment;

/** Whether a change is one of what decisions about the account read again. */
function isKept(change: TradingChange): change is Kept {
  if (change.op === "adjust") return isAdjustment(change);
  return !unread.some((op) => op === change.op);
}

function itemAfter(change: Kept): unknown {
  switch (change.op) {
    case "create":
      return change.item;
    case "update":
    case "mark":
    case "adjust":
      return change.after;
    case "claim":
      return { owner_id: change.owner };
    case "remove":
    case "release":
      return undefined;
  }
}
