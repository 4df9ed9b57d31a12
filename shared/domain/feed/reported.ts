import type { Givers } from "../money/givers.ts";
import type { Late } from "../money/posting.ts";
import type { AccountContext } from "../money/transaction.ts";
import type { Decision } from "../records/change.ts";
import type { CorrectionCommand, PlatformCommand } from "../records/command.ts";
import type { Drift } from "../records/drift.ts";
import type { Tenant } from "../records/tenant.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import type { Transaction } from "../records/transaction.ts";
import type { Made } from "./apply.ts";
import type { Origin } from "./mirror-order.ts";
import { operationMarker } from "./operation-marker.ts";
import type { Operation } from "./platform-money.ts";

/** State of the transactions that an operation could be the money of. */
export interface OperationLinks {
  readonly tenant: Tenant;
  /** The transaction that the operation names, itself or by a command, or the person who tries it again. */
  readonly named: Transaction | undefined;
  /** The command that the operation names, or the newest one about the transaction that it names. */
  readonly command?: PlatformCommand | undefined;
  /** The drift of the command, where that was to correct a balance and was given up. */
  readonly drift?: Pick<Drift, "status" | "command_id" | "resolution"> | undefined;
  /** The transaction that an acknowledgement or a person has claimed the operation for, which is to be confirmed. */
  readonly claimant?: Transaction | undefined;
  /** The command that corrects a balance and that an acknowledgement has claimed the operation for. */
  readonly claiming?: CorrectionCommand | undefined;
  /** The transaction that the operation is set aside for. */
  readonly waiting?: Transaction | undefined;
  /** Those who approved the named transaction, or the one that the operation is set aside for, as they are now. */
  readonly givers?: Givers | undefined;
  /** The ledger since the debit of the named transaction, where that is needed. */
  readonly since_debit?: AccountContext["since_debit"];
  /** Where it belongs in the ledger, where it adds money and a loss was corrected since it happened. */
  readonly late?: Late | undefined;
  /**
   * Transactions of the account with an unjoined leg of the same amount, and commands that correct it by that; looked
   * for where none is named.
   */
  readonly candidates: readonly string[];
  /**
   * Decision of a person who tries the operation again: it is the money of the named transaction, new money, or it is
   * to be taken back.
   */
  readonly said: "is_named" | "is_new" | "take_back" | undefined;
}

/** An operation with its amount and where it comes from. */
export interface Reported {
  readonly operation: Operation;
  readonly minor: bigint;
  readonly origin: Origin;
}

/** A decision about an operation that is made, and not refused. */
export type Applied = Extract<TradingDecision<Made>, { ok: true }>;

/** The decision with the claim that makes an operation one of a kind for good, whatever expires. */
export function claimed(
  decision: Extract<Decision<Transaction>, { ok: true }>,
  made: Made,
  { operation: { operation_id }, origin: { source } }: Reported,
): Applied {
  const claim: TradingChange = {
    op: "claim",
    kind: "source_operation",
    value: operationMarker(source, operation_id),
    owner: decision.result.id,
    refusal: { code: "illegal_transition", detail: "The operation is known." },
    drawn: true,
  };
  return { ...decision, result: made, changes: [...decision.changes, claim] };
}

/** Changes whose claim of an operation takes it from its owner. */
export function insteadOf(owner: string, changes: readonly TradingChange[]): readonly TradingChange[] {
  return changes.map((change) =>
    change.op === "claim" && change.kind === "source_operation" ? { ...change, instead_of: owner } : change,
  );
}
