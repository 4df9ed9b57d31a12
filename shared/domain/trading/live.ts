import type {
  AccountBalanceBody,
  AccountBalanceDetailsBody,
  AccountBody,
  AccountMetricsBody,
  WatchedAccountBody,
} from "../../schema/account.ts";
import type { PositionBody } from "../../schema/position.ts";
import { balanceBody } from "../accounts/amend-account.ts";
import { lotsOf, storedLots, withoutEnded } from "../accounts/credit-lots.ts";
import type { Balance } from "../records/balance.ts";
import type { Position } from "../records/position.ts";
import type { StoredRisk } from "../records/risk.ts";
import { type Holdings, metricsAt, positionMargin } from "./margin.ts";
import { positionBody } from "./position.ts";
import type { Market } from "./pricing/quote.ts";
import { valuePosition } from "./profit.ts";
import { isLiquidating, liveAccountBody, metricsBody } from "./risk.ts";

/** Prices and time at which an account or a position is shown. */
export interface MarketNow {
  readonly market: Market;
  readonly now: string;
}

/** An account for its resource; where a list shows it, it does not say whether it is being liquidated. */
export interface ShownHoldings extends Holdings {
  /** Absent unless its platform is asked to close positions. */
  readonly liquidation?: "requested";
}

/** The account as GET shows it, its money at the newest prices. */
export function accountNow(holdings: ShownHoldings, { market, now }: MarketNow): AccountBody {
  const { liquidation } = holdings;
  const body = liveAccountBody(holdings, metricsAt(market, holdings, now)) as AccountBody;
  return liquidation === undefined ? body : { ...body, liquidation };
}

/** The money of an account alone, at the newest prices. */
export function balanceNow(holdings: Holdings, { market, now }: MarketNow): AccountBalanceBody {
  const { account, balance } = holdings;
  const metrics = metricsAt(market, holdings, now);
  return { ...balanceBody(holdings), ...metricsBody(metrics, account.currency, balance.updated_at) };
}

/** The same with the parts of the credit. */
export function balanceDetailsNow(holdings: Holdings, moment: MarketNow): AccountBalanceDetailsBody {
  const { balance } = holdings;
  return {
    ...balanceNow(holdings, moment),
    credit_lots: storedLots(lotsOf(withoutEnded(balance, moment.now)), balance.currency),
  };
}

/** The money of several accounts, in the order in which they were asked for, and those that there are none of. */
export function metricsNow(ids: readonly string[], found: readonly Holdings[], moment: MarketNow): AccountMetricsBody {
  const byId = new Map(found.map((holdings) => [holdings.account.id, holdings]));
  return {
    object: "account_metrics",
    data: ids.flatMap((id) => {
      const holdings = byId.get(id);
      return holdings === undefined ? [] : [balanceNow(holdings, moment)];
    }),
    missing: ids.filter((id) => !byId.has(id)),
    _links: { self: { href: `/v2/accounts/metrics?account_ids=${ids.join(",")}` } },
  };
}

/** An account on the list of margin levels: how it stands now, and what its place was found by. */
export function watchedNow(holdings: Holdings, risk: StoredRisk, moment: MarketNow): WatchedAccountBody {
  return {
    ...balanceNow(holdings, moment),
    object: "watched_account",
    client_id: holdings.account.client_id,
    evaluated_at: risk.updated_at,
    evaluated_margin_level: risk.margin_level,
    liquidating: isLiquidating(risk),
  };
}

/** A position with the money of its account, whose leverage its margin follows from. */
export interface HeldPosition {
  readonly position: Position;
  readonly balance: Pick<Balance, "leverage">;
}

/** The position as GET shows it, at the newest price. */
export function positionNow({ position, balance }: HeldPosition, { market, now }: MarketNow): PositionBody {
  const valuation = valuePosition(market, position, now);
  return positionBody(position, valuation, positionMargin(position, balance.leverage));
}
