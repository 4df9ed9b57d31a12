import { wholeOf } from "../currencies.ts";
import type { SourcePulse } from "../domain/records/feed-source.ts";
import type { Quote } from "../domain/records/quote.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import { clientPairs } from "../domain/trading/pricing/client-rate.ts";
import { type Pair, symbolsNeeded } from "../domain/trading/pricing/needs.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { internalSource } from "../domain/trading/pricing/source.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { keepLast } from "../runtime/keep-last.ts";
import { type Key, nameInKey, pulses, quotes, symbols } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { identityOf, readKeys } from "../table/store.ts";
import { readItem } from "../table/table.ts";

/** Something that is valued: a symbol on an account of this currency, from a source. A position is one. */
export interface Valued {
  readonly symbol: string;
  readonly currency: string;
  readonly source?: string;
}

/** The names of every symbol of a tenant. */
export async function symbolNamesOf(tenant: string): Promise<readonly string[]> {
  const items = await readPartition(symbols.partition(tenant), { attributes: ["sk"] });
  return items.map(({ sk }) => nameInKey(String(sk)));
}

/** Symbols of each tenant, and when they were read. They are only used to tell which prices to read. */
const known = new Map<string, { readonly at: number; readonly pairs: readonly Pair[] }>();

/** The attributes that tell whether a symbol converts; its sessions and other terms are most of the item. */
const pairAttributes = [
  "symbol",
  "calc_mode",
  "base_currency",
  "quote_currency",
  "commission",
] satisfies (keyof Pair)[];

function isPair({ base_currency, quote_currency, commission }: Partial<Pair>): boolean {
  return [base_currency, quote_currency, commission?.currency].every((currency) => typeof currency === "string");
}

/** Reads of a tenant's symbols that are under way: accounts that are evaluated concurrently wait for the same one. */
const reading = new Map<string, Promise<readonly Pair[]>>();

/** The symbols of a tenant, read again when they are old or lack a name that is asked for. */
async function pairsOf(tenant: string, names: ReadonlySet<string>): Promise<readonly Pair[]> {
  const isComplete = (pairs: readonly Pair[]) =>
    [...names].every((name) => pairs.some(({ symbol }) => symbol === name));
  const cached = known.get(tenant);
  const fresh = cached !== undefined && nowMs() - cached.at < limits.trading.symbols_cached_ms;
  if (fresh && isComplete(cached.pairs)) return cached.pairs;
  const underWay = reading.get(tenant);
  const shared = underWay === undefined ? [] : await underWay;
  return shared.length > 0 && isComplete(shared) ? shared : readPairsOf(tenant);
}

async function readPairsOf(tenant: string): Promise<readonly Pair[]> {
  // A symbol that cannot be read is among them as it is stored: who needs it reads it, and fails, and no one else.
  const read = readPartition(symbols.partition(tenant), { attributes: pairAttributes });
  const made = read.then((items) => (items as unknown as readonly Pair[]).filter(isPair));
  reading.set(tenant, made);
  const pairs = await made.finally(() => reading.delete(tenant));
  keepLast(known, tenant, { at: nowMs(), pairs }, limits.trading.symbols_cached_tenants);
  return pairs;
}

/**
 * The symbols and newest quotes that these depend on, conversion pairs included, and the pulse of every source that one
 * of them is of, strongly consistent: one read over both tables, and one of the tenant's symbols when they were not
 * read lately.
 */
export async function readMarket(tenant: string, valued: Iterable<Valued>): Promise<Market> {
  return (await readMarketWith(tenant, valued, [])).market;
}

/** Terms of symbols, by the identity of their item, and since when each was read. */
const terms = new Map<string, { readonly at: number; readonly item: unknown }>();

/**
 * As {@link readMarket}, with terms of symbols that may be some time old (`limits.trading.terms_remembered_ms`): quotes
 * move margins many times a second, terms a few times a year. Only for a decision that opens and closes nothing.
 */
export async function readMarketToJudge(tenant: string, valued: Iterable<Valued>): Promise<Market> {
  const read: ReadItems = async (keys) => {
    const at = nowMs();
    const held = keys.map((key) => termsKnown(key, at));
    const found = (await readKeys(keys.filter((_, place) => held[place] === undefined)))[Symbol.iterator]();
    return keys.map((key, place) => {
      const item = held[place] ?? found.next().value;
      if (held[place] === undefined && key.pk === symbols.partition(tenant)) rememberTerms(key, { at, item });
      return item;
    });
  };
  return (await readMarketWith(tenant, valued, [], read)).market;
}

function termsKnown(key: Key, now: number): unknown {
  const known = terms.get(identityOf(key));
  return known !== undefined && now - known.at < limits.trading.terms_remembered_ms ? known.item : undefined;
}

function rememberTerms(key: Key, known: { readonly at: number; readonly item: unknown }): void {
  keepLast(terms, identityOf(key), known, limits.trading.remembered_terms);
}

