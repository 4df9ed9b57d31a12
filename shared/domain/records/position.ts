import type { CurrencyCode } from "../../currencies.ts";
import type { SideName } from "../../schema/trade.ts";
import type { Account } from "./account.ts";

/** Margin of one lot of a position at leverage 1, and the largest leverage that it is divided by. */
export interface MarginTerm {
  /** The cap of the symbol when the lots were opened; null: the leverage of the account alone counts. */
  readonly max_leverage: number | null;
  /** Decimal in the account's currency, of up to 18 decimals. */
  readonly per_lot: string;
}

/**
 * An open position as it is stored, the open side of exactly one trade: with hedging one per trade, with netting one
 * per symbol. It holds all that an evaluation needs, so that one read of the account's partition is enough.
 */
export interface Position {
  readonly id: string;
  readonly tenant_id: string;
  readonly account_id: string;
  readonly client_id: string;
  /** Of its account, which never changes: what demo accounts hold is no exposure of the book. */
  readonly account_type: Account["type"];
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
   * opening the last one before. Absent where a platform charges it, and where its symbol had no swap at its opening.
   */
  readonly swap_through?: string;
  /** Rate from the margin currency to the account's, frozen at the opening: exact, as `numerator/denominator`. */
  readonly margin_ratio: string;
  /** Its margin at any leverage follows from these, frozen at the opening: one for each cap of the lots in it. */
  readonly margin_terms: readonly MarginTerm[];
  /** The `pos_version` that the last write of this position gave to the balance; 0 until a commit writes it. */
  readonly pos_version: number;
  /** Name at its source; absent in positions of this service. */
  readonly source_position_id?: string;
  /** Number of the item of its source that changed its lots last; absent where no item did. */
  readonly feed_seq?: string;
  readonly stop_loss: string | null;
  readonly take_profit: string | null;
  readonly opened_at: string;
  readonly updated_at: string;
  readonly version: number;
}
