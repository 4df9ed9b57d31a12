import type { Context, Refusal } from "../domain/kernel/decision.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { FeedResultBody } from "../schema/feed.ts";
import { type Committable, type Load, ref } from "../table/store.ts";
import { commitDecision, prepared } from "../trading/commit.ts";
import { decideAside } from "./aside.ts";
import { decideItem, type FeedRun, itemContext, type PlacedItem, type Verdict } from "./decisions.ts";
import { feedReadsOf } from "./unjoined-legs.ts";

/** Applies one item, or puts it aside. One that too many others meet is deferred, with all of its account after it. */
export async function settleItem(given: FeedRun, placed: PlacedItem): Promise<FeedResultBody> {
  const { reading, account_id } = placed;
  const { seq } = reading.raw;
  const run = { ...given, newContext: () => itemContext(given, reading) };
  if (!reading.ok) return putAside(run, placed, reading.refusal);
  const outcome = await commitDecision(run, async (load, context) =>
    prepared(await decideItem(run, reading, account_id, feedReadsOf(load), context), context),
  );
  if (outcome.kind === "contended")
    return deferred(seq, "service_unavailable", "Too many change this account at once.");
  if (outcome.kind === "refused") return putAside(run, placed, outcome.refusal);
  return resultOf(seq, outcome.result);
}

/** The audit entry of a person's try of a rejected item, where no event reports the result. */
export function retriedAudit({ id }: Pick<FeedSource, "id">, seq: string): NonNullable<FeedRun["audited"]> {
  const resource = { type: "feed_source", id };
  return (result) => ({
    resource,
    changes: [{ resource, before: null, after: { ...resultOf(seq, result as Verdict) } }],
  });
}

/** The result of an item, as the API shows it. */
export function resultOf(seq: string, result: Verdict): FeedResultBody {
  if (result.status !== "rejected") return { seq, status: result.status, ...result.made };
  const { candidates, aside_minor: _minor, ...rest } = result;
  return { seq, ...rest, ...(candidates === undefined ? {} : { candidates: [...candidates] }) };
}

/** An item that is to be sent again. */
export function deferred(seq: string, code: string, detail: string): FeedResultBody {
  return { seq, status: "deferred", code, detail };
}

/**
 * Puts an item aside with the reason, unless it was applied or put aside meanwhile. The same item under another number
 * is put aside by itself.
 */
export async function putAside(run: FeedRun, placed: PlacedItem, refusal: Refusal): Promise<FeedResultBody> {
  const { seq } = placed.reading.raw;
  const outcome = await commitDecision<Verdict>(run, (load, context) =>
    refusal.code === "possible_duplicate"
      ? decideAgain(run, placed, refusal, load, context)
      : decideAside(run, placed, refusal, load, context),
  );
  if (outcome.kind !== "done") return deferred(seq, "service_unavailable", "Too many change this item at once.");
  return resultOf(seq, outcome.result);
}

/**
 * Decides an operation that could be money of a transaction once more, and puts it aside only on the money that this
 * was decided on: an acknowledgement that comes meanwhile has booked it.
 */
async function decideAgain(
  run: FeedRun,
  placed: PlacedItem,
  refusal: Refusal,
  load: Load,
  context: Context,
): Promise<Committable<Verdict>> {
  const { reading, account_id } = placed;
  if (!reading.ok || account_id === undefined) return decideAside(run, placed, refusal, load, context);
  const { balance } = await load({ balance: ref.balance(account_id) });
  const again = await decideItem(run, reading, account_id, feedReadsOf(load), context);
  return again.ok ? prepared(again, context) : decideAside(run, placed, again.refusal, load, context, balance?.seq);
}
