import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { type Pair, symbolsNeeded } from "../domain/trading/needs.ts";
import type { Market } from "../domain/trading/quote.ts";
import type { TradingSymbol } from "../domain/trading/symbol.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { quotes, type StoredQuote, symbols } from "./entities.ts";
import { readKeys, type TableKey } from "./store.ts";
import { readItem, table } from "./table.ts";

/** Something that is valued: a symbol on an account of this currency. A position is one. */
export interface Valued {
  readonly symbol: string;
  readonly currency: string;
}

/** Every symbol of a tenant, by name. */
async function symbolsOf(tenant: string): Promise<readonly TradingSymbol[]> {
  const found: TradingSymbol[] = [];
  let start: Record<string, unknown> | undefined;
  do {
    const answer = await table.send(
      new QueryCommand({
        TableName: env.tableName,
        ConsistentRead: true,
        KeyConditionExpression: "pk = :partition",
        ExpressionAttributeValues: { ":partition": symbols.partition(tenant) },
        ExclusiveStartKey: start,
      }),
    );
    found.push(...(answer.Items ?? []).map((item) => readItem<TradingSymbol>(item)));
    start = answer.LastEvaluatedKey;
  } while (start !== undefined);
  return found;
}

/** Which symbols each tenant has, and since when that is known. They are only used to tell which prices to read. */
const known = new Map<string, { readonly at: number; readonly pairs: readonly Pair[] }>();

/** What is known of a tenant's symbols, read again when it is old or lacks a name that is asked for. */
async function pairsOf(tenant: string, names: ReadonlySet<string>): Promise<readonly Pair[]> {
  const cached = known.get(tenant);
  const fresh = cached !== undefined && nowMs() - cached.at < limits.trading.symbols_cached_ms;
  const complete = fresh && [...names].every((name) => cached.pairs.some(({ symbol }) => symbol === name));
  if (fresh && complete) return cached.pairs;
  const pairs = await symbolsOf(tenant);
  known.delete(tenant);
  if (known.size >= limits.trading.symbols_cached_tenants) known.delete([...known.keys()][0] ?? "");
  known.set(tenant, { at: nowMs(), pairs });
  return pairs;
}

/**
 * The symbols and newest quotes that these depend on, conversion pairs included, strongly consistent: one read over
 * both tables, and one of the tenant's symbols when they were not read lately.
 */
export async function readMarket(tenant: string, valued: Iterable<Valued>): Promise<Market> {
  const wanted = [...valued];
  if (wanted.length === 0) return { symbols: new Map(), quotes: new Map() };
  const pairs = await pairsOf(tenant, new Set(wanted.map(({ symbol }) => symbol)));
  const names = [...symbolsNeeded(pairs, wanted)];
  const keys: TableKey[] = [
    ...names.map((name) => symbols.key(tenant, name)),
    ...names.map((name) => ({ ...quotes.key(tenant, name), volatile: true })),
  ];
  const found = await readKeys(keys);
  const foundSymbols = found.slice(0, names.length) as (TradingSymbol | undefined)[];
  const foundQuotes = found.slice(names.length) as (StoredQuote | undefined)[];
  return {
    symbols: new Map(foundSymbols.flatMap((symbol) => (symbol === undefined ? [] : [[symbol.symbol, symbol]]))),
    quotes: new Map(foundQuotes.flatMap((quote) => (quote === undefined ? [] : [[quote.symbol, withoutKey(quote)]]))),
  };
}

function withoutKey({ tenant_id: _tenant, ...quote }: StoredQuote) {
  return quote;
}
