import type { Balance } from "../domain/account.ts";
import { type Context, type Refusal, refuse } from "../domain/decision.ts";
import { type AsideMoney, withChangeOf } from "../domain/feed/aside-money.ts";
import { operationMinor } from "../domain/feed/platform-money.ts";
import type { FeedReject } from "../domain/feed/records.ts";
import { refuseConflict, repetitionOf } from "../domain/feed/repetition.ts";
import { adjustMore, equal, isAdjustment } from "../domain/posting.ts";
import type { TradingChange, TradingDecision } from "../domain/trading/changes.ts";
import { limits } from "../limits.ts";
import type { Committable, Load } from "../table/store.ts";
import { decideTrading, prepared } from "../trading/commit.ts";
import type { FeedRun, PlacedItem, Verdict } from "./decisions.ts";
import { recordRefs } from "./item-refs.ts";
import { markOf, type Records, settled } from "./marks.ts";
import { rejectOf, rejectRefs } from "./rejects.ts";

/**
 * Decides that an item is put aside with the reason. An operation that could be money of a transaction changes the
 * money of its account until it is decided: what it takes is held, and what it adds counts against a stop-out. Of an
 * account that is closed nothing is held any more.
 * @param seq number of the last entry of its account when the reason was found; nothing may have been booked since
 */
export async function decideAside(
  run: FeedRun,
  placed: PlacedItem,
  refusal: Refusal,
  load: Load,
  context: Context,
  seq?: number,
): Promise<Committable<Verdict>> {
  const { reading, account_id } = placed;
  const refs = { ...recordRefs(run, reading), ...rejectRefs(run, reading) };
  const item = reading.ok ? reading.item : undefined;
  if (
    account_id === undefined ||
    !["possible_duplicate", "account_closed"].includes(refusal.code) ||
    item?.type !== "balance_operation"
  ) {
    return prepared(noteAside(run, placed, await load(refs), refusal, context.now), context);
  }
  return decideTrading<Verdict, typeof refs>(load, context, {
    account_id,
    refs,
    needs: () => ({}),
    decide: ({ account, balance }, _market, records) => {
      const { mark } = records;
      const elsewhere = mark?.aside_account_id !== undefined && mark.aside_account_id !== account_id;
      const amount = operationMinor(item.data, account);
      const closed =
        account.status === "closed" ? refuse("account_closed", "The account is closed.").refusal : undefined;
      const reason = closed ?? refusal;
      if (elsewhere || !amount.ok) return noteAside(run, placed, records, reason, context.now);
      const minor = reason.code === "possible_duplicate" ? amount.result : 0n;
      const money = minor === 0n ? {} : { aside_account_id: account_id, aside_minor: minor };
      const decision = noteAside(run, placed, records, reason, context.now, money);
      if (!decision.ok || !decision.changes.some(({ op }) => op === "mark")) return decision;
      const before = mark?.aside_minor ?? 0n;
      const changes = withChangeOf(decision.changes, balance, before, minor, context);
      return { ...decision, changes: changes.map((each) => onlyAt(seq, balance, each)) };
    },
  });
}

/** A change of money that is made only while nothing more is booked than this, and the account is not closed. */
function onlyAt(seq: number | undefined, { pos_version }: Balance, change: TradingChange): TradingChange {
  if (!isAdjustment(change)) return change;
  const booked = seq === undefined ? [] : [equal("seq", seq)];
  return adjustMore(change, {}, [...change.require, ...booked, equal("pos_version", pos_version)]);
}

function moneyOf({ aside_account_id, aside_minor }: AsideMoney = {}): AsideMoney {
  return aside_account_id === undefined || aside_minor === undefined ? {} : { aside_account_id, aside_minor };
}

/**
 * Notes an item as rejected with the reason, unless it was applied or put aside meanwhile. What its name has applied
 * stays noted.
 * @param money what money of an account depends on it from now on; without it, what did so far
 */
function noteAside(
  run: FeedRun,
  { reading, account_id }: PlacedItem,
  records: Records & Parameters<typeof rejectOf>[2],
  refusal: Refusal,
  now: string,
  money?: AsideMoney,
): TradingDecision<Verdict> {
  const { mark } = records;
  const { raw, content } = reading;
  const { seq } = raw;
  const repetition = repetitionOf(mark, content);
  if (mark !== undefined && repetition === "repeated") {
    return settled(records, { status: "duplicate", made: mark.made }, now);
  }
  const reason = mark !== undefined && repetition === "conflict" ? refuseConflict(reading, mark).refusal : refusal;
  const { code, detail, errors = [], extra } = reason;
  const { candidates, booked } = (extra ?? {}) as Pick<FeedReject, "candidates" | "booked">;
  const possible = candidates === undefined ? {} : { candidates };
  const result: Verdict = { status: "rejected", code, detail, ...possible };
  const { id, known } = rejectOf(run, reading, records);
  const isNoted = known !== undefined || (mark?.status === "rejected" && mark.seq === seq);
  if (isNoted && run.retried === undefined) return { ok: true, result, changes: [], events: [] };
  const after = markOf(run, reading, mark, now, { ...result, ...(money ?? moneyOf(mark)) });
  const kept = Buffer.byteLength(JSON.stringify(raw)) > limits.feed.max_item_bytes ? { seq, type: raw.type } : raw;
  const reject: FeedReject = {
    id,
    tenant_id: run.tenant_id,
    source_id: run.source.id,
    seq,
    status: "open",
    item: JSON.stringify(kept),
    code,
    detail,
    errors,
    ...possible,
    ...(booked === undefined ? {} : { booked }),
    ...(account_id === undefined ? {} : { account_id }),
    tries: (known?.tries ?? 0) + 1,
    created_at: known?.created_at ?? now,
    updated_at: now,
    version: (known?.version ?? 0) + 1,
  };
  const written: TradingChange =
    known === undefined
      ? { op: "create", entity: "feed_reject", item: reject }
      : { op: "update", entity: "feed_reject", before: known, after: reject };
  const noted: TradingChange[] =
    mark?.status === "applied" || code === "sequence_conflict" ? [] : [{ op: "mark", before: mark, after }];
  return { ok: true, result, changes: [...noted, written], events: [] };
}
