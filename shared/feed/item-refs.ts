import type { AccountItem } from "../domain/feed/apply.ts";
import type { ItemReading, ReadItem } from "../domain/feed/batch.ts";
import { operationMarker } from "../domain/feed/operation-marker.ts";
import type { Dedup } from "../domain/records/feed-item.ts";
import { type Ref, ref } from "../table/store.ts";
import { tradingRef } from "../trading/items.ts";
import type { FeedRun, GoodReading } from "./decisions.ts";
import { orderRef, positionRef } from "./marks.ts";
import { isCommandId, nameOf } from "./operation-links.ts";
import { rejectRefs } from "./rejects.ts";

/** The note of an item, and its reject where it is tried again. */
export function recordRefs({ source, retried }: FeedRun, { dedup }: ItemReading) {
  const mark = tradingRef.dedup(source.id, ...dedup);
  return { mark, ...(retried === undefined ? {} : { reject: tradingRef.feedReject(source.id, retried) }) };
}

/** Everything that is read for an item by what it says itself: what is noted of it, and who owns the names in it. */
export function refsOf(run: FeedRun, reading: GoodReading): Readonly<Record<string, Ref<unknown>>> {
  const { item } = reading;
  switch (item.type) {
    case "balance_operation":
      return operationRefs(run, reading, item);
    case "order":
      return orderRefs(run, reading, item);
    case "account_update":
    case "symbol":
      return recordRefs(run, reading);
    default:
      return accountItemRefs(run, reading, item);
  }
}

/** An item of one type. */
export type ItemOf<T extends ReadItem["type"]> = Extract<ReadItem, { type: T }>;

/** The items that an operation names by its own members. */
export function operationRefs(run: FeedRun, reading: GoodReading, { data }: ItemOf<"balance_operation">) {
  const name = nameOf(data, run.said);
  const command = name !== undefined && isCommandId(name);
  return {
    ...recordRefs(run, reading),
    // It may be set aside in the same decision.
    ...rejectRefs(run, reading),
    tenant: ref.tenant(),
    known: tradingRef.unique("source_operation", operationMarker(run.source, data.operation_id)),
    ...(name === undefined || command ? {} : { named: ref.transaction(name) }),
    ...(name === undefined || !command ? {} : { command: tradingRef.command(name) }),
  };
}

type AccountItemRefs = ReturnType<typeof recordRefs> & {
  readonly position?: ReturnType<typeof positionRef>;
  readonly order?: ReturnType<typeof orderRef>;
  /** The owner of the name that a close gives to the rest. */
  readonly remaining?: ReturnType<typeof positionRef>;
  /** The opening and the closing that a reversal may name. */
  readonly opened?: Ref<Dedup>;
  readonly closed?: Ref<Dedup>;
};

/** The items that an item about the positions of an account names by its own members. */
export function accountItemRefs(run: FeedRun, reading: GoodReading, item: AccountItem): AccountItemRefs {
  if (item.type === "deal_reversal") {
    const named = (action: "open" | "close") => tradingRef.dedup(run.source.id, action, item.data.deal_id);
    return { ...recordRefs(run, reading), opened: named("open"), closed: named("close") };
  }
  const opens = item.type === "execution" && item.data.action === "open";
  const order = opens ? (item.data.order_id ?? undefined) : undefined;
  const remaining = "remaining_position_id" in item.data ? (item.data.remaining_position_id ?? undefined) : undefined;
  return {
    ...recordRefs(run, reading),
    position: positionRef(run.source, item.data.position_id),
    ...(order === undefined ? {} : { order: orderRef(run.source, order) }),
    ...(remaining === undefined ? {} : { remaining: positionRef(run.source, remaining) }),
  };
}

/** The items that an order names by its own members. */
export function orderRefs(run: FeedRun, reading: GoodReading, { data }: ItemOf<"order">) {
  const position = data.status === "pending" ? null : (data.position_id ?? null);
  return {
    ...recordRefs(run, reading),
    known: orderRef(run.source, data.order_id),
    ...(position === null ? {} : { trade: positionRef(run.source, position) }),
    ...(data.status === "pending" ? { symbol: tradingRef.symbol(data.symbol) } : {}),
  };
}
