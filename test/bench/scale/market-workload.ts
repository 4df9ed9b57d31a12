import { draftTenant } from "../../../shared/domain/access/tenant.ts";
import { openAccount } from "../../../shared/domain/accounts/open-account.ts";
import { delayMs, nowIso } from "../../../shared/runtime/clock.ts";
import { systemContext } from "../../../shared/table/context.ts";
import { quotes, symbols } from "../../../shared/table/entities.ts";
import { changeItem, putItem } from "../../../shared/table/items.ts";
import { putOutbox } from "../../../shared/table/outbox.ts";
import { transact } from "../../../shared/table/transact.ts";
import { typeTag, writeOf } from "../../../shared/table/write.ts";
import { someClient } from "../../support/builders/decisions.ts";
import { someQuote, someSymbol } from "../../support/builders/trading.ts";
import { tradingFloor } from "../../support/builders/trading-floor.ts";

/** Names of symbols of the market: so many. */
const symbolsOf = (count: number) => Array.from({ length: count }, (_, at) => (at === 0 ? "EURUSD" : `EURUSD.${at}`));

/** Options of the market of a brokerage. */
interface Market {
  readonly tenant: string;
  /** Symbols of it. */
  readonly count: number;
}

/** Writes the newest prices of the symbols at the same time, as a request of a source of prices does. */
export async function price({ tenant, count, bid, ask }: Market & { bid: string; ask: string }): Promise<void> {
  const now = nowIso();
  const write = async (symbol: string): Promise<void> => {
    const quote = someQuote(symbol, [bid, ask], { time: now, received_at: now });
    // The other members of the quote stay: how many shards of the exposure index its symbol uses.
    await changeItem(quotes.key(tenant, symbol), { set: { ...typeTag(quotes.et), ...quote, tenant_id: tenant } });
  };
  await Promise.all(symbolsOf(count).map(write));
}

/**
 * Makes a brokerage with so many symbols and one account with 5,000 USD that buys some of each, one lot in all. Returns
 * the account's id.
 */
export async function account({ tenant, count }: Market): Promise<string> {
  const names = symbolsOf(count);
  for (const symbol of names) await putItem(symbols, { ...someSymbol(symbol), tenant_id: tenant });
  await price({ tenant, count, bid: "1.10000", ask: "1.10010" });
  const context = systemContext(tenant, "scale");
  const client = { ...someClient(), tenant_id: tenant };
  await transact([writeOf({ op: "create", entity: "client", item: client }, tenant)]);
  const decision = openAccount(
    client,
    draftTenant(tenant, context.now),
    { client_id: client.id, currency: "USD" },
    context,
  );
  if (!decision.ok) throw new Error("The account was refused.");
  const money = { balance_minor: 500_000n, available_minor: 500_000n };
  const changes = decision.changes.map((change) =>
    change.op === "create" && change.entity === "balance" ? { ...change, item: { ...change.item, ...money } } : change,
  );
  const [first, ...more] = decision.events;
  if (first === undefined) throw new Error("An account without an event.");
  await transact([
    ...changes.map((change) => writeOf(change, tenant)),
    ...putOutbox([first, ...more], context, delayMs),
  ]);
  const { account: opened } = decision.result;
  for (const symbol of names) {
    const lots = (1 / count).toFixed(2);
    const outcome = await tradingFloor(tenant).open(opened.id, { symbol, side: "buy", lots });
    if (outcome.kind !== "done") throw new Error(`The opening was ${outcome.kind}.`);
  }
  return opened.id;
}
