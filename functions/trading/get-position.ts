import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Position } from "../../shared/domain/records/position.ts";
import { positionNow } from "../../shared/domain/trading/live.ts";
import { read } from "../../shared/http/operations.ts";
import { getPosition } from "../../shared/routes/trading.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { balances, positions, positionTrade } from "../../shared/table/entities.ts";
import { tradingRef } from "../../shared/trading/items.ts";
import { readMarketWith } from "../../shared/trading/market.ts";

/** `GET /positions/{id}`: its trade names the account whose partition holds it, and the prices that value it. */
export const handler = await read(getPosition, async ({ path, caller: { tenant_id: tenant }, load }) => {
  const { id } = path;
  const { trade } = await load({ trade: tradingRef.trade(positionTrade(id)) });
  if (trade?.status !== "open") return undefined;
  const own = positions.key(tenant, trade.account_id, id);
  const { market, items } = await readMarketWith(tenant, [trade], [own, balances.key(tenant, trade.account_id)]);
  const [position, balance] = items as readonly [Position | undefined, Balance | undefined];
  return position && balance && positionNow({ position, balance }, { market, now: nowIso() });
});
