import type { CurrencyCode } from "../../currencies.ts";
import type { Account } from "../records/account.ts";
import { type Contra, controlAccounts, type Ledger } from "../records/ledger.ts";
import { type Nets, plusNets } from "./controls.ts";
import type { BookDay } from "./days.ts";
import { amountDifference, type Difference } from "./difference.ts";

/** A day that a run closes. */
export type ClosedDay = Pick<BookDay, "day" | "starts_at" | "ends_at">;

/** Accounts whose figures are added up together. */
export interface CellName {
  readonly currency: CurrencyCode;
  readonly account_type: Account["type"];
}

/** Settled money by the legs on `clearing` and `payouts`: those in and those back, each with their number. */
const moneyFigures = [
  ...(["deposits", "deposit_count", "returned_deposits", "returned_deposit_count"] as const),
  ...(["withdrawals", "withdrawal_count", "returned_withdrawals", "returned_withdrawal_count"] as const),
];

/** Sums of balances, and of credit, in minor units; `accounts` is a number. Two are carried from day to day. */
type AccountFigure = "accounts" | "owed_segregated" | "owed_title_transfer" | "owing" | "credit_balance" | "opening";
type CarriedFigure = "carried_payouts" | "carried_transfers";

/** A figure of a cell: of its accounts, the movement of a control account, of settled money, or in transit. */
export type Figure = AccountFigure | CarriedFigure | (typeof moneyFigures)[number] | Contra["control_account"];

/** The figures of a closed day: `USD|live|owed_segregated`; those that are zero are left out. */
export interface Closing extends BookDay {
  readonly closed_at: string;
  readonly reconciliation_id: string;
  /** Differences that its run had found by then, those of the day among them. */
  readonly difference_count: number;
  readonly figures: Nets;
}

function figureName({ currency, account_type }: CellName, figure: Figure): string {
  return `${currency}|${account_type}|${figure}`;
}

/** The cells that have a figure, in the order of their names: currencies, and live before demo in each. */
export function cellsOf(figures: Nets): CellName[] {
  const cells = new Map<string, CellName>();
  for (const name of Object.keys(figures)) {
    const [currency = "", account_type = ""] = name.split("|");
    cells.set(`${currency}|${account_type === "live" ? 0 : 1}`, { currency, account_type } as CellName);
  }
  return [...cells].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, cell]) => cell);
}

/** A reader of the figures of a cell; zero where there is none. */
export function figuresIn(figures: Nets, cell: CellName): (figure: Figure) => bigint {
  return (figure) => figures[figureName(cell, figure)] ?? 0n;
}

/** Balance and credit of an account at the beginning and at the end of a day. */
export interface Boundaries {
  readonly opening_minor: bigint;
  readonly balance_minor: bigint;
  readonly credit_minor: bigint;
}

/** An account before its first entry. */
export const atZero: Boundaries = { opening_minor: 0n, balance_minor: 0n, credit_minor: 0n };

/**
 * Adds entries of an account: each counts from its own time on, so days tile whatever the order of the times, and each
 * entry is of the day that its leg on the control account is of.
 */
export function withEntries(
  before: Boundaries,
  entries: readonly Pick<Ledger, "created_at" | "amount_minor" | "moves">[],
  day: ClosedDay,
): Boundaries {
  let { opening_minor, balance_minor, credit_minor } = before;
  for (const { created_at, amount_minor, moves } of entries) {
    if (created_at >= day.ends_at) continue;
    if (created_at < day.starts_at) opening_minor += amount_minor;
    if (moves === "credit") credit_minor += amount_minor;
    else balance_minor += amount_minor;
  }
  return { opening_minor, balance_minor, credit_minor };
}

/** The figures of one account. Balances below zero are never set against those above. */
export function figuresOfAccount(
  { currency, type, client_money }: Pick<Account, "currency" | "type" | "client_money">,
  { opening_minor, balance_minor: balance, credit_minor }: Boundaries,
): Nets {
  const owed = client_money === "title_transfer" ? "owed_title_transfer" : "owed_segregated";
  return named(
    { currency, account_type: type },
    {
      accounts: balance === 0n && credit_minor === 0n ? 0n : 1n,
      [owed]: balance > 0n ? balance : 0n,
      owing: balance < 0n ? -balance : 0n,
      credit_balance: credit_minor,
      opening: opening_minor,
    },
  );
}

