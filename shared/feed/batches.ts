import { refuse } from "../domain/decision.ts";
import { type ItemReading, nextExpected, type ReadItem } from "../domain/feed/batch.ts";
import { positionMarker } from "../domain/feed/deals.ts";
import { orderMarker } from "../domain/feed/mirror-order.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import type { Order } from "../domain/trading/order.ts";
import type { Trade } from "../domain/trading/trade.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { isUnavailable, Unavailable } from "../runtime/unavailable.ts";
import type { FeedResultBody } from "../schema/feed.ts";
import { feedSources, type Key, orders, pulses, trades, uniques } from "../table/entities.ts";
import { changeVersion, putItem } from "../table/items.ts";
import { loadItems, readKeys } from "../table/store.ts";
import { tradingRef } from "../trading/items.ts";
import { deferred, type FeedRun, type PlacedItem, settleItem } from "./items.ts";

/**
 * Applies the fresh items of a batch: those of one account in their order, accounts concurrently, and a symbol before
 * whatever comes after it. Every item is settled or deferred; after the first deferred one of an account all of it is.
 */
export async function applyBatch(run: FeedRun, readings: readonly ItemReading[]): Promise<FeedResultBody[]> {
  const results = new Map<string, FeedResultBody>();
  for (const part of partsOf(readings)) {
    const placed = await placeItems(run, part);
    await inParallel(limits.feed.parallel, lanesOf(placed), async (lane) => {
      for (const result of await settleLane(run, lane)) results.set(result.seq, result);
    });
  }
  return readings.flatMap(({ raw }) => results.get(raw.seq) ?? []);
}

/** Splits a batch at its symbols, each of which is a part of its own. */
function partsOf(readings: readonly ItemReading[]): ItemReading[][] {
  const parts: ItemReading[][] = [];
  let open: ItemReading[] | undefined;
  for (const reading of readings) {
    if (reading.ok && reading.item.type === "symbol") {
      parts.push([reading]);
      open = undefined;
    } else if (open === undefined) {
      open = [reading];
      parts.push(open);
    } else open.push(reading);
  }
  return parts;
}

/** Items of each account in their order; those that no account was found for are a lane of their own. */
function lanesOf(items: readonly PlacedItem[]): PlacedItem[][] {
  const lanes = new Map<string | undefined, PlacedItem[]>();
  for (const item of items) {
    const known = lanes.get(item.account_id);
    if (known === undefined) lanes.set(item.account_id, [item]);
    else known.push(item);
  }
  return [...lanes.values()];
}

async function settleLane(run: FeedRun, lane: readonly PlacedItem[]): Promise<FeedResultBody[]> {
  const results: FeedResultBody[] = [];
  for (const item of lane) {
    const { seq } = item.reading.raw;
    const before = results.at(-1);
    if (before?.status === "deferred") results.push(deferred(seq, "service_unavailable", "An item before it waits."));
    else results.push(await settledOrDeferred(run, item));
  }
  return results;
}

/** A fault of ours with one item holds up its account, and neither the others nor what the batch returns for them. */
async function settledOrDeferred(run: FeedRun, item: PlacedItem): Promise<FeedResultBody> {
  const { seq } = item.reading.raw;
  if (run.remainingMs() <= limits.commit.reserve_ms) {
    return deferred(seq, "service_unavailable", "There was no time left for it.");
  }
  try {
    return await settleItem(run, item);
  } catch (error) {
    const { name, message, stack } = error as Error;
    log.error("An item of a feed failed.", { source: run.source.id, seq, error: name, message, stack });
    const code = isUnavailable(error) ? "service_unavailable" : "internal_error";
    return deferred(seq, code, "The service failed. Send it again: an item is applied once.");
  }
}

/** The names by which an item tells its account. */
interface Names {
  readonly login: string | undefined;
  readonly position: string | undefined;
  readonly order: string | undefined;
}

function namesOf(item: ReadItem): Names {
  if (item.type === "symbol") return { login: undefined, position: undefined, order: undefined };
  if (item.type === "swap") return { login: undefined, position: item.data.position_id, order: undefined };
  const login = item.data.platform_login;
  if (item.type === "order") return { login, position: undefined, order: item.data.order_id };
  return { login, position: item.type === "execution" ? item.data.position_id : undefined, order: undefined };
}

