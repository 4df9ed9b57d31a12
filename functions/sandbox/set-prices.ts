import { priceBody, refusePrices, seedOf } from "../../shared/domain/sandbox/prices.ts";
import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { limits } from "../../shared/limits.ts";
import { setSandboxPrices } from "../../shared/routes/sandbox-market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { pricesContended } from "../../shared/sandbox/market.ts";
import { actOn, effectsBody } from "../../shared/sandbox/matching.ts";
import { setPrices } from "../../shared/sandbox/prices.ts";
import { readQuoted } from "../../shared/trading/market.ts";

/** `POST /sandbox/prices` */
export const handler = await ingest(setSandboxPrices, async ({ body: { prices }, caller, ...request }) => {
  const { tenant_id } = caller;
  const { newContext, remainingMs, inFullTime } = request;
  const names = prices.map(({ symbol }) => symbol);
  const market = await readQuoted(tenant_id, names);
  const refusal = refusePrices(market, prices, nowIso());
  if (refusal !== undefined) throw refused(refusal);
  const set = await setPrices(tenant_id, prices, market);
  const quotes = set.filter((quote) => quote !== undefined);
  if (quotes.length < set.length) throw pricesContended();
  const attempted = { tenant_id, newContext, remainingMs };
  const effects = await inFullTime(() => actOn(attempted, quotes, limits.sandbox.max_effects));
  const seeds = new Map(prices.map((change) => [change.symbol, seedOf(change)]));
  const data = quotes.map((quote) => priceBody(quote, seeds.get(quote.symbol) ?? null));
  return { object: "sandbox_prices", data, effects: effectsBody(effects) };
});
