import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Quote } from "../../../shared/domain/trading/pricing/quote.ts";
import type { TradingSymbol } from "../../../shared/domain/trading/pricing/symbol.ts";
import { type Entity, quotes, symbols } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import type { TestApi } from "../emulator/api.ts";
import { exampleCfds, examplePrices, someQuote, someSymbol } from "./trading.ts";

/** Puts an item of a stored kind as it is, past the watched way, so that no test counts it. */
export async function putItem<T extends object>(api: TestApi, entity: Entity<T>, item: T): Promise<void> {
  const { client, tableName, volatileTableName } = api.emulator;
  const TableName = entity.et === quotes.et ? volatileTableName : tableName;
  await client.send(new PutItemCommand({ TableName, Item: marshall(itemOf(entity, item)) }));
}

/** Puts the newest price of a symbol: one of this moment unless told otherwise. */
export async function putQuote(
  api: TestApi,
  tenant: string,
  symbol: string,
  price: readonly [bid: string, ask: string],
  fields: Partial<Quote> = {},
): Promise<void> {
  const now = new Date().toISOString();
  const quote = someQuote(symbol, price, { time: now, received_at: now, ...fields });
  await putItem(api, quotes, { ...quote, tenant_id: tenant });
}

/** Gives a tenant the market of the worked examples, at the prices of this moment. */
export async function putMarket(
  api: TestApi,
  tenant: string,
  prices: Readonly<Record<string, readonly [string, string]>> = {},
  more: readonly TradingSymbol[] = [],
): Promise<void> {
  const known = [...Object.keys(examplePrices).map((name) => someSymbol(name)), ...exampleCfds, ...more];
  for (const symbol of known) await putItem(api, symbols, { ...symbol, tenant_id: tenant });
  for (const [name, price] of Object.entries({ ...examplePrices, ...prices })) await putQuote(api, tenant, name, price);
}
