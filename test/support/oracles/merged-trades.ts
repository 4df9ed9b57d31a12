import { groupBy, text, whole } from "../emulator/raw-items.ts";
import type { RawChange, RawItem, RawValue } from "../emulator/raw-table.ts";
import type { Announced } from "./oracle-changes.ts";

/**
 * Whether a source has made an item. What several deals of one batch do to a trade, its position or an order is written
 * once, so that its version rises by one for each of them.
 */
export function isOfBatch(item: RawItem): boolean {
  switch (text(item, "et")) {
    case "POSITION":
      return typeof item["feed_seq"] === "string";
    case "TRADE":
      return typeof item["source_trade_id"] === "string";
    case "ORDER":
      return typeof item["source_order_id"] === "string";
    default:
      return false;
  }
}

/**
 * The changes of trades one by one, where a batch wrote several as one: what events show of the versions between stands
 * for the items that were never stored. A trade is announced at its first version, so a first write of a later version
 * without that event stays as it is, and its first version is missing.
 */
export function oneByOne(changes: readonly RawChange[], announced: readonly Announced[]): readonly RawChange[] {
  const shown = groupBy(
    announced.flatMap(({ resource, data }) => (data.object["object"] === "trade" ? [imageOf(resource, data)] : [])),
    (image) => text(image, "id"),
  );
  return changes.flatMap((change): RawChange[] => {
    const { before, after } = change;
    if (after === undefined || text(after, "et") !== "TRADE") return [change];
    const [from, to] = [before === undefined ? 0n : whole(before, "version"), whole(after, "version")];
    if (to <= from + 1n || !isOfBatch(after)) return [change];
    const between = (shown.get(text(after, "id")) ?? [])
      .filter((image) => whole(image, "version") > from && whole(image, "version") < to)
      .toSorted((one, other) => Number(whole(one, "version") - whole(other, "version")));
    if (before === undefined && whole(between[0] ?? after, "version") !== 1n) return [change];
    const images = [before, ...between, after];
    return images.slice(1).map((image, at) => ({ kind: "MODIFY", before: images[at], after: image }));
  });
}

/** What an event shows of a trade, in the form of an item. */
function imageOf({ id, version }: Announced["resource"], { object }: Announced["data"]): RawItem {
  return { ...(object as Readonly<Record<string, RawValue>>), et: "TRADE", id, version: { number: String(version) } };
}
