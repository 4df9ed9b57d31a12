import { countOf, groupBy, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawChange, RawItem, RawValue } from "../emulator/raw-table.ts";
import type { Announced } from "./oracle-changes.ts";
import { tenantOf } from "./oracle-terms.ts";

/**
 * Whether a source has made an item. Several deals of one batch on a trade, its position or an order are written once,
 * so that its version rises by one for each of them.
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

/** The trade of an event, in the form of an item. */
function imageOf({ id, version }: Announced["resource"], { object }: Announced["data"]): RawItem {
  return { ...(object as Readonly<Record<string, RawValue>>), et: "TRADE", id, version: { number: String(version) } };
}

/**
 * Judges the events of trades: versions ascend where their order is known, none of a deal is missing, and each shows
 * the trade as it was stored, where that version was.
 */
export function judgeTradeEvents(
  items: readonly RawItem[],
  changes: readonly RawChange[],
  ordered: readonly (readonly Announced[])[],
): string[] {
  const announced = ordered.flat();
  return [...ordered.flatMap(descending), ...unannounced(items, announced), ...shownOtherwise(changes, announced)];
}

const shownAsStored = ["status", "lots", "initial_lots", "side", "symbol", "open_price", "close_price", "close_reason"];

function shownOtherwise(changes: readonly RawChange[], announced: readonly Announced[]): string[] {
  const trades = changes.flatMap(({ after }) => (after?.["et"] === "TRADE" ? [after] : []));
  const nameOf = (id: string, version: bigint | number) => `${id} at version ${version}`;
  const stored = new Map(trades.map((trade) => [nameOf(text(trade, "id"), whole(trade, "version")), trade]));
  return announced.flatMap(({ type, resource: { id, version }, data: { object } }) => {
    const trade = type.startsWith("trade.") ? stored.get(nameOf(id, version)) : undefined;
    const differs = trade === undefined ? [] : shownAsStored.filter((name) => trade[name] !== object[name]);
    return differs.length === 0 ? [] : [`${type} of ${nameOf(id, version)} shows another ${differs.join()}`];
  });
}

/** All events, those of each outbox item and the published ones of each tenant in their order. */
export function orderedEvents(items: readonly RawItem[]): readonly (readonly Announced[])[] {
  const waiting = ofType(items, "OUTBOX").map((item) =>
    (item["events"] as readonly string[]).map((each) => (JSON.parse(each) as { body: Announced }).body),
  );
  const published = [...groupBy(ofType(items, "EVENT"), tenantOf).values()].map((events) =>
    events
      .toSorted((one, other) => Number(whole(one, "sequence") - whole(other, "sequence")))
      .map((item) => JSON.parse(text(item, "payload")) as Announced),
  );
  return [...waiting, ...published];
}

function descending(events: readonly Announced[]): string[] {
  const last = new Map<string, number>();
  return events.flatMap(({ type, resource: { id, version } }) => {
    if (!type.startsWith("trade.")) return [];
    const before = last.get(id) ?? 0;
    last.set(id, version);
    return version < before ? [`${type} of ${id} at version ${version} comes after version ${before}`] : [];
  });
}

/** Each deal, and each one that is taken back, is announced by an event of the trade that it made. */
function unannounced(items: readonly RawItem[], announced: readonly Announced[]): string[] {
  const told = countOf(announced.flatMap(({ type, resource }) => (type.startsWith("trade.") ? [resource.id] : [])));
  const made = countOf(
    ofType(items, "DEDUP").flatMap((mark) => {
      const isDeal = ["open", "close", "reversal"].includes(text(mark, "kind")) && mark["status"] === "applied";
      const { map = {} } = (mark["made"] ?? {}) as { readonly map?: RawItem };
      return isDeal && typeof map["trade_id"] === "string" ? [map["trade_id"]] : [];
    }),
  );
  return [...made].flatMap(([id, deals]) =>
    (told.get(id) ?? 0) < deals ? [`${id} had ${deals} deals and ${told.get(id) ?? 0} events`] : [],
  );
}
