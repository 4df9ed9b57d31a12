import { balanceDetailsNow } from "../../shared/domain/trading/live.ts";
import { read } from "../../shared/http/operations.ts";
import { getBalance } from "../../shared/routes/accounts.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { readHoldings } from "../../shared/trading/holdings.ts";
import { readMarket } from "../../shared/trading/market.ts";

/** `GET /accounts/{id}/balance` */
export const handler = await read(getBalance, async ({ path, caller: { tenant_id: tenant } }) => {
  const holdings = await readHoldings(tenant, path.id);
  if (holdings === undefined) return undefined;
  const market = await readMarket(tenant, holdings.positions);
  return balanceDetailsNow(holdings, { market, now: nowIso() });
});
