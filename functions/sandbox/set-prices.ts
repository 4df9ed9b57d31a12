import { readQuoted } from "../../shared/data/market.ts";
import { setPrices } from "../../shared/data/sandbox-prices.ts";
import { pricesBody, refusePrices } from "../../shared/domain/sandbox/prices.ts";
import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { overtaken } from "../../shared/http/sandbox-market.ts";
import { setSandboxPrices } from "../../shared/routes/sandbox-market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";

/** `POST /sandbox/prices` */
export const handler = ingest(setSandboxPrices, async ({ body: { prices }, caller }) => {
  const { tenant_id } = caller;
  const names = prices.map(({ symbol }) => symbol);
  const market = await readQuoted(tenant_id, names);
  const refusal = refusePrices(market, prices, nowIso());
  if (refusal !== undefined) throw refused(refusal);
  const quotes = await setPrices(tenant_id, prices, market);
  if (quotes.includes(undefined)) throw overtaken();
  return pricesBody(quotes.filter((quote) => quote !== undefined));
});