/** Reads items by key, in the order of the keys. */
type ReadItems = (keys: readonly Key[]) => Promise<readonly unknown[]>;

/** As {@link readMarket}, and these items in the same read, in the order of their keys. */
export async function readMarketWith(
  tenant: string,
  valued: Iterable<Valued>,
  keys: readonly Key[],
  read: ReadItems = readKeys,
): Promise<{ readonly market: Market; readonly items: readonly unknown[] }> {
  const wanted = [...valued];
  if (wanted.length === 0) return { market: noMarket, items: await read(keys) };
  const pairs = await pairsOf(tenant, new Set(wanted.map(({ symbol }) => symbol)));
  const sources = new Set(wanted.flatMap(({ source = internalSource }) => (source === internalSource ? [] : [source])));
  return readNamed(tenant, symbolsNeeded(pairs, wanted), sources, keys, read);
}

/** The sources that positions of each tenant were seen of: with prices that are read ahead their pulses are read. */
const seenSources = new Map<string, Set<string>>();

/**
 * The market of positions that are still being read, at the same time: of symbols that are `expected` and of sources
 * that positions of the tenant are known to be of. Other symbols of the positions are read once these are known.
 */
export async function readMarketOf(
  tenant: string,
  positions: Promise<readonly Valued[]>,
  expected: readonly Valued[],
): Promise<Market> {
  const seen = seenSources.get(tenant) ?? new Set([internalSource]);
  const ahead = [...seen].flatMap((source) => expected.map((one) => ({ ...one, source })));
  const [market, held] = await Promise.all([readMarket(tenant, ahead), positions]);
  const names = new Set(expected.map(({ symbol }) => symbol));
  if (held.every(({ symbol, source = internalSource }) => names.has(symbol) && seen.has(source))) return market;
  if (!seenSources.has(tenant) && seenSources.size >= limits.trading.symbols_cached_tenants) seenSources.clear();
  const sources = held.map(({ source = internalSource }) => source);
  seenSources.set(tenant, new Set([...seen, ...sources].slice(-limits.feed.max_sources)));
  return readMarket(tenant, held);
}

const noMarket: Market = { symbols: new Map(), quotes: new Map() };

/** The pairs that may make the rate of a transfer, and those that lead from each currency to USD, with their quotes. */
export async function readConversion(tenant: string, from: string, to: string): Promise<Market> {
  if (wholeOf(from) === wholeOf(to)) return noMarket;
  const known = clientPairs(await pairsOf(tenant, new Set()), from, to);
  const pairs = known ?? clientPairs(await readPairsOf(tenant), from, to);
  if (pairs === undefined) return noMarket;
  const { up, down, direct } = pairs;
  return readQuoted(
    tenant,
    [...up, ...down, ...direct].map(({ symbol }) => symbol),
  );
}

/** These symbols with their newest quotes: one read for each hundred items. */
export async function readQuoted(tenant: string, names: Iterable<string>): Promise<Market> {
  return (await readNamed(tenant, names, [], [])).market;
}

async function readNamed(
  tenant: string,
  names: Iterable<string>,
  sources: Iterable<string>,
  others: readonly Key[],
  read: ReadItems = readKeys,
) {
  const wanted = [...new Set(names)];
  const found = await read([
    ...others,
    ...wanted.map((name) => symbols.key(tenant, name)),
    ...wanted.map((name) => quotes.key(tenant, name)),
    ...[...new Set(sources)].map((name) => pulses.key(tenant, name)),
  ]);
  const named = found.slice(others.length);
  const count = wanted.length;
  const market: Market = {
    symbols: byName<TradingSymbol>(named.slice(0, count), ({ symbol }) => symbol),
    quotes: byName<Quote>(named.slice(count, 2 * count), ({ symbol }) => symbol),
    sources: byName<SourcePulse>(named.slice(2 * count), ({ name }) => name),
  };
  return { market, items: found.slice(0, others.length) };
}

/**
 * Every symbol of a tenant, with the newest quotes of those that convert one currency into another, and in the same
 * read these other items, in the order of their keys.
 */
export async function readPairs(tenant: string, others: readonly Key[]) {
  const all = (await readPartition(symbols.partition(tenant))).map((item) => readItem<TradingSymbol>(item));
  const pairs = all.filter(({ calc_mode }) => calc_mode === "forex");
  const found = await readKeys([...others, ...pairs.map(({ symbol }) => quotes.key(tenant, symbol))]);
  const market: Market = {
    symbols: new Map(all.map((symbol) => [symbol.symbol, symbol])),
    quotes: byName<Quote>(found.slice(others.length), ({ symbol }) => symbol),
  };
  return { market, items: found.slice(0, others.length) as readonly unknown[] };
}

/** The items of one kind that were found, by name. */
function byName<T extends object>(found: readonly unknown[], nameOf: (item: T) => string): Map<string, T> {
  const items = found.filter((item) => item !== undefined) as T[];
  return new Map(items.map((item) => [nameOf(item), item]));
}
