import { exitReason } from "../domain/trading/market-trade.ts";
import { openPrice, type Quote } from "../domain/trading/pricing/quote.ts";
import { type Direction, orders, positions } from "../table/entities.ts";
import { type PartitionQuery, pagesOf, type StoredAttributes } from "../table/partition.ts";
import { facetsAttribute, indexes } from "../table/table-shape.ts";

/** Something that waits for a price which has come, as its index knows it: the decision looks at it itself. */
export interface Waiting {
  readonly kind: "order" | "stops";
  readonly account_id: string;
  /** The order, or the position with a stop loss or a take profit. */
  readonly id: string;
}

/** A part of one partition of an index. */
interface Part {
  readonly index: PartitionQuery["index"];
  readonly partition: string;
  /** Bound of the sort key. */
  readonly from?: string;
  readonly to?: string;
}

/**
 * What the price of a symbol may meet: positions with stops first, then the orders that wait up to it. A buy opens at
 * the ask and a sell at the bid, and each waits for that price from above or from below.
 */
export async function* waitingFor(tenant: string, quote: Quote): AsyncGenerator<Waiting> {
  for await (const entry of entriesOf({
    index: indexes.client,
    partition: positions.withStops(tenant, quote.symbol),
  })) {
    const facets = entry[facetsAttribute] as Parameters<typeof exitReason>[0];
    if (exitReason(facets, quote) !== undefined) yield waiting("stops", entry);
  }
  for (const side of ["buy", "sell"] as const) {
    for (const direction of ["dn", "up"] as const) {
      const part = reached(tenant, quote, side, direction);
      for await (const entry of entriesOf(part)) yield waiting("order", entry);
    }
  }
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
