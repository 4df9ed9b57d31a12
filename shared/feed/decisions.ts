import { pendingCommandsOf } from "../domain/accounts/account.ts";
import { type AccountItem, applyItem, failed, type ItemLinks, type Made, tradesNeeded } from "../domain/feed/apply.ts";
import { withChangeOf, withoutAside } from "../domain/feed/aside-money.ts";
import { bookedTime, type ItemReading } from "../domain/feed/batch.ts";
import { reportTerms } from "../domain/feed/command/terms.ts";
import { applyOperation } from "../domain/feed/join-operation.ts";
import { endOrder, mirrorOrder, type Origin } from "../domain/feed/mirror-order.ts";
import { markOf, resolved } from "../domain/feed/records.ts";
import { refuseConflict, repetitionOf } from "../domain/feed/repetition.ts";
import type { ItemDecision } from "../domain/feed/set-aside.ts";
import { setSymbol } from "../domain/feed/symbol-terms.ts";
import { undoOf } from "../domain/feed/undo.ts";
import type { Context } from "../domain/kernel/decision.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import type { Dedup } from "../domain/records/feed-item.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { TradingChange, TradingDecision } from "../domain/records/trading-change.ts";
import { metricsAt } from "../domain/trading/margin.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { untilAdmitted } from "../runtime/verdict.ts";
import type { RetryFeedReject } from "../schema/feed.ts";
import { ref } from "../table/store.ts";
import { type Attempted, decisionAbout, untilOpened } from "../trading/commit.ts";
import { loadCommands, tradingRef } from "../trading/items.ts";
import { symbolNamesOf } from "../trading/market.ts";
import { noteAside } from "./aside-note.ts";
import { accountItemRefs, type ItemOf, operationRefs, orderRefs, recordRefs } from "./item-refs.ts";
import {
  adoptedBefore,
  lastOf,
  nowNamed,
  type Records,
  settled,
  settledAs,
  sinceDeal,
  takenBackBy,
  withoutUndo,
} from "./marks.ts";
import { announced, unexpected } from "./operation-alarms.ts";
import { type Linked, linksOf, madeBy, nameOf, retryDecision } from "./operation-links.ts";
import type { FeedReads } from "./unjoined-legs.ts";

/** A source that items are applied of, in whose name and for how long. */
export interface FeedRun extends Attempted {
  readonly source: FeedSource;
  /** Identifier of the reject that is tried again, and is resolved when it is applied. */
  readonly retried?: string;
  /** Statement of a person about money that could be that of a transaction. */
  readonly said?: RetryFeedReject;
}

/**
 * The context that an item is decided in. The audit has an entry of what a person tries again, and of money that a
 * platform moved, with what it sets aside or ends; of deals and orders, thousands a minute, it has none.
 */
export function itemContext(run: FeedRun, reading: ItemReading): Context {
  const { origin, ...untold } = run.newContext();
  const isMoney = reading.ok && reading.item.type === "balance_operation";
  return origin !== undefined && (isMoney || run.retried !== undefined) ? { ...untold, origin } : untold;
}

/** Result of a try before a refused item is put aside. */
export type Verdict = { readonly status: "applied" | "duplicate"; readonly made: Made } | Earlier;

interface Earlier {
  readonly status: "rejected";
  readonly code: string;
  readonly detail: string;
  readonly candidates?: readonly string[];
  /** Effect of an item that this decision sets aside on the money of its account; absent for every other one. */
  readonly aside_minor?: bigint;
}

/** An item whose data are what its type asks for. */
export type GoodReading = ItemReading & { readonly ok: true };

/** An item with the account that it is about; undefined for a symbol. */
export interface PlacedItem {
  readonly reading: ItemReading;
  readonly account_id: string | undefined;
}

/**
 * Decides an item whose data are what its type asks for: what it does, that it is a duplicate, or why it is refused.
 * The account is that of the item; a symbol has none.
 */
