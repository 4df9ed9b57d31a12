import type { Context } from "../domain/kernel/decision.ts";
import type { Order } from "../domain/records/order.ts";
import type { Position } from "../domain/records/position.ts";
import type { Quote } from "../domain/records/quote.ts";
import { exitReason } from "../domain/trading/market-trade.ts";
import { openPrice } from "../domain/trading/pricing/quote.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import {
  type Direction,
  type Key,
  type NewlyWaiting,
  newlyWaiting,
  orders,
  positions,
  tradePosition,
} from "../table/entities.ts";
import { deleteItem, putItem } from "../table/items.ts";
import { type PartitionQuery, pagesOf, type StoredAttributes } from "../table/partition.ts";
import type { PreparedChange } from "../table/store.ts";
import { facetsAttribute, indexes } from "../table/table-shape.ts";
import { putMember } from "../table/write.ts";

/** Something that waits for a price which has come, as its index knows it: the decision looks at it itself. */
export interface Waiting {
  readonly kind: "order" | "stops";
  readonly account_id: string;
  /** The order, or the position with a stop loss or a take profit. */
  readonly id: string;
  /** Its mark, where it was found by one. */
  readonly mark?: Key;
}

/** A part of one partition of the table or of an index. */
interface Part {
  readonly index?: PartitionQuery["index"];
  readonly partition: string;
  /** Bound of the sort key. */
  readonly from?: string;
  readonly to?: string;
}

/** The mark of an order or a position that begins to wait for a price, which stands until every index shows it. */
function mark(
  waits: Pick<NewlyWaiting, "symbol" | "kind" | "account_id" | "id">,
  context: Context,
  where: Pick<NewlyWaiting, "waits_in" | "waits_at" | "stops">,
): NewlyWaiting {
  const { tenant_id, now: since } = context;
  const expires_at = Math.ceil(Date.parse(since) / 1000) + limits.sandbox.newly_waiting_seconds;
  const { symbol, kind, account_id, id } = waits;
  return { tenant_id, symbol, kind, account_id, id, since, ...where, expires_at };
}

/** The mark of an order that waits for its price; none for one that does not. */
function markOrder(order: Order, context: Context): NewlyWaiting[] {
  const { state_pk: waits_in, state_sk: waits_at } = orders.indexesOf(order);
  return waits_in === undefined ? [] : [mark({ ...order, kind: "order" }, context, { waits_in, waits_at })];
}

/** The changes that mark what a decision of the sandbox lets wait for a price. */
export function marksOf(
  { order, position }: { readonly order?: Order; readonly position?: Position | undefined },
  context: Context,
): PreparedChange[] {
  const marks = [
    ...(order === undefined ? [] : markOrder(order, context)),
    ...(position === undefined ? [] : markStops(position, context)),
  ];
  return marks.map((item) => ({ op: "prepared", item: putMember(newlyWaiting, item) }));
}

/**
 * Keeps the marks true after a price has met something: removes its mark, so that it is not looked at again, and marks
 * what waits now: the stops of a filled order, or an order whose stop was reached and that waits at its limit. A crash
 * before leaves a mark that expires, and an index that shows the rest.
 */
export async function markAgain(mark: Key | undefined, met: Order | undefined, context: Context): Promise<void> {
  try {
    for (const next of met === undefined ? [] : marksAfter(met, context)) await putItem(newlyWaiting, next);
    if (mark !== undefined) await deleteItem(mark);
  } catch (error) {
    log.info("The index of waiting orders could not be updated.", causeOf(error));
  }
}

function marksAfter(order: Order, context: Context): NewlyWaiting[] {
  if (order.trade_id === null) return markOrder(order, context);
  return markStops({ ...order, id: tradePosition(order.trade_id) }, context);
}

/** The mark of a position with a stop loss or a take profit; none for one without. */
function markStops(
  position: Pick<Position, "id" | "account_id" | "symbol" | "side" | "stop_loss" | "take_profit">,
  context: Context,
): NewlyWaiting[] {
  const { side, stop_loss, take_profit } = position;
  if (stop_loss === null && take_profit === null) return [];
  return [mark({ ...position, kind: "stops" }, context, { stops: { side, stop_loss, take_profit } })];
}

/**
 * Orders and positions that the price of a symbol may meet: positions with stops first, then the orders that wait up to
 * it; of each kind first those that are marked, which may be in no index yet. A buy opens at the ask and a sell at the
 * bid, and each waits for that price from above or from below.
 */
export async function* waitingFor(tenant: string, quote: Quote, now: string): AsyncGenerator<Waiting> {
  const since = new Date(Date.parse(now) - limits.sandbox.newly_waiting_seconds * 1000).toISOString();
  const parts = (["buy", "sell"] as const).flatMap((side) =>
    (["dn", "up"] as const).map((direction) => reached(tenant, quote, side, direction)),
  );
  const marked = new Map<string, Waiting>();
  for await (const entry of entriesOf({ partition: newlyWaiting.partition(tenant, quote.symbol), from: since })) {
    const item = entry as unknown as NewlyWaiting;
    if (isMet(item, quote, parts))
      marked.set(item.id, { ...waiting(item.kind, entry), mark: newlyWaiting.keyOf(item) });
  }
  const markedAs = (kind: Waiting["kind"]) => [...marked.values()].filter((one) => one.kind === kind);
  yield* markedAs("stops");
  const stopped = { index: indexes.client, partition: positions.withStops(tenant, quote.symbol) };
  for await (const entry of entriesOf(stopped)) {
    const facets = entry[facetsAttribute] as Parameters<typeof exitReason>[0];
    const found = waiting("stops", entry);
    if (exitReason(facets, quote) !== undefined && !marked.has(found.id)) yield found;
  }
  yield* markedAs("order");
  for (const part of parts) {
    for await (const entry of entriesOf(part)) {
      const found = waiting("order", entry);
      if (!marked.has(found.id)) yield found;
    }
  }
}

function isMet({ stops, waits_in, waits_at = "" }: NewlyWaiting, quote: Quote, parts: readonly Part[]): boolean {
  if (stops !== undefined) return exitReason(stops, quote) !== undefined;
  return parts.some(({ partition, from = "", to }) => {
    return partition === waits_in && waits_at >= from && (to === undefined || waits_at <= to);
  });
}

function waiting(kind: Waiting["kind"], entry: StoredAttributes): Waiting {
  return { kind, account_id: String(entry["account_id"]), id: String(entry["id"]) };
}

/** The orders of a side that a price falling or rising to this one has met. */
function reached(tenant: string, quote: Quote, side: "buy" | "sell", direction: Direction): Part {
  const at = orders.waitingAt(openPrice(quote, side));
  const partition = orders.waiting(tenant, quote.symbol, side, direction);
  // Behind the price stands the identifier after a bar, and a tilde comes after both.
  return { index: indexes.state, partition, ...(direction === "dn" ? { from: at } : { to: `${at}~` }) };
}

async function* entriesOf({ partition, ...query }: Part): AsyncGenerator<StoredAttributes> {
  for await (const { items } of pagesOf(partition, query)) yield* items;
}
