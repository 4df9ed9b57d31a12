import type { Account } from "../../shared/domain/account.ts";
import { underChange } from "../../shared/domain/trading/leverage-change.ts";
import { positionNow } from "../../shared/domain/trading/live.ts";
import type { Position } from "../../shared/domain/trading/position.ts";
import { read } from "../../shared/http/operations.ts";
import { getPosition } from "../../shared/routes/trading.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { accounts, positions, positionTrade } from "../../shared/table/entities.ts";
import { tradingRef } from "../../shared/trading/items.ts";
import { readMarketWith } from "../../shared/trading/market.ts";

/** `GET /positions/{id}`: its trade names the account whose partition holds it, and the prices that value it. */
export const handler = await read(getPosition, async ({ path, caller: { tenant_id: tenant }, load }) => {
  const { id } = path;
  const { trade } = await load({ trade: tradingRef.trade(positionTrade(id)) });
  if (trade?.status !== "open") return undefined;
  const own = positions.key(tenant, trade.account_id, id);
  const { market, items } = await readMarketWith(tenant, [trade], [own, accounts.key(tenant, trade.account_id)]);
  const [stored, account] = items as readonly [Position | undefined, Account | undefined];
  const [position] = stored && account ? underChange(account, [stored]) : [];
  return position && positionNow(position, { market, now: nowIso() });
});
