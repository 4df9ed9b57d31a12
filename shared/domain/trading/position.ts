import type { PositionBody } from "../../schema/position.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Position } from "../records/position.ts";
import { conversionBody } from "./pricing/convert.ts";
import { rational, shortDecimalText } from "./pricing/rational.ts";
import type { Valuation } from "./profit.ts";

/** The frozen rate as it is shown. */
export function marginRate(ratio: string): string {
  return shortDecimalText(rational(ratio), 0, 12);
}

/** The position as the API shows it, with its value at the newest price and its margin in minor units. */
export function positionBody(position: Position, valuation: Valuation, marginMinor: bigint): PositionBody {
  const money = (minor: bigint) => formatAmount(minor, position.currency);
  const self = `/v2/positions/${position.id}`;
  return {
    id: position.id,
    object: "position",
    account_id: position.account_id,
    client_id: position.client_id,
    symbol: position.symbol,
    side: position.side,
    lots: position.lots,
    open_price: position.open_price,
    current_price: valuation.price,
    quote_at: valuation.quote_at,
    stale: valuation.stale,
    currency: position.currency,
    gross_pnl: money(valuation.gross_minor),
    swap: money(position.swap_minor),
    floating_pnl: money(valuation.floating_minor),
    used_margin: money(marginMinor),
    margin_rate: marginRate(position.margin_ratio),
    conversion: valuation.conversion === undefined ? null : conversionBody(valuation.conversion),
    stop_loss: position.stop_loss,
    take_profit: position.take_profit,
    trade_ids: [position.trade_id],
    opened_at: position.opened_at,
    updated_at: position.updated_at,
    version: position.version,
    _links: {
      self: { href: self },
      account: { href: `/v2/accounts/${position.account_id}` },
      trade: { href: `/v2/trades/${position.trade_id}` },
    },
  };
}
