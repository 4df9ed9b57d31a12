import { adjustMore, equal, isAdjustment } from "../domain/accounts/balance.ts";
import { withChangeOf } from "../domain/feed/aside-money.ts";
import { operationMinor } from "../domain/feed/platform-money.ts";
import { type Context, type Refusal, refuse } from "../domain/kernel/decision.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { TradingChange } from "../domain/records/trading-change.ts";
import type { Committable, Load } from "../table/store.ts";
import { decideTrading, prepared } from "../trading/commit.ts";
import { noteAside } from "./aside-note.ts";
import type { FeedRun, PlacedItem, Verdict } from "./decisions.ts";
import { recordRefs } from "./item-refs.ts";
import { rejectRefs } from "./rejects.ts";

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
