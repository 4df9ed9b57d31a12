import type { TradingChange } from "../../domain/records/trading-change.ts";
import { limits } from "../../limits.ts";
import { causeOf, log } from "../../runtime/log.ts";
import { inParallel } from "../../runtime/parallel.ts";
import { isUnavailable } from "../../runtime/unavailable.ts";
import type { FeedResultBody } from "../../schema/feed.ts";
import { onlyThrottled, reasonsOf, sendTransaction } from "../../table/transact.ts";
import { decideItem, type FeedRun, itemContext, type PlacedItem } from "../decisions.ts";
import { resultOf } from "../items.ts";
import { SharedCommit, writtenAs } from "./commits.ts";
import { AccountMemory, type BatchMemory } from "./memory.ts";

/** The items of one account in their order, with what became of the first of them. */
export interface Lane {
  readonly items: readonly PlacedItem[];
  readonly results: FeedResultBody[];
  /** Why its next item could not be settled, where it was not found out whether it was committed. */
  failure?: unknown;
}

/** The items of a lane that are not settled yet. */
export function leftOf({ items, results }: Lane): readonly PlacedItem[] {
  return items.slice(results.length);
}

type Commit = SharedCommit<FeedResultBody>;

/** The commits of a lane in their order. */
interface Decided {
  readonly commits: readonly Commit[];
  /** Keeps what the account holds, when the commit of this place was its last one. */
  readonly remember: (step: number) => Promise<void>;
}

/** A commit on its way, and where its results go. */
interface Pending {
  readonly lane: Lane;
  readonly commit: Commit;
}

/**
 * Settles as many items of each lane as can be decided from what was read for all of them: the items of an account in
 * one transaction as far as they fit, and several accounts in one. A lane stops before an item that is refused, that
 * fails, or whose account was changed by others meanwhile. That one is left to be decided alone, from reads of its own.
 * `now` is a moment before anything was read: a price that comes after the read is then newer than the decision, and is
 * judged when the commit is watched.
 */
export async function settleTogether(
  run: FeedRun,
  memory: BatchMemory,
  lanes: readonly Lane[],
  now: string,
): Promise<void> {
  const decided = new Map<Lane, Decided>();
  await inParallel(limits.feed.parallel, lanes, async (lane) => {
    decided.set(lane, await decideLane({ ...run, newContext: () => ({ ...run.newContext(), now }) }, memory, lane));
  });
  let going = lanes;
  for (let step = 0; going.length > 0 && hasTime(run); step += 1) {
    const pending = going.flatMap((lane): Pending[] => {
      const commit = decided.get(lane)?.commits[step];
      return commit === undefined ? [] : [{ lane, commit }];
    });
    const done = new Set<Lane>();
    await inParallel(limits.feed.parallel_transactions, packed(pending), async (group) => {
      for (const { lane, commit } of await sendGroup(group)) {
        lane.results.push(...commit.results);
        done.add(lane);
      }
    });
    going = going.filter((lane) => done.has(lane));
    await Promise.all(going.map((lane) => decided.get(lane)?.remember(step)));
  }
}

/** Whether there is time to begin anything. */
export function hasTime({ remainingMs }: FeedRun): boolean {
  return remainingMs() > limits.commit.reserve_ms;
}

/** Decides the items of an account one on what the other leaves, up to the first that is to be decided alone. */
async function decideLane(run: FeedRun, batch: BatchMemory, lane: Lane): Promise<Decided> {
  const memory = new AccountMemory(batch, run.tenant_id);
  const commits: Commit[] = [];
  let hidden = false;
  for (const [place, { reading, account_id }] of leftOf(lane).entries()) {
    if (!reading.ok || (hidden && reading.item.type === "balance_operation")) break;
    const context = itemContext(run, reading);
    // An item that fails here fails again where it is decided alone, and is reported there.
    const decision = await decideItem(run, reading, account_id, memory, context).catch(() => undefined);
    if (decision === undefined || !decision.ok) break;
    const changes = decision.changes.map((change) => writtenAs(change, run.tenant_id));
    const result = resultOf(reading.raw.seq, decision.result);
    let made = commits.at(-1)?.take(result, changes, decision.events, context, place);
    if (made === undefined) {
      const own: Commit = new SharedCommit();
      commits.push(own);
      made = own.take(result, changes, decision.events, context, place);
    }
    for (const { key, change } of made ?? []) memory.leave(key, change);
    hidden ||= decision.changes.some(isHidden);
  }
  const [{ account_id = "" } = {}] = lane.items;
  const isLast = (step: number) => step === commits.length - 1;
  return { commits, remember: async (step) => (isLast(step) ? memory.remember(account_id) : undefined) };
}

/** Whether a change is one of what operations ask the table for, and do not find in the memory. */
function isHidden({ op }: TradingChange): boolean {
  return op === "list" || op === "unlist";
}

/** Puts commits into transactions: each goes into the first that has room for it and writes none of its items. */
function packed(pending: readonly Pending[]): readonly Pending[][] {
  const groups: { readonly of: Pending[]; readonly keys: Set<string>; items: number; bytes: number }[] = [];
  for (const each of pending) {
    const { items, bytes } = each.commit.members;
    const keys = [...each.commit.keys];
    const group = groups.find(
      (one) =>
        one.items + items.length <= limits.commit.max_items &&
        one.bytes + bytes <= limits.feed.max_transaction_bytes &&
        !keys.some((key) => one.keys.has(key)),
    );
    if (group === undefined) groups.push({ of: [each], keys: new Set(keys), items: items.length, bytes });
    else {
      group.of.push(each);
      for (const key of keys) group.keys.add(key);
      group.items += items.length;
      group.bytes += bytes;
    }
  }
  return groups.map(({ of }) => of);
}

/**
 * Sends the commits of several accounts as one transaction, and again without those that it was cancelled for; returns
 * those that are committed. Where it is not known whether it was carried out, their lanes wait.
 */
async function sendGroup(group: readonly Pending[]): Promise<readonly Pending[]> {
  let left = group;
  while (left.length > 0) {
    const items = left.flatMap(({ commit }) => commit.members.items);
    try {
      if (items.length > 0) await sendTransaction(items);
      return left;
    } catch (error) {
      const fit = withoutFailed(left, error);
      if (fit.length === left.length) {
        const alone = left.length === 1 && left[0]?.commit.results.length === 1;
        if (alone || isUnavailable(error)) for (const { lane } of left) lane.failure = error;
        else log.warn("A transaction of several items of a feed failed.", causeOf(error));
        return [];
      }
      left = fit;
    }
  }
  return [];
}

/** The commits that a transaction was not cancelled for; all of them where it says nothing of its members. */
function withoutFailed(sent: readonly Pending[], error: unknown): readonly Pending[] {
  const reasons = reasonsOf(error);
  if (reasons.length === 0 || onlyThrottled(reasons)) return sent;
  let place = 0;
  return sent.filter(({ commit }) => {
    const begin = place;
    place += commit.members.items.length;
    return reasons.slice(begin, place).every(({ Code = "None" }) => Code === "None");
  });
}
