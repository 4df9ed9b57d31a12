import type { SymbolBody } from "../../schema/symbol.ts";

/** A symbol as it is stored: the wire's fields without what the clock decides, and whether its feed halted it. */
export interface TradingSymbol
  extends Omit<SymbolBody, "object" | "market_status" | "next_open_at" | "next_close_at" | "_links"> {
  readonly tenant_id: string;
  readonly halted: boolean;
  /** When it got terms of swap after it had none: nights before are not charged. Absent where it never had none. */
  readonly swap_since?: string;
}
