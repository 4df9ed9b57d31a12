import * as z from "zod/mini";
import type { FeedItem, ItemReading, ReadItem } from "../domain/feed/batch.ts";
import { contentOf } from "../domain/feed/repetition.ts";
import { type Refusal, refuseFields } from "../domain/kernel/decision.ts";
import type { DedupName } from "../domain/records/feed-item.ts";
import { checkedValue } from "../http/validate.ts";
import { limits } from "../limits.ts";
import { sha256 } from "../runtime/digest.ts";
import { FeedAccountUpdate, FeedDealReversal, FeedPositionUpdate } from "../schema/feed/items.ts";
import { FeedBalanceOperation, type FeedData, FeedExecution, FeedOrder, FeedSwap, FeedSymbol } from "../schema/feed.ts";
import { PlatformTime } from "../schema/fields.ts";

const Moment = z.optional(PlatformTime);

const schemas = {
  execution: FeedExecution,
  order: FeedOrder,
  swap: FeedSwap,
  position_update: FeedPositionUpdate,
  account_update: FeedAccountUpdate,
  deal_reversal: FeedDealReversal,
  balance_operation: FeedBalanceOperation,
  symbol: FeedSymbol,
} as const;

/** Reads an item by its type. A fault is reported for this item alone and does not hold up the others. */
export function readFeedItem(given: FeedItem): ItemReading {
  const raw = wellFormed(given) as FeedItem;
  const { seq, type, at, data } = raw;
  const wrong = (refusal: Refusal): ItemReading => ({
    ...{ raw, dedup: ["item", nameAt(seq, raw)], content: [] },
    ...{ ok: false, refusal },
  });
  if (Buffer.byteLength(JSON.stringify(raw)) > limits.feed.max_item_bytes) {
    const detail = `An item may have at most ${limits.feed.max_item_bytes} bytes.`;
    return wrong({ code: "payload_too_large", detail });
  }
  if (!Object.hasOwn(schemas, type)) {
    const detail = `must be one of ${Object.keys(schemas).join(", ")}`;
    return wrong(refuseFields([{ pointer: "#/type", code: "invalid_value", detail }]).refusal);
  }
  const moment = checkedValue(Moment, at, "#/at");
  const checked = checkedValue(schemas[type as keyof FeedData], data, "#/data");
  if (!moment.ok || !checked.ok) {
    return wrong(refuseFields([moment, checked].flatMap((each) => (each.ok ? [] : each.errors))).refusal);
  }
  const happened = moment.value === undefined ? undefined : new Date(String(moment.value)).toISOString();
  const item = { seq, type, at: happened, data: checked.value } as ReadItem;
  const dedup = dedupOf(item);
  return { raw, dedup, content: contentOf(dedup, item), ok: true, item };
}

/** The name of an item that has no other than its number and all that it says. */
function nameAt(seq: string, said: unknown): string {
  return `${seq} ${sha256(JSON.stringify(said))}`;
}

/** The value with U+FFFD for every half of a surrogate pair, which many readers of JSON refuse. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name.toWellFormed(), wellFormed(each)]));
}

/** The identity of an item at its source, whatever its number is. */
function dedupOf(item: ReadItem): DedupName {
  switch (item.type) {
    case "execution":
      return [item.data.action, item.data.deal_id];
    case "order":
      return ["order", JSON.stringify([item.data.order_id, item.at ?? item.seq, item.data])];
    case "swap":
      return ["swap", JSON.stringify([item.data.position_id, item.data.for_date])];
    case "position_update":
      return ["position", JSON.stringify([item.data.position_id, item.at ?? item.seq, item.data])];
    case "deal_reversal":
      return ["reversal", item.data.reversal_id];
    case "account_update":
      return ["account", JSON.stringify([item.data.platform_login, item.at ?? item.seq, item.data])];
    case "balance_operation":
      return ["operation", item.data.operation_id];
    case "symbol":
      return ["item", nameAt(item.seq, item.data)];
  }
}
