import type { CurrencyCode } from "../../currencies.ts";
import type { CloseReasonName, ConversionBody, SideName } from "../../schema/trade.ts";

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
