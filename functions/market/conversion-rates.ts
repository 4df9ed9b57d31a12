import type { Tenant } from "../../shared/domain/records/tenant.ts";
import { conversionRatesBody } from "../../shared/domain/trading/rates.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { read } from "../../shared/http/operations.ts";
import { listConversionRates } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { tenants } from "../../shared/table/entities.ts";
import { readPairs } from "../../shared/trading/market.ts";

/** `GET /conversion_rates` */
export const handler = await read(listConversionRates, async ({ caller: { tenant_id }, query }) => {
  const named = listParameter(query, "to");
  const { market, items } = await readPairs(tenant_id, named === undefined ? [tenants.key(tenant_id)] : []);
  const [tenant] = items as readonly (Tenant | undefined)[];
  return conversionRatesBody(market, query["from"], named ?? tenant?.currencies ?? [], nowIso());
});
