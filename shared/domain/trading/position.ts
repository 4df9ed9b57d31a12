import type { CurrencyCode } from "../../currencies.ts";
import type { PositionBody } from "../../schema/position.ts";
import type { SideName } from "../../schema/trade.ts";
import { formatAmount } from "../money.ts";
import { conversionBody } from "./pricing/convert.ts";
import { rational, shortDecimalText } from "./pricing/rational.ts";
import type { Valuation } from "./profit.ts";

/**
 * An open position as it is stored, the open side of exactly one trade: with hedging one per trade, with netting one
 * per symbol. It holds all that an evaluation needs, so that one read of the account's partition is enough.
 */
export interface Position {
  readonly id: string;
  readonly tenant_id: string;
  readonly account_id: string;
  readonly client_id: string;
  readonly trade_id: string;
  /** Where its trade was done: `internal`, or the name of a source. */
  readonly source: string;
  readonly symbol: string;
  readonly side: SideName;
  readonly lots: string;
  /** With netting the volume-weighted average, of up to twelve decimals. */
  readonly open_price: string;
  readonly currency: CurrencyCode;
  /** Swap accrued and not yet realised. */
  readonly swap_minor: bigint;
  /**
   * The calendar day of the last rollover that it is charged for, `YYYY-MM-DD` in the zone of its symbol; at its
   * opening the last one before. Absent where a platform charges it, where its symbol had no swap when it was opened,
   * and in positions that were stored before it was kept.
   */
  readonly swap_through?: string;
  /** The margin of this position by itself; what a symbol takes follows from the legs of the account. */
  readonly margin_minor: bigint;
  /** Rate from the margin currency to the account's, frozen at the opening: exact, as `numerator/denominator`. */
  readonly margin_ratio: string;
  /**
   * Part of the notional that is taken as margin, frozen at the opening until another leverage is applied to the
   * account: exact, as `numerator/denominator`. Absent in positions that were stored before it was kept.
   */
  readonly margin_requirement?: string;
  /** The version of the account whose change of leverage its margin follows, where that was stored in steps. */
  readonly leverage_version?: number;
  /** What its source calls it; absent in positions of this service and in those that were stored before it was kept. */
  readonly source_position_id?: string;
  /** Number of the item of its source that changed its lots last; absent where no item did. */
  readonly feed_seq?: string;
  readonly stop_loss: string | null;
  readonly take_profit: string | null;
  readonly opened_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** The frozen rate as it is shown. */
export function marginRate(ratio: string): string {
  return shortDecimalText(rational(ratio), 0, 12);
}

/** The position as the API shows it, with its value at the newest price. */
export function positionBody(position: Position, valuation: Valuation): PositionBody {
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
    used_margin: money(position.margin_minor),
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
