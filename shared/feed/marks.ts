import { positionMarker } from "../domain/feed/deals.ts";
import { orderMarker } from "../domain/feed/mirror-order.ts";
import { markOf, type Named, resolved } from "../domain/feed/records.ts";
import { settledSince } from "../domain/feed/reversal-repayment.ts";
import type { DealUndo } from "../domain/feed/undo.ts";
import type { Account } from "../domain/records/account.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Dedup, FeedReject } from "../domain/records/feed-item.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import type { TradingDecision } from "../domain/records/trading-change.ts";
import { ledgerSince } from "../money/since-debit.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { Reads } from "../trading/holdings.ts";
import { tradingRef } from "../trading/items.ts";

/** The notes of an item: its result, and its reject when it is tried again. */
export interface Records {
  readonly mark: Dedup | undefined;
  readonly reject?: FeedReject | undefined;
  /** The snapshot that the account of the item was adopted from. */
  readonly baseline?: Account["baseline"];
}

/** The owner of the name that a source gives a position. */
export function positionRef(source: Pick<FeedSource, "id">, name: string) {
  return tradingRef.unique("source_position", positionMarker(source, name));
}

/** The owner of the name that a source gives an order. */
export function orderRef(source: Pick<FeedSource, "id">, name: string) {
  return tradingRef.unique("source_order", orderMarker(source, name));
}

/** Nothing is left to do; a reject whose item was applied under another number is resolved by that. */
export function settled<R extends { readonly status: string }>(
  records: Records,
  result: R,
  now: string,
): TradingDecision<R> {
  return { ok: true, result, changes: result.status === "duplicate" ? resolved(records, now) : [], events: [] };
}

/**
 * An operation whose money is booked already under its own name. Where it was put aside before, it is noted as applied,
 * so that the money of its account does not depend on it any more.
 */
export function settledAs(
  run: Parameters<typeof markOf>[0],
  reading: Named,
  records: Records,
  made: Dedup["made"],
  now: string,
) {
  const { mark: before } = records;
  const decision = settled(records, { status: "duplicate", made } as const, now);
  if (!decision.ok || before?.aside_minor === undefined) return decision;
  const after = markOf(run, reading, before, now, { status: "applied", made });
  return { ...decision, changes: [...decision.changes, { op: "mark", before, after } as const] };
}

/**
 * The decision that notes an item as settled which its account was adopted with: it is in what was adopted, and would
 * be booked twice. Undefined for any other.
 */
export function adoptedBefore(run: Parameters<typeof markOf>[0], reading: Named, records: Records, now: string) {
  const { baseline, mark: before } = records;
  const included = baseline?.source_id === run.source.id && BigInt(reading.raw.seq) <= BigInt(baseline.as_of_seq);
  if (!included) return undefined;
  const after = markOf(run, reading, before, now, { status: "applied" });
  const changes = [{ op: "mark", before, after } as const, ...resolved(records, now, { resolution: "in_baseline" })];
  return { ok: true, result: { status: "duplicate", made: {} }, changes, events: [] } as const;
}

/** The record that takes back a deal, from its note; undefined where nothing is left to take back. */
export function takenBackBy(deal: Dedup | undefined): DealUndo | undefined {
  return deal?.undo === undefined ? undefined : (JSON.parse(deal.undo) as DealUndo);
}

/** The trade that the name of a position now stands for which a deal took away from it that is taken back. */
export async function nowNamed(
  source: Pick<FeedSource, "id">,
  undo: DealUndo | undefined,
  { load }: Pick<Reads, "load">,
): Promise<string | undefined> {
  const name = undo?.closed?.renamed?.from ?? undo?.closed?.position?.source_position_id;
  if (name === undefined) return undefined;
  return (await load({ claim: positionRef(source, name) })).claim?.owner_id;
}

/**
 * The ledger since a deal that is taken back, where a loss was settled since then; undefined almost always.
 * @throws Unavailable where the ledger lacks what is decided but not yet committed
 */
export async function sinceDeal(
  undo: DealUndo | undefined,
  balance: Balance,
  { uncommitted }: Pick<Reads, "uncommitted">,
): Promise<readonly Ledger[] | undefined> {
  const seq = undo && settledSince(undo, balance);
  if (seq !== undefined && uncommitted) throw new Unavailable("The ledger is read when it is complete.");
  return ledgerSince(seq, balance);
}

/** The decision that takes a deal back, with the note that nothing is left of it to take back. */
export function withoutUndo<R extends { readonly status: string }>(
  decision: TradingDecision<R>,
  before: Dedup | undefined,
): TradingDecision<R> {
  if (!decision.ok || before === undefined || decision.result.status !== "applied") return decision;
  const { undo: _undo, ...rest } = before;
  const after = { ...rest, taken_back: true } as const;
  return { ...decision, changes: [...decision.changes, { op: "mark", before, after }] };
}

/** The note of the deal that a reversal takes back: a close before the opening that has the same name. */
export function lastOf({
  opened,
  closed,
}: {
  readonly opened?: Dedup | undefined;
  readonly closed?: Dedup | undefined;
}) {
  return closed?.undo === undefined ? opened : closed;
}
