import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Ledger } from "../records/ledger.ts";
import { amountDifference, type BookObject, type Difference, missing } from "./difference.ts";

/** How far the ledger of an account was read, and the first entry that does not follow from those before. */
export interface LedgerReading {
  /** Number of the last entry that was read; 0 before the first. */
  readonly last: number;
  /** The balance after it. */
  readonly balance_minor: bigint;
  /** The credit after it. */
  readonly credit_minor: bigint;
  readonly entries: number;
  readonly fault?: Difference;
}

/** A ledger before its first entry. */
export const unread: LedgerReading = { last: 0, balance_minor: 0n, credit_minor: 0n, entries: 0 };

/** An account in a difference. */
export function accountObject(id: string): BookObject {
  return { object_type: "account", object_id: id, account_id: id };
}

/**
 * Reads the next entry, in the order of their numbers. It must have the next number and go on from the balance before
 * it; after a fault the reading goes on from what the entry says, so that one fault is reported once.
 */
export function readEntry(before: LedgerReading, entry: Ledger): LedgerReading {
  const fault = before.fault ?? faultOf(before, entry);
  return {
    last: entry.balance_version,
    balance_minor: entry.balance_after_minor,
    credit_minor: entry.credit_after_minor ?? 0n,
    entries: before.entries + 1,
    ...(fault === undefined ? {} : { fault }),
  };
}

function faultOf({ last, balance_minor: before, credit_minor }: LedgerReading, entry: Ledger): Difference | undefined {
  const { account_id, currency, amount_minor: amount } = entry;
  const number = last + 1;
  if (entry.balance_version !== number) return missing(accountObject(account_id), "ledger_entry", String(number));
  const about: BookObject = { object_type: "ledger_entry", object_id: entry.id, account_id };
  const [after, credit] = entry.moves === "credit" ? [before, credit_minor + amount] : [before + amount, credit_minor];
  const [difference] = [
    ...amountDifference(about, "balance_before", currency, [before, entry.balance_before_minor]),
    ...amountDifference(about, "balance_after", currency, [after, entry.balance_after_minor]),
    ...amountDifference(about, "credit_after", currency, [credit, entry.credit_after_minor ?? 0n]),
  ];
  return difference;
}

/** Where an account, its money and its ledger do not agree. The ledger was read up to the last posting, or further. */
export function compareAccount(
  id: string,
  account: Account | undefined,
  balance: Balance | undefined,
  reading: LedgerReading,
): Difference[] {
  const about = accountObject(id);
  // An account that a reset of the sandbox has removed.
  if (account === undefined && balance === undefined && reading.entries === 0) return [];
  if (account === undefined) return [missing(about, "account", id)];
  if (balance === undefined) return [missing(about, "balance", formatAmount(reading.balance_minor, account.currency))];
  const { currency, seq, balance_minor, held_minor, available_minor } = balance;
  const available = amountDifference(about, "available_balance", currency, [
    balance_minor - held_minor,
    available_minor,
  ]);
  if (reading.fault !== undefined) return [reading.fault, ...available];
  if (reading.last < seq) return [missing(about, "ledger_entry", String(reading.last + 1)), ...available];
  const counted = reading.last > seq ? [{ ...about, field: "balance_version" as const }] : [];
  return [
    ...counted.map((each) => ({ ...each, expected: String(reading.last), found: String(seq) })),
    ...amountDifference(about, "balance", currency, [reading.balance_minor, balance_minor]),
    ...available,
  ];
}
