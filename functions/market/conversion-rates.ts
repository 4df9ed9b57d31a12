import { conversionRatesBody } from "../../shared/domain/trading/rates.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { read } from "../../shared/http/operations.ts";
import { listConversionRates } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { Currency } from "../../shared/schema/fields.ts";
import { readPairs } from "../../shared/trading/market.ts";

/** `GET /conversion_rates` */
export const handler = await read(listConversionRates, async ({ caller, query }) => {
  const market = await readPairs(caller.tenant_id);
  return conversionRatesBody(market, query["from"], listParameter(query, "to") ?? Currency.options, nowIso());
});