export function decideItem(
  run: FeedRun,
  reading: GoodReading,
  accountId: string | undefined,
  reads: FeedReads,
  given: Context,
): Promise<TradingDecision<Verdict>> {
  const { item } = reading;
  const context: Context = { ...given, cause: { source_id: run.source.id, feed_seq: item.seq } };
  if (item.type === "symbol") return decideSymbol(run, reading, item, reads, context);
  if (accountId === undefined) throw new Error(`The item ${item.seq} was given no account.`);
  const account = { id: accountId, reads, context };
  if (item.type === "order") return decideOrder(run, reading, item, account);
  if (item.type === "account_update") return decideUpdate(run, reading, item, account);
  return item.type === "balance_operation"
    ? decideOperation(run, reading, item, account)
    : decideAccountItem(run, reading, item, account);
}

/** The account of an item, and how a decision about it reads. */
interface Account {
  readonly id: string;
  readonly reads: FeedReads;
  readonly context: Context;
}

/**
 * Money that a platform moved. Its candidate transactions are looked for after the account was read: money that is
 * booked between the two changes the account, and the decision is made again.
 */
function decideOperation(
  run: FeedRun,
  reading: GoodReading,
  item: ItemOf<"balance_operation">,
  { id, reads, context: given }: Account,
) {
  const { data } = item;
  const name = nameOf(data, run.said);
  const refs = operationRefs(run, reading, item);
  let links: Linked = { named: undefined, candidates: [] };
  let holder: Balance | undefined;
  return decisionAbout<Verdict, typeof refs>(reads, given, {
    account_id: id,
    refs,
    needs: async (state, found) => {
      // The decision may count a metric, which a request that the rate limit refuses must not.
      await untilAdmitted();
      const { tenant_id, source } = run;
      links = await linksOf({ tenant_id, source, reads, at: item.at }, data, state, found);
      holder = await holderOf(found.mark, state.balance, reads);
      return {};
    },
    decide: (account, market, found, context) => {
      const { tenant, known } = found;
      if (tenant === undefined) throw new Error("The tenant has no policies.");
      const { claimant, claiming, waiting } = links;
      const isBooked = known !== undefined && !claimant && !claiming && !waiting;
      if (isBooked && found.mark?.status !== "applied") {
        const ended = settledAs(run, reading, found, madeBy(known), context.now);
        return freed(ended, found.mark, holder, context);
      }
      const records = { ...found, baseline: account.account.baseline };
      const decided = once(run, reading, records, context.now, (origin) => {
        const { floating_minor } = metricsAt(market, account, context.now);
        const decision = applyOperation(
          { ...account, floating_minor },
          data,
          { ...links, tenant, said: retryDecision(run.said) },
          origin,
          context,
        );
        const made = decision.ok ? decision.result["transaction_id"] : undefined;
        const wanted = waiting?.id ?? links.claimant?.id ?? links.named?.id ?? name;
        if (made !== undefined && wanted !== undefined && made !== wanted) unexpected(run, reading, decision);
        if (decision.ok) announced(run, reading, decision);
        return decision;
      });
      const settledNow = freed(decided, found.mark, holder, context);
      const minor = decided.ok && decided.result.status === "rejected" ? decided.result.aside_minor : undefined;
      if (!settledNow.ok || minor === undefined) return settledNow;
      return { ...settledNow, changes: withChangeOf(settledNow.changes, account.balance, 0n, minor, context) };
    },
  });
}

/**
 * The decision without what its operation does to money as long as it is put aside, where it changes what is noted of
 * the operation: one that answers again that it was put aside leaves the note, and the money with it.
 */
function freed(decision: TradingDecision<Verdict>, ...aside: [Dedup | undefined, Balance | undefined, Context]) {
  const notes = decision.ok && decision.changes.some(({ op }) => op === "mark");
  return notes ? withoutAside(decision, ...aside) : decision;
}

