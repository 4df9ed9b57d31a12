/**
 * Balance and credit by the rules of ADR 0025, from a ledger alone and in code of its own: every posting once more in
 * its order, a debit that was taken back as if it had never been made, and the loss of trading below zero settled where
 * the account was left without a position.
 */

/** Own effect of an entry that moves credit: credit by the rule is made again by the oracle. */
export type JudgedCredit =
  | { readonly does: "grant"; readonly lot: string; readonly ends: string | null }
  | { readonly does: "take" }
  | { readonly does: "end"; readonly lot: string };

/** One posting as the oracle reads it. */
export interface JudgedEntry {
  readonly kind: string;
  readonly amount: bigint;
  readonly transaction: string;
  /** Part of the balance before it that open positions had lost again of profit realised since they were opened. */
  readonly offset: bigint;
  /**
   * `due`: settle what trading took below zero. `owed`: what is below zero stays a debt. `paid`: what is not leaves
   * none.
   */
  readonly settles: "due" | "owed" | "paid" | undefined;
  readonly credit?: JudgedCredit | undefined;
  /** How many entries of the ledger it belongs behind, where it happened before it was booked. */
  readonly behind?: number | undefined;
  /** Number of the ledger entry, counted from 0, that a deal which was taken back gives back. */
  readonly undoes?: number | undefined;
  /** Effect of a debit on the credit; all of it is kept without. */
  readonly removes?: "remove" | "prorate" | undefined;
}

interface Lot {
  readonly lot: string;
  readonly ends: string | null;
  readonly left: bigint;
}

/** Result of the rule. */
export interface Judged {
  readonly balance: bigint;
  readonly credit: bigint;
  readonly debt: bigint;
  /** The rest of each lot, by its name. */
  readonly lots: Readonly<Record<string, bigint>>;
}

interface State {
  readonly balance: bigint;
  readonly debt: bigint;
  readonly lots: readonly Lot[];
}

const trading = new Set(["realised_pnl", "swap", "commission", "dividend"]);
/** Entries that settle, which the oracle makes itself. */
const settling = new Set(["negative_balance_correction", "credit_out", "credit_in"]);

/** Judges a whole ledger, oldest entry first, of an account that began with this credit and with nothing else. */
export function judgeDebt(ledger: readonly JudgedEntry[], credit: bigint, start = 0n): Judged {
  const entries = withoutDeals(ledger);
  const late = entries.filter(({ behind }) => behind !== undefined);
  const inTime = entries.flatMap((entry, place) => [
    ...late.filter(({ behind }) => behind === place),
    ...(entry.behind === undefined ? [entry] : []),
  ]);
  const own = inTime.filter(({ kind, credit: moved }) => moved !== undefined || !settling.has(kind));
  const gone = new Set<number>();
  const back = new Set<number>();
  const amounts = own.map(({ amount }) => amount);
  for (const [place, entry] of own.entries()) {
    if (entry.transaction === "" || entry.amount <= 0n || entry.credit !== undefined) continue;
    const debit = own.findIndex((other, at) => at < place && other.transaction === entry.transaction);
    const opposite = own[debit];
    if (opposite === undefined || opposite.amount >= 0n) continue;
    amounts[debit] = (amounts[debit] ?? 0n) + entry.amount;
    gone.add(place);
    back.add(debit);
  }
  let state: State = { balance: start, debt: 0n, lots: [{ lot: "", ends: null, left: credit }] };
  for (const [place, entry] of own.entries()) {
    const amount = gone.has(place) ? 0n : (amounts[place] ?? 0n);
    if (entry.credit !== undefined) {
      state = { ...state, lots: credited(state.lots, entry.credit, amount) };
      continue;
    }
    if (!back.has(place)) state = { ...state, lots: removed(state, entry.removes, -amount) };
    state = settled(posted(state, entry.kind, amount, entry.offset), entry.settles);
  }
  const left = state.lots.filter((lot) => lot.left !== 0n);
  return {
    balance: state.balance,
    debt: state.debt,
    credit: left.reduce((sum, lot) => sum + lot.left, 0n),
    lots: Object.fromEntries(left.map((lot) => [lot.lot, lot.left])),
  };
}

/** The ledger as if deals that were taken back had not been: a position stayed open, so nothing was to be settled. */
function withoutDeals(ledger: readonly JudgedEntry[]): readonly JudgedEntry[] {
  let entries = ledger;
  for (const [end, { undoes: begin }] of ledger.entries()) {
    if (begin === undefined) continue;
    entries = entries.map((entry, place) => {
      if (place < begin || place > end) return entry;
      const amount = place === begin || place === end ? 0n : entry.amount;
      return { ...entry, amount, settles: entry.settles === "owed" ? entry.settles : undefined };
    });
  }
  return entries;
}

function credited(lots: readonly Lot[], credit: JudgedCredit, amount: bigint): readonly Lot[] {
  if (credit.does === "grant" && credit.lot === "") {
    return lots.map((each) => (each.lot === "" ? { ...each, left: each.left + amount } : each));
  }
  if (credit.does === "grant") return [...lots, { lot: credit.lot, ends: credit.ends, left: amount }];
  if (credit.does === "end") return lots.filter(({ lot }) => lot !== credit.lot);
  return take(lots, -amount);
}

/** Takes an amount unit by unit, so to say: always of the lot that ends first and was granted first. */
function take(lots: readonly Lot[], amount: bigint): readonly Lot[] {
  const never = "~";
  const order = [...lots].sort((a, b) => {
    const [one, other] = [`${a.ends ?? never} ${a.lot || never}`, `${b.ends ?? never} ${b.lot || never}`];
    return one < other ? -1 : 1;
  });
  let open = amount;
  for (const [place, lot] of order.entries()) {
    const part = lot.left < open ? lot.left : open;
    order[place] = { ...lot, left: lot.left - part };
    open -= part;
  }
  return order;
}

function removed({ balance, lots }: State, how: JudgedEntry["removes"], amount: bigint): readonly Lot[] {
  if (how === undefined || amount <= 0n) return lots;
  const all = lots.reduce((sum, { left }) => sum + left, 0n);
  if (how === "remove" || balance <= amount) return take(lots, all);
  const [whole, rest] = [(all * amount) / balance, (all * amount) % balance];
  return take(lots, rest === 0n ? whole : whole + 1n);
}

function posted(state: State, kind: string, amount: bigint, offset: bigint): State {
  const { balance, debt } = state;
  const after = balance + amount;
  if (trading.has(kind)) return { ...state, balance: after };
  if (amount >= 0n) return { ...state, balance: after, debt: debt > amount ? debt - amount : 0n };
  const left = balance - offset;
  const above = left > 0n ? left : 0n;
  const below = -amount > above ? -amount - above : 0n;
  return { ...state, balance: after, debt: debt + below };
}

function settled(state: State, settles: JudgedEntry["settles"]): State {
  const { balance, lots, debt } = state;
  const below = balance < 0n ? -balance : 0n;
  if (settles === "owed") return { ...state, debt: below };
  if (settles === undefined) return state;
  if (settles === "paid") return { ...state, debt: debt < below ? debt : below };
  const loss = below > debt ? below - debt : 0n;
  const left = below - loss;
  return { balance: balance + loss, lots: take(lots, loss), debt: debt < left ? debt : left };
}
