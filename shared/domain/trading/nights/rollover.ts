import type { CurrencyCode } from "../../../currencies.ts";
import { limits } from "../../../limits.ts";
import type { Position } from "../../records/position.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { conversion } from "../pricing/convert.ts";
import type { Market } from "../pricing/quote.ts";
import { rational, ratioText } from "../pricing/rational.ts";
import { nightsOf, swapOf } from "../swap.ts";
import { rolloverMs } from "./clock.ts";

/**
 * Charge for one night of every position of a symbol and an account currency, fixed by the first that needs it: terms
 * and rate do not change afterwards.
 */
export interface Rollover {
  readonly tenant_id: string;
  readonly symbol: string;
  /** Currency of the accounts. */
  readonly currency: CurrencyCode;
  /** The calendar day in the zone of the symbol, `YYYY-MM-DD`. */
  readonly date: string;
  /** The moment that positions must have been opened before. */
  readonly at: string;
  /** Three on the triple day. */
  readonly nights: number;
  readonly swap: Pick<TradingSymbol["swap"], "type" | "long" | "short">;
  readonly point: string;
  readonly contract_size: string;
  /** From the quote currency to that of the account at mid, exact, as `numerator/denominator`. */
  readonly rate: string;
  readonly created_at: string;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** The rollover of a night on the terms and prices of now; undefined when there is no way to convert yet. */
export function draftRollover(
  market: Market,
  symbol: TradingSymbol,
  { date, currency }: Pick<Rollover, "date" | "currency">,
  { tenant_id, now }: { readonly tenant_id: string; readonly now: string },
): Rollover | undefined {
  const path = conversion(market, symbol.quote_currency, currency);
  if (path === undefined) return undefined;
  const { type, long, short } = symbol.swap;
  return {
    tenant_id,
    symbol: symbol.symbol,
    currency,
    date,
    at: new Date(rolloverMs(symbol, date)).toISOString(),
    nights: nightsOf(symbol, date),
    swap: { type, long, short },
    point: symbol.point,
    contract_size: symbol.contract_size,
    rate: ratioText(path.rate),
    created_at: now,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.trading.rollover_kept_seconds,
  };
}

/** Charge or gain of a position for a night, in minor units. */
export function nightMinor(
  rollover: Rollover,
  position: Pick<Position, "side" | "lots" | "open_price" | "currency">,
): bigint {
  return swapOf(rollover, position, rollover.nights, rational(rollover.rate));
}
