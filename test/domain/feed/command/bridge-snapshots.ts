import { isSettlement, namesAllSettlements } from "../../../../shared/domain/feed/command/settlement.ts";
import {
  type ComparedSnapshot,
  compareAccount,
  effectOf,
  effectsWith,
  unnumberedSince,
} from "../../../../shared/domain/feed/drift/compare.ts";
import { formatAmount } from "../../../../shared/domain/kernel/money.ts";
import type { TwoBooks } from "./bridge-model.ts";

/**
 * Compares an account with a snapshot of the platform that was taken right after so many of its operations, and before
 * the next one. `planted` is what the platform shows in addition to its ledger.
 */
export function compareAt(books: TwoBooks, account_id: string, seq: number, planted = 0n) {
  const included = books.ledger.slice(0, seq).filter((each) => each.account_id === account_id);
  const sumOf = (credits: boolean) =>
    included.filter((each) => (each.credits === true) === credits).reduce((sum, { minor }) => sum + minor, 0n);
  const { account, balance } = books.accountOf(account_id);
  const money = (minor: bigint) => formatAmount(minor, account.currency);
  const { balance_minor, credit_minor } = balance;
  const entries = books.entries.filter((each) => each.account_id === account_id);
  const { settled_by = [] } = balance;
  const effects = effectsWith(
    entries.map((entry) => [entry, effectOf(entry, books.transactions.get(entry.transaction_id ?? ""), undefined)]),
    (namesAllSettlements(balance)
      ? settled_by.map(({ command_id }) => command_id)
      : [...settled_by.map(({ command_id }) => command_id), ...books.unreportedCommands(account_id)]
    )
      .map((id) => books.command(id))
      .filter(isSettlement),
  );
  return compareAccount(
    { account, balance_minor, credit_minor, positions: [], effects },
    { balance: money(sumOf(false) + planted), credit: money(sumOf(true)), positions: [] },
    momentAt(books, seq),
  );
}

/** The moment of a snapshot that was taken right after so many operations. */
export function momentAt(books: TwoBooks, seq: number): ComparedSnapshot {
  const unnumbered_since = unnumberedSince({ taken_at: books.ledger[seq]?.at ?? books.now });
  return { source: books.source, as_of_seq: String(seq), unnumbered_since };
}

/** Amount that the platform has in addition by each difference, in minor units. */
export function deltasOf({ differences }: ReturnType<typeof compareAt>): readonly bigint[] {
  const whole = (amount: string | null) => BigInt((amount ?? "").replace(".", ""));
  return differences.map(({ ours, theirs }) => whole(theirs) - whole(ours));
}
