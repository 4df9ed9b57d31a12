import type { Transaction } from "./transaction.ts";

/** Direction of the money of a transaction: `forward` when it was made, `reverse` when it was given back. */
export type LegName = Transaction["platform_operations"][number]["leg"];

/**
 * A marker of money that the API moved on an account of a trading platform and that no operation which the platform
 * reported was joined with yet. It is found by its account and amount with a consistent read.
 */
export interface UnjoinedLeg extends Marked {
  readonly transaction_id: string;
  readonly leg: LegName;
}

/** A marker of a command that brings a platform to what is booked here, until its operation was reported. */
export interface CorrectionLeg extends Marked {
  readonly command_id: string;
  /** The correction of a loss that it makes the platform follow; absent where it is for something else. */
  readonly transaction_id?: string;
}

interface Marked {
  readonly tenant_id: string;
  readonly account_id: string;
  /** With its sign: what it adds to the account. */
  readonly amount_minor: bigint;
}
