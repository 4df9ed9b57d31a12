import type { TradeBody } from "../../schema/trade.ts";
import type { DomainEvent } from "../kernel/decision.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Trade } from "../records/trade.ts";
import { marginRate } from "./position.ts";

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