/** The money that an operation changes as long as it is put aside; its login may belong to another account by now. */
async function holderOf(mark: Dedup | undefined, own: Balance, { load }: FeedReads): Promise<Balance | undefined> {
  const id = mark?.aside_account_id;
  if (id === undefined || id === own.account_id) return own;
  return (await load({ holder: ref.balance(id) })).holder;
}

function decideAccountItem(
  run: FeedRun,
  reading: GoodReading,
  item: AccountItem,
  { id, reads, context: given }: Account,
) {
  const refs = accountItemRefs(run, reading, item);
  const opened = item.type === "execution" && item.data.action === "open" ? [item.data.symbol] : [];
  let since: ItemLinks["since"];
  let named: ItemLinks["named"];
  return decisionAbout<Verdict, typeof refs>(reads, given, {
    account_id: id,
    refs,
    needs: async (state, { position, remaining, ...deals }) => {
      const undo = takenBackBy(lastOf(deals));
      since = await sinceDeal(undo, state.balance, reads);
      named = await nowNamed(run.source, undo, reads);
      const symbols = undo === undefined ? opened : [undo.symbol];
      const trades = tradesNeeded(state, item, position?.owner_id ?? named, undo);
      const left = remaining === undefined ? [] : [remaining.owner_id];
      return { symbols, source: run.source.name, trades: [...new Set([...trades, ...left])] };
    },
    decide: (state, market, found, context) => {
      const { position, order, remaining } = found;
      const deal = lastOf(found);
      const links = {
        trade_id: position?.owner_id,
        order_id: order?.owner_id ?? null,
        remaining_id: remaining?.owner_id,
        undo: takenBackBy(deal),
        since,
        named,
      };
      const records = { ...found, baseline: state.account.baseline };
      const apply = (origin: Origin) => applyItem(state, market, item, links, origin, context);
      return withoutUndo(once(run, reading, records, context.now, apply), deal);
    },
  });
}

/** A change of an account. */
function decideUpdate(
  run: FeedRun,
  reading: GoodReading,
  { data }: ItemOf<"account_update">,
  { id, reads, context: given }: Account,
) {
  let asked: readonly (PlatformCommand | undefined)[] = [];
  return decisionAbout<Verdict, ReturnType<typeof recordRefs>>(reads, given, {
    account_id: id,
    refs: recordRefs(run, reading),
    needs: async ({ account }) => {
      asked = await loadCommands(reads.load, pendingCommandsOf(account));
      return {};
    },
    decide: (state, market, found, context) => {
      const records = { ...found, baseline: state.account.baseline };
      return once(run, reading, records, context.now, () => reportTerms(state, market, data, asked, context));
    },
  });
}

async function decideOrder(
  run: FeedRun,
  reading: GoodReading,
  item: ItemOf<"order">,
  { id, reads, context }: Account,
): Promise<TradingDecision<Verdict>> {
  const { data } = item;
  const refs: ReturnType<typeof orderRefs> = orderRefs(run, reading, item);
  const { mark, reject, known, trade, symbol, account } = await reads.load({ ...refs, account: ref.account(id) });
  if (account === undefined) throw new Error(`The account ${id} is not there.`);
  untilOpened(account);
  const { order } = await reads.load({ ...(known && { order: tradingRef.order(known.owner_id) }) });
  return once(run, reading, { mark, reject, baseline: account.baseline }, context.now, (origin) => {
    const done =
      data.status === "pending"
        ? mirrorOrder(account, order, symbol, data, origin, context)
        : endOrder(order, data, trade?.owner_id ?? null, origin, context);
    return done.ok ? { ...done, result: { order_id: done.result.id } } : done;
  });
}