/**
 * Finds the account of every item: by its login, by what an item before it in the batch said of the same position or
 * order, or by the trade or order that is known under its name. One without an account cannot be applied.
 */
async function placeItems(run: FeedRun, readings: readonly ItemReading[]): Promise<PlacedItem[]> {
  const known = await knownAccounts(run, readings);
  return readings.map((reading) => {
    if (!reading.ok || reading.item.type === "symbol") return { reading, account_id: undefined };
    const { login, position, order } = namesOf(reading.item);
    const ways = [
      ["login", login],
      ["position", position],
      ["order", order],
    ] as const;
    const named = ways.flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${name}`]));
    const account_id =
      login === undefined ? named.flatMap((name) => known.get(name) ?? [])[0] : known.get(`login ${login}`);
    if (account_id === undefined) return { reading: unplaced(reading, login), account_id };
    for (const name of named) if (!known.has(name)) known.set(name, account_id);
    return { reading, account_id };
  });
}

function unplaced(reading: ItemReading & { ok: true }, login: string | undefined): ItemReading {
  const { raw, dedup, item } = reading;
  const [code, member] =
    login !== undefined
      ? (["account_not_found", "platform_login"] as const)
      : item.type === "order"
        ? (["unknown_order", "order_id"] as const)
        : (["unknown_position", "position_id"] as const);
  const detail = "is not known";
  const errors = [{ pointer: `#/data/${member}`, code, detail }];
  return { raw, dedup, ok: false, refusal: refuse(code, `Its ${member} is not known.`, { errors }).refusal };
}

/** Accounts by `login <login>`, `position <id>` and `order <id>`, as far as they are known before the batch. */
async function knownAccounts(run: FeedRun, readings: readonly ItemReading[]): Promise<Map<string, string>> {
  const { tenant_id: tenant, source } = run;
  const asked = new Map<string, Key>();
  for (const reading of readings) {
    if (!reading.ok) continue;
    const { login, position, order } = namesOf(reading.item);
    if (login !== undefined) {
      asked.set(`login ${login}`, uniques.key(tenant, "platform_login", JSON.stringify([source.platform, login])));
    } else if (position !== undefined) {
      asked.set(`position ${position}`, uniques.key(tenant, "source_position", positionMarker(source, position)));
    } else if (order !== undefined) {
      asked.set(`order ${order}`, uniques.key(tenant, "source_order", orderMarker(source, order)));
    }
  }
  const names = [...asked.keys()];
  const owners = (await readKeys([...asked.values()])) as ({ readonly owner_id: string } | undefined)[];
  const found = new Map<string, string>();
  const later: { readonly name: string; readonly key: Key }[] = [];
  for (const [place, name] of names.entries()) {
    const owner = owners[place]?.owner_id;
    if (owner === undefined) continue;
    if (name.startsWith("login ")) found.set(name, owner);
    else later.push({ name, key: name.startsWith("order ") ? orders.key(tenant, owner) : trades.key(tenant, owner) });
  }
  const things = (await readKeys(later.map(({ key }) => key))) as (Trade | Order | undefined)[];
  for (const [place, { name }] of later.entries()) {
    const account = things[place]?.account_id;
    if (account !== undefined) found.set(name, account);
  }
  return found;
}

/**
 * Moves a source on to the number after what is settled, unless another call of the same bridge has moved it further;
 * returns the source as it is then.
 */
export async function advanceSource(source: FeedSource, results: readonly FeedResultBody[]): Promise<FeedSource> {
  const next_seq = nextExpected(source.next_seq, results);
  let before = source;
  for (let attempt = 0; attempt < limits.commit.decision_tries; attempt += 1) {
    if (BigInt(next_seq) <= BigInt(before.next_seq)) return before;
    const after = { ...before, next_seq, updated_at: nowIso(), version: before.version + 1 };
    if (await changeVersion(feedSources, before, after)) return after;
    const { known } = await loadItems(source.tenant_id, { known: tradingRef.feedSource(source.id) });
    if (known === undefined) throw new Error(`The source ${source.id} is gone.`);
    before = known;
  }
  throw new Unavailable(`The source ${source.id} changes all the time.`);
}

/** Notes that a source is alive. Late for a moment or written twice it does no harm. */
export async function beat({ tenant_id, name, authoritative }: FeedSource): Promise<void> {
  await putItem(pulses, { tenant_id, name, authoritative, heartbeat_at: nowIso() });
}
