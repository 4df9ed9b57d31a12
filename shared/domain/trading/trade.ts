import type { CurrencyCode } from "../../currencies.ts";
import type { CloseReasonName, ConversionBody, SideName, TradeBody } from "../../schema/trade.ts";
import type { DomainEvent } from "../decision.ts";
import { formatAmount } from "../money.ts";
import { marginRate } from "./position.ts";

/** A trade as it is stored: the wire's fields with money in minor units. A closed trade never changes again. */
export interface Trade {
  readonly id: string;
  readonly tenant_id: string;
  readonly account_id: string;
  readonly client_id: string;
  readonly symbol: string;
  readonly side: SideName;
  readonly status: "open" | "closed";
  /** Lots that are still open, or that were closed with this trade. */
  readonly lots: string;
  /** Every lot that was ever opened; the slices and the open lots add up to it (I9). */
  readonly initial_lots: string;
  readonly parent_trade_id: string | null;
  readonly position_id: string | null;
  readonly order_id: string | null;
  readonly currency: CurrencyCode;
  readonly open_price: string;
  readonly open_at: string;
  readonly close_price: string | null;
  readonly close_at: string | null;
  readonly close_reason: CloseReasonName | null;
  readonly stop_loss: string | null;
  readonly take_profit: string | null;
  readonly gross_minor: bigint | null;
  /** Our own profit, where the platform's was booked; for the drift report. */
  readonly service_gross_minor: bigint | null;
  /** Zero or below: what was booked at the opening for the lots of this trade, and at its close. */
  readonly commission_minor: bigint;
  readonly swap_minor: bigint;
  readonly conversion_fee_minor: bigint;
  readonly margin_ratio: string;
  readonly conversion: ConversionBody | null;
  readonly pnl_source: "service" | "platform";
  readonly source: string;
  readonly source_trade_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** Net profit of a closed trade after all costs; null while it is open. */
export function netMinor(trade: Trade): bigint | null {
  if (trade.gross_minor === null) return null;
  return trade.gross_minor + trade.commission_minor + trade.swap_minor + trade.conversion_fee_minor;
}

/** The trade as GET shows it. */
export function tradeBody(trade: Trade): TradeBody {
  const {
    tenant_id: _tenant,
    gross_minor,
    service_gross_minor: _service,
    commission_minor,
    swap_minor,
    conversion_fee_minor,
    margin_ratio,
    ...fields
  } = trade;
  const money = (minor: bigint) => formatAmount(minor, trade.currency);
  const net = netMinor(trade);
  return {
    ...fields,
    object: "trade",
    gross_pnl: gross_minor === null ? null : money(gross_minor),
    commission: money(commission_minor),
    swap: money(swap_minor),
    conversion_fee: money(conversion_fee_minor),
    net_pnl: net === null ? null : money(net),
    margin_rate: marginRate(margin_ratio),
    _links: {
      self: { href: `/v2/trades/${trade.id}` },
      account: { href: `/v2/accounts/${trade.account_id}` },
      ...(trade.parent_trade_id === null ? {} : { parent: { href: `/v2/trades/${trade.parent_trade_id}` } }),
    },
  };
}

/** The event of a trade that was opened, raised or closed. */
export function tradeEvent(
  type: "trade.opened" | "trade.closed",
  trade: Trade,
  previous?: DomainEvent["previous"],
): DomainEvent {
  return {
    type,
    resource: { type: "trade", id: trade.id, version: trade.version },
    client_id: trade.client_id,
    account_id: trade.account_id,
    object: tradeBody(trade),
    ...(previous === undefined ? {} : { previous }),
  };
}
