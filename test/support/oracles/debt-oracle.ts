/**
 * What a balance must be by the rule of ADR 0025, from a ledger alone and in code of its own: every posting once more
 * in its order, a debit that was taken back as if it had never been made, and what trading took below zero settled
 * where the account was left without a position.
 */

/** One posting as the oracle reads it. */
export interface JudgedEntry {
  readonly kind: string;
  readonly amount: bigint;
  readonly transaction: string;
  /** What of the balance before it open positions had lost again of profit realised since they were opened. */
  readonly offset: bigint;
  /**
   * `due`: settle what trading took below zero. `owed`: what is below zero stays a debt. `paid`: what is not leaves
   * none.
   */
  readonly settles: "due" | "owed" | "paid" | undefined;
}

/** What the rule leaves. */
export interface Judged {
  readonly balance: bigint;
  readonly credit: bigint;
  readonly debt: bigint;
}

const trading = new Set(["realised_pnl", "swap", "commission", "dividend"]);
/** Entries that settle, which the oracle makes itself. */
const settling = new Set(["negative_balance_correction", "credit_out", "credit_in"]);

/** Judges a whole ledger, oldest entry first, of an account that began with this credit and with nothing else. */
export function judgeDebt(entries: readonly JudgedEntry[], credit: bigint, start = 0n): Judged {
  const own = entries.filter(({ kind }) => !settling.has(kind));
  const gone = new Set<number>();
  const amounts = own.map(({ amount }) => amount);
  for (const [place, entry] of own.entries()) {
    if (entry.transaction === "" || entry.amount <= 0n) continue;
    const debit = own.findIndex((other, at) => at < place && other.transaction === entry.transaction);
    const opposite = own[debit];
    if (opposite === undefined || opposite.amount >= 0n) continue;
    amounts[debit] = (amounts[debit] ?? 0n) + entry.amount;
    gone.add(place);
  }
  let state: Judged = { balance: start, credit, debt: 0n };
  for (const [place, { kind, settles, offset }] of own.entries()) {
    const amount = gone.has(place) ? 0n : (amounts[place] ?? 0n);
    state = settled(posted(state, kind, amount, offset), settles);
  }
  return state;
}

function posted({ balance, credit, debt }: Judged, kind: string, amount: bigint, offset: bigint): Judged {
  const after = balance + amount;
  if (trading.has(kind)) return { balance: after, credit, debt };
  if (amount >= 0n) return { balance: after, credit, debt: debt > amount ? debt - amount : 0n };
  const left = balance - offset;
  const above = left > 0n ? left : 0n;
  const below = -amount > above ? -amount - above : 0n;
  return { balance: after, credit, debt: debt + below };
}

function settled(state: Judged, settles: JudgedEntry["settles"]): Judged {
  const { balance, credit, debt } = state;
  const below = balance < 0n ? -balance : 0n;
  if (settles === "owed") return { balance, credit, debt: below };
  if (settles === undefined) return state;
  if (settles === "paid") return { balance, credit, debt: debt < below ? debt : below };
  const loss = below > debt ? below - debt : 0n;
  const paid = loss < credit ? loss : credit;
  const left = below - loss;
  return { balance: balance + loss, credit: credit - paid, debt: debt < left ? debt : left };
}