async function decideSymbol(
  run: FeedRun,
  reading: GoodReading,
  { data }: ItemOf<"symbol">,
  reads: FeedReads,
  context: Context,
): Promise<TradingDecision<Verdict>> {
  const { mark, reject, symbol } = await reads.load({
    ...recordRefs(run, reading),
    symbol: tradingRef.symbol(data.symbol),
  });
  const full = symbol === undefined && (await symbolNamesOf(run.tenant_id)).length >= limits.trading.max_symbols;
  return once(run, reading, { mark, reject }, context.now, () => {
    if (full) {
      const detail = `A brokerage may have at most ${limits.trading.max_symbols} symbols.`;
      return { ok: false, refusal: { code: "too_many_symbols", detail } };
    }
    const done = setSymbol(symbol, data, context);
    return done.ok ? { ...done, result: {} } : done;
  });
}

/**
 * A decision about an item that is made once, whatever its number is: what was noted of it before is answered again,
 * and what is decided now is noted in the same transaction. One that was rejected may come again under another number.
 */
function once(
  run: FeedRun,
  reading: ItemReading,
  records: Records,
  now: string,
  decide: (origin: Origin) => ItemDecision<Made>,
): TradingDecision<Verdict> {
  const { source } = run;
  const { raw, dedup, content } = reading;
  const { mark, reject } = records;
  // A person may have dismissed it meanwhile.
  if (run.retried !== undefined && reject?.status === "resolved") {
    return settled(records, { status: "duplicate", made: mark?.made ?? {} }, now);
  }
  const repetition = repetitionOf(mark, content);
  if (mark !== undefined && repetition === "repeated") {
    return settled(records, { status: "duplicate", made: mark.made }, now);
  }
  if (mark !== undefined && repetition === "conflict") return refuseConflict(reading, mark);
  if (mark?.status === "rejected" && mark.seq === raw.seq && run.retried === undefined) {
    const { code, detail, candidates } = mark;
    const verdict = { status: "rejected", code: code ?? "item_failed", detail: detail ?? "" } as const;
    return settled(records, { ...verdict, ...(candidates === undefined ? {} : { candidates }) }, now);
  }
  const adopted = adoptedBefore(run, reading, records, now);
  if (adopted !== undefined) return adopted;
  const { at, reported_at } = bookedTime(reading.ok ? reading.item.at : undefined, reject?.created_at ?? now);
  let decision: ItemDecision<Made>;
  try {
    decision = decide({ source, at });
  } catch (error) {
    const { stack } = error as Error;
    const about = { source: source.id, seq: raw.seq, ...causeOf(error), stack };
    log.error("An item of a feed could not be decided.", about);
    decision = failed();
  }
  if (!decision.ok) return decision;
  if (reported_at !== undefined) {
    log.warn("The clock of a platform is off: an item is booked at its receipt.", {
      ...{ source: source.id, seq: raw.seq, at, reported_at },
    });
  }
  if (decision.aside !== undefined) {
    const { account_id, transaction_id, detail, minor } = decision.aside;
    const refusal = { code: "approval_required", detail, extra: { candidates: [transaction_id] } } as const;
    const money = { aside_account_id: account_id, aside_minor: minor };
    const noted = noteAside(run, { reading, account_id }, records, refusal, now, money, "sets_aside");
    if (!noted.ok || noted.result.status !== "rejected") return noted;
    const result = { ...noted.result, aside_minor: minor };
    return { ...noted, result, changes: [...decision.changes, ...noted.changes], events: decision.events };
  }
  const isDeal = dedup[0] === "open" || dedup[0] === "close";
  const undo = isDeal ? { undo: JSON.stringify(undoOf(decision.changes)) } : {};
  const made = { ...decision.result, ...(reported_at !== undefined && { reported_at }) };
  const outcome = { status: "applied", made, ...undo } as const;
  const after = markOf(run, reading, mark, now, outcome);
  const changes: TradingChange[] = [
    ...decision.changes,
    { op: "mark", before: mark, after },
    ...resolved(records, now),
  ];
  return { ...decision, result: { status: "applied", made }, changes };
}
