import type { ConversionBody } from "../../schema/trade.ts";
import type { CreateTransferQuote, TransferQuoteBody } from "../../schema/transaction.ts";

/** The firm quote of a client as it is stored: one item for each client, so that one quote is open at a time. */
export interface TransferQuote extends TransferRate, Omit<CreateTransferQuote, "amount"> {
  readonly id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly amount_minor: bigint;
  readonly currency: TransferQuoteBody["currency"];
  readonly credited_currency: TransferQuoteBody["currency"];
  readonly status: "open" | "used";
  readonly valid_until: string;
  /** Epoch seconds after which DynamoDB may delete the item. */
  readonly expires_at: number;
  /** When it was given. The item is that of the client and is not made again for a new quote. */
  readonly quoted_at: string;
  readonly version: number;
}

/** Value of an amount of one account on another, in minor units of the other's currency. */
export interface TransferRate {
  /** Credited amount: the amount at the rate less the mark-up, rounded toward zero. */
  readonly credit_minor: bigint;
  /** Income of the brokerage by the mid of the same quotes: spread, mark-up and rounding. */
  readonly income_minor: bigint;
  readonly mark_up_percent: string;
  /** The path and its rate before the mark-up; null where both accounts have one currency. */
  readonly conversion: ConversionBody | null;
}