function named(cell: CellName, values: Partial<Record<Figure, bigint>>): Nets {
  const pairs = Object.entries(values).filter(([, minor]) => minor !== 0n);
  return Object.fromEntries(pairs.map(([figure, minor]) => [figureName(cell, figure as Figure), minor]));
}

/** Members of an entry of a control account that count in a day. */
export type DayLeg = Pick<Contra, "control_account" | "amount_minor" | "currency" | "created_at" | "demo">;

/** The movements of control accounts in a day. */
export function figuresOfLegs(legs: readonly DayLeg[], day: ClosedDay): Nets {
  const sums: Record<string, bigint> = {};
  for (const { control_account: control, amount_minor: minor, currency, created_at, demo } of legs) {
    if (created_at < day.starts_at || created_at >= day.ends_at) continue;
    const cell: CellName = { currency, account_type: demo === true ? "demo" : "live" };
    for (const [name, more] of Object.entries(named(cell, { [control]: minor, ...moneyOf(control, minor) }))) {
      sums[name] = (sums[name] ?? 0n) + more;
    }
  }
  return plusNets({}, sums);
}

/** A deposit takes from `clearing`, a payout adds to `payouts`; the other sign is a return. */
function moneyOf(control: Contra["control_account"], minor: bigint): Partial<Record<Figure, bigint>> {
  if (control === "clearing") {
    return minor < 0n
      ? { deposits: -minor, deposit_count: 1n }
      : { returned_deposits: minor, returned_deposit_count: 1n };
  }
  if (control !== "payouts") return {};
  return minor > 0n
    ? { withdrawals: minor, withdrawal_count: 1n }
    : { returned_withdrawals: -minor, returned_withdrawal_count: 1n };
}

/** Amounts of a cell that others follow from, in minor units. */
export interface CellSums {
  readonly owed: bigint;
  /** Balances and credit at the end of the day. */
  readonly closing: bigint;
  /** The sum that postings added to balances and credit, by the control accounts. */
  readonly movement: bigint;
  /** Zero where the books of the day agree. */
  readonly difference: bigint;
}

/** The sums of a cell. */
export function sumsOf(of: (figure: Figure) => bigint): CellSums {
  const owed = of("owed_segregated") + of("owed_title_transfer");
  const closing = owed - of("owing") + of("credit_balance");
  const movement = -controlAccounts.reduce((sum, control) => sum + of(control), 0n);
  return { owed, closing, movement, difference: closing - of("opening") - movement };
}

/** Currencies in which money was in transit at the end of a day: legs alone may move it on the next one. */
export function currenciesInTransit(closing: Closing | undefined): readonly CurrencyCode[] {
  const { figures = {} } = closing ?? {};
  const moving = cellsOf(figures).filter((cell) => {
    const of = figuresIn(figures, cell);
    return of("carried_payouts") !== 0n || of("carried_transfers") !== 0n;
  });
  return [...new Set(moving.map(({ currency }) => currency))];
}

/**
 * The figures of a day with the money in transit at its end, and where its books do not agree: what the control
 * accounts moved is what balances and credit changed by, and they began as the day before ended.
 * @param before the day before; undefined for the first one, and where a reset removed its accounts
 */
export function settleDay(day: ClosedDay, figures: Nets, before: Closing | undefined) {
  const last = before?.figures ?? {};
  let settled = figures;
  const differences: Difference[] = [];
  for (const cell of cellsOf({ ...figures, ...last })) {
    const [of, then] = [figuresIn(figures, cell), figuresIn(last, cell)];
    const carried = {
      carried_payouts: then("carried_payouts") + of("payouts_in_transit"),
      carried_transfers: then("carried_transfers") + of("in_transit"),
    };
    settled = plusNets(settled, named(cell, carried));
    const id = `${day.day}/${cell.currency}/${cell.account_type}`;
    const about = { object_type: "day", object_id: id, account_id: null } as const;
    const { closing, movement } = sumsOf(of);
    const opened = before === undefined ? of("opening") : sumsOf(then).closing;
    differences.push(
      ...amountDifference(about, "opening", cell.currency, [opened, of("opening")]),
      ...amountDifference(about, "closing", cell.currency, [of("opening") + movement, closing]),
    );
  }
  return { figures: settled, differences };
}
