import type { TransactionBody } from "../../schema/transaction.ts";
import type { FeedCause } from "../kernel/decision.ts";

/** Members that a stored transaction has only where there is something to say. */
type Absent = "object" | "platform_operations" | "transfer" | "set_aside" | "_links";

type MoneyField = "amount" | "fee" | "net_amount" | "announced_amount" | "balance_before" | "balance_after";

/**
 * A deposit or withdrawal as it is stored: the wire's fields with money in minor units. A pending withdrawal is its own
 * hold.
 */
export interface Transaction extends Omit<TransactionBody, MoneyField | Absent> {
  readonly tenant_id: string;
  /**
   * The item of a platform that has moved its money and that is set aside until it is approved: the forward leg is
   * claimed for it, so no command asks for that. It stays where the transaction ends until people settle the item.
   */
  readonly set_aside?: NonNullable<TransactionBody["set_aside"]>;
  /** Its operations on trading platforms, each with the number of the item that reported it; absent while none did. */
  readonly platform_operations: readonly (TransactionBody["platform_operations"][number] &
    Partial<Pick<FeedCause, "feed_seq">>)[];
  readonly amount_minor: bigint;
  readonly fee_minor: bigint;
  /** Announced amount; only of a deposit of which another amount arrived. */
  readonly announced_amount_minor?: bigint;
  readonly balance_before_minor: bigint | null;
  readonly balance_after_minor: bigint | null;
  /** Amount that was given back to the account or taken from it again, with its sign; absent while nothing was. */
  readonly reverse_minor?: bigint;
  /** Its next state once the platform has brought its money back; absent unless a command for that is open. */
  readonly returning?: Pick<Returning, "to" | "reason">;
  /** The amounts of it, see {@link Returning}. */
  readonly returning_minor?: bigint;
  readonly returning_held_minor?: bigint;
  readonly returning_kept_minor?: bigint;
  /** When the sandbox's own provider moves it, RFC 3339; only where it does. */
  readonly provider_at?: string;
  /** Number of the ledger entry that debited it; only of a withdrawal that was. */
  readonly debited_seq?: number;
  /** The transfer that it is a leg of, and the other leg; absent of every other kind. */
  readonly transfer?: Omit<NonNullable<TransactionBody["transfer"]>, "status">;
  /** Credit of the transfer, and the income that its rate leaves to the brokerage; only where they are booked apart. */
  readonly transfer_credit_minor?: bigint;
  readonly transfer_income_minor?: bigint;
}

/** A return, or the return of a failed payout, that waits for the platform. */
export interface Returning {
  /** With its sign: what it adds to the account. */
  readonly minor: bigint;
  readonly to: "failed" | "returned";
  readonly reason: Transaction["status_reason"];
  /** Hold on the account until the platform has taken it. */
  readonly held_minor: bigint;
  readonly kept_fee_minor: bigint;
}
