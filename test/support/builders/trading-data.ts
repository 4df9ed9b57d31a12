import {
  type AttributeValue,
  BatchWriteItemCommand,
  PutItemCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { type Entity, quotes, symbols } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import type { TestApi } from "../emulator/api.ts";
import { exampleCfds, examplePrices, someQuote, someSymbol } from "./trading.ts";

/** An item as it is written, and where. */
interface ItemWrite {
  readonly tableName: string;
  readonly item: Record<string, AttributeValue>;
}

/** The most that one BatchWriteItem takes (AWS docs: BatchWriteItem). */
const batchSize = 25;

/** The write of `putItems` for an item of a stored kind. */
export function writeOf<T extends object>({ emulator }: TestApi, entity: Entity<T>, item: T): ItemWrite {
  const tableName = entity.et === quotes.et ? emulator.volatileTableName : emulator.tableName;
  return { tableName, item: marshall(itemOf(entity, item)) };
}

/** Puts items as they are, past the watched way, so that no test counts them; of two with one key the last. */
export async function putItems({ emulator }: TestApi, writes: readonly ItemWrite[]): Promise<void> {
  const keyOf = ({ tableName, item }: ItemWrite) => `${tableName} ${item["pk"]?.S} ${item["sk"]?.S}`;
  const last = [...new Map(writes.map((write) => [keyOf(write), write])).values()];
  for (let at = 0; at < last.length; at += batchSize) {
    const byTable: Record<string, WriteRequest[]> = {};
    for (const { tableName, item } of last.slice(at, at + batchSize)) {
      byTable[tableName] = [...(byTable[tableName] ?? []), { PutRequest: { Item: item } }];
    }
    const { UnprocessedItems: left = {} } = await emulator.client.send(
      new BatchWriteItemCommand({ RequestItems: byTable }),
    );
    if (Object.keys(left).length > 0) throw new Error("The emulator left items of a batch unwritten.");
  }
}

/** Puts one item as `putItems` does. */
export async function putItem<T extends object>(api: TestApi, entity: Entity<T>, item: T): Promise<void> {
  const { tableName: TableName, item: Item } = writeOf(api, entity, item);
  await api.emulator.client.send(new PutItemCommand({ TableName, Item }));
}

/** The newest price of a symbol as it is stored: one of this moment where `fields` name no other. */
function quoteOf(
  tenant: string,
  symbol: string,
  price: readonly [bid: string, ask: string],
  fields: Partial<Quote> = {},
): Quote & { readonly tenant_id: string } {
  const now = new Date().toISOString();
  return { ...someQuote(symbol, price, { time: now, received_at: now, ...fields }), tenant_id: tenant };
}

/** Puts the newest price of a symbol: one of this moment by default. */
export async function putQuote(
  api: TestApi,
  tenant: string,
  symbol: string,
  price: readonly [bid: string, ask: string],
  fields: Partial<Quote> = {},
): Promise<void> {
  await putItem(api, quotes, quoteOf(tenant, symbol, price, fields));
}

/** Puts the newest prices of symbols by their names. */
export async function putQuotes(
  api: TestApi,
  tenant: string,
  prices: Readonly<Record<string, readonly [string, string]>>,
  fields: Partial<Quote> = {},
): Promise<void> {
  const priced = Object.entries(prices);
  await putItems(
    api,
    priced.map(([name, price]) => writeOf(api, quotes, quoteOf(tenant, name, price, fields))),
  );
}

/** Gives a tenant the market of the worked examples, at the prices of this moment. */
export async function putMarket(
  api: TestApi,
  tenant: string,
  prices: Readonly<Record<string, readonly [string, string]>> = {},
  more: readonly TradingSymbol[] = [],
): Promise<void> {
  const known = [...Object.keys(examplePrices).map((name) => someSymbol(name)), ...exampleCfds, ...more];
  await putItems(
    api,
    known.map((symbol) => writeOf(api, symbols, { ...symbol, tenant_id: tenant })),
  );
  await putQuotes(api, tenant, { ...examplePrices, ...prices });
}
