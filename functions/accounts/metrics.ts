import { metricsNow } from "../../shared/domain/trading/live.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { read } from "../../shared/http/operations.ts";
import { getAccountMetrics } from "../../shared/routes/accounts.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { sound } from "../../shared/runtime/unreadable.ts";
import { readAccounts } from "../../shared/trading/holdings.ts";
import { readMarket } from "../../shared/trading/market.ts";

/** `GET /accounts/metrics`: all accounts at the same prices. */
export const handler = await read(getAccountMetrics, async ({ caller: { tenant_id: tenant }, query }) => {
  const ids = listParameter(query, "account_ids") ?? [];
  const found = [...(await readAccounts(tenant, ids)).values()].map(sound);
  const positions = found.flatMap((holdings) => holdings.positions);
  return metricsNow(ids, found, { market: await readMarket(tenant, positions), now: nowIso() });
});
