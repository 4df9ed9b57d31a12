import { limits } from "../../limits.ts";
import { nowIso } from "../../runtime/clock.ts";
import { causeOf, log } from "../../runtime/log.ts";
import { inParallel } from "../../runtime/parallel.ts";
import { isUnavailable } from "../../runtime/unavailable.ts";
import { isRefusal } from "../../runtime/verdict.ts";
import type { FeedResultBody } from "../../schema/feed.ts";
import type { FeedRun, PlacedItem } from "../decisions.ts";
import { deferred, settleItem } from "../items.ts";
import { BatchMemory } from "./memory.ts";
import { readAhead } from "./places.ts";
import { hasTime, type Lane, leftOf, settleTogether } from "./together.ts";

/**
 * Settles the items of accounts, accounts concurrently: first from reads in common, then what is left one by one. Each
 * item is settled or deferred; after the first deferred one of an account all of it is.
 */
export async function settleAccounts(run: FeedRun, memory: BatchMemory, lanes: readonly Lane[]): Promise<void> {
  let open = lanes;
  for (let pass = 0; pass < limits.feed.passes && open.length > 0 && hasTime(run); pass += 1) {
    const read = pass === 0 ? memory : new BatchMemory();
    const now = nowIso();
    // Where the reads in common fail, each account is read by itself, so that one of them holds up no other.
    await readAhead(run, read, open.flatMap(leftOf)).catch((error: unknown) =>
      log.warn("The accounts of a batch could not be read together; each is read alone.", causeOf(error)),
    );
    await settleTogether(run, read, open, now);
    open = open.filter((lane) => leftOf(lane).length > 0);
    await inParallel(limits.feed.parallel, open, (lane) => settleNext(run, lane));
    open = open.filter((lane) => leftOf(lane).length > 0 && !isDeferred(lane));
  }
  await settleOneByOne(run, lanes);
}

/** Settles what is left of lanes one item after the other. */
export function settleOneByOne(run: FeedRun, lanes: readonly Lane[]): Promise<void> {
  return inParallel(limits.feed.parallel, lanes, async (lane) => {
    while (leftOf(lane).length > 0) await settleNext(run, lane);
  });
}

function isDeferred({ results }: Lane): boolean {
  return results.at(-1)?.status === "deferred";
}

/** Settles the next item of a lane alone, or defers it. */
async function settleNext(run: FeedRun, lane: Lane): Promise<void> {
  const [item] = leftOf(lane);
  if (item === undefined) return;
  const { seq } = item.reading.raw;
  if (isDeferred(lane)) lane.results.push(deferred(seq, "service_unavailable", "An item before it waits."));
  else if (lane.failure !== undefined) lane.results.push(deferredBy(run, seq, lane.failure));
  else lane.results.push(await settledOrDeferred(run, item));
}

/** A fault of ours with one item holds up its account, and neither the others nor what the batch returns for them. */
export async function settledOrDeferred(
  run: FeedRun,
  item: PlacedItem,
  settle: () => Promise<FeedResultBody> = () => settleItem(run, item),
): Promise<FeedResultBody> {
  const { seq } = item.reading.raw;
  if (!hasTime(run)) return deferred(seq, "service_unavailable", "There was no time left for it.");
  return settle().catch((error: unknown) => deferredBy(run, seq, error));
}

function deferredBy(run: FeedRun, seq: string, error: unknown): FeedResultBody {
  const { stack } = error as Error;
  // An item that the rate limit refuses has not failed, and its answer is that refusal.
  if (!isRefusal(error)) {
    log.error("An item of a feed failed.", { source: run.source.id, seq, ...causeOf(error), stack });
  }
  const code = isUnavailable(error) ? "service_unavailable" : "internal_error";
  return deferred(seq, code, "The service failed. Send it again: an item is applied once.");
}
