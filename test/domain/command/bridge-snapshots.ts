import { compareAccount, effectOf, unnumberedSince } from "../../../shared/domain/drift/compare.ts";
import { formatAmount } from "../../../shared/domain/money.ts";
import type { TwoBooks } from "./bridge-model.ts";

/**
 * Compares an account with a snapshot of the platform that was taken right after so many of its operations, and before
 * the next one. `planted` is what the platform shows in addition to its ledger.
 */
export function compareAt(books: TwoBooks, account_id: string, seq: number, planted = 0n) {
  const unnumbered_since = unnumberedSince({ taken_at: books.ledger[seq]?.at ?? books.now });
  const included = books.ledger.slice(0, seq).filter((each) => each.account_id === account_id);
  const minor = included.reduce((sum, each) => sum + each.minor, planted);
  const { account, balance } = books.accountOf(account_id);
  const { balance_minor, credit_minor } = balance;
  const entries = books.entries.filter((each) => each.account_id === account_id);
  const effects = entries.map((entry) =>
    effectOf(entry, books.transactions.get(entry.transaction_id ?? ""), undefined),
  );
  return compareAccount(
    { account, balance_minor, credit_minor, positions: [], effects },
    { balance: formatAmount(minor, account.currency), credit: "0.00", positions: [] },
    { source: books.source, as_of_seq: String(seq), unnumbered_since },
  );
}

/** What the platform has in addition by each difference, in minor units. */
export function deltasOf({ differences }: ReturnType<typeof compareAt>): readonly bigint[] {
  const whole = (amount: string | null) => BigInt((amount ?? "").replace(".", ""));
  return differences.map(({ ours, theirs }) => whole(theirs) - whole(ours));
}
