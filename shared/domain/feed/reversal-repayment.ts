import { creditFields, creditOf, lotChanges, lotsOf, storedLots } from "../accounts/credit-lots.ts";
import { replay } from "../accounts/debt.ts";
import type { Context } from "../kernel/decision.ts";
import type { Balance } from "../records/balance.ts";
import type { Ledger } from "../records/ledger.ts";
import { type Book, bookEntries, type Entry } from "../trading/book.ts";
import type { DealUndo } from "./undo.ts";

/**
 * The number of the first entry of a deal that closed lots, where a loss was settled or a debit made a debt since then:
 * the ledger from there on says what is given back with the deal, and which debts are left without it. Almost always
 * undefined.
 */
export function settledSince({ closed, entries }: DealUndo, { below_zero_seq }: Balance): number | undefined {
  const [first] = entries;
  if (closed === undefined || first === undefined) return undefined;
  return (below_zero_seq ?? 0) > first.seq ? first.seq : undefined;
}

/**
 * Gives back the corrections and the credit of losses that were settled since a deal which is taken back: its position
 * was open all the time, so there was nothing to settle. A debit that found less than there is without the deal leaves
 * no debt. The result is that of a replay without the deal.
 * @param since the entries from its first one on, as they are stored
 */
export function withoutCorrections(book: Book, since: readonly Ledger[], context: Context): Book {
  const covers = ({ settlement }: Ledger) => settlement === "correction" || settlement === "credit";
  const { account, balance } = book;
  const own = book.changes.flatMap((change) =>
    change.op === "create" && change.entity === "ledger" ? [change.item as Ledger] : [],
  );
  const lots = lotsOf(balance);
  const end = replay({ entries: [...since, ...own], lots });
  if (!since.some(covers)) return { ...book, balance: { ...balance, debt_minor: end.debt_minor } };
  const credit = end.unspent_minor;
  const correction = balance.balance_minor - credit - end.balance_minor;
  const changes = lotChanges(lots, end.lots);
  const granted = creditOf(changes);
  const settlement = "repayment" as const;
  const entries: readonly Entry[] = [
    { kind: "credit_in", control: "credit", amount_minor: -credit, settlement },
    { kind: "negative_balance_correction", control: "negative_balance", amount_minor: -correction, settlement },
  ];
  const moves: Entry = {
    kind: granted > 0n ? "credit_in" : "credit_out",
    control: "credit",
    amount_minor: granted,
    settlement,
    lots: storedLots(changes, account.currency),
  };
  const booked = bookEntries(
    book,
    [...entries.filter(({ amount_minor }) => amount_minor !== 0n), ...(changes.length === 0 ? [] : [moves])],
    context,
  );
  const { debt_minor } = end;
  const back = changes.length === 0 ? {} : creditFields(end.lots, account.currency);
  // Profit that was realised before the deal was forgotten when the deal left no position.
  return { ...booked, balance: { ...booked.balance, debt_minor, realised_minor: 0n, ...back } };
}
