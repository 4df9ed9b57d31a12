import type { TransactionBody } from "../../schema/transaction.ts";
import { parseReported } from "../kernel/money.ts";

/** Members of an event of a transaction for the sums: the transaction after the change, and before it. */
export interface TransactionChange {
  readonly type: "transaction.created" | "transaction.updated";
  /** Time of the event, RFC 3339 UTC. */
  readonly created_at: string;
  readonly object: Summed;
  /** Members that changed, with their values of before. */
  readonly previous?: Partial<Pick<Summed, "status" | "amount" | "fee">>;
}

type Summed = Pick<
  TransactionBody,
  "kind" | "status" | "currency" | "account_type" | "amount" | "fee" | "net_amount" | "created_at"
>;

/** Number, amounts and fees of transactions, in minor units. */
export interface Sum {
  readonly count: number;
  readonly amount_minor: bigint;
  readonly fee_minor: bigint;
}

/** Sums of transactions by the day (UTC) of their creation, or of settled money by the day of the brokerage. */
export type SumList = "created" | "settled";

/** The sums of one day in one currency, by their cells: `live_deposit_pending`, `live_deposits`. */
export interface DaySums {
  readonly list: SumList;
  readonly day: string;
  readonly currency: TransactionBody["currency"];
  readonly cells: ReadonlyMap<string, Sum>;
}

interface Move extends Sum, Omit<DaySums, "cells"> {
  readonly cell: string;
}

const none: Sum = { count: 0, amount_minor: 0n, fee_minor: 0n };

/** Sums that events are added to: those of a run, and those of an answer. */
export class EventSums {
  private readonly dayAt: (moment: string) => string;
  private readonly found = new Map<string, DaySums & { readonly cells: Map<string, Sum> }>();

  /** @param dayAt the label of the day of the brokerage that a moment is in */
  constructor(dayAt: (moment: string) => string) {
    this.dayAt = dayAt;
  }

  /** The sums of days without those that came to nothing. */
  get days(): readonly DaySums[] {
    return [...this.found.values()].flatMap((one) => {
      const cells = [...one.cells].filter(
        ([, sum]) => sum.count !== 0 || sum.amount_minor !== 0n || sum.fee_minor !== 0n,
      );
      return cells.length === 0 ? [] : [{ ...one, cells: new Map(cells) }];
    });
  }

  /** Adds what a change of a transaction moves. */
  addChange(change: TransactionChange): void {
    for (const move of movesOf(change, this.dayAt)) this.add(move);
  }

  /** Adds sums of a day that are stored. */
  addDay({ cells, ...of }: DaySums): void {
    for (const [cell, sum] of cells) this.add({ ...of, ...sum, cell });
  }

  /** Whether a change leaves the sums within so many days and currencies, and each of those within so many cells. */
  fits(change: TransactionChange, most: { readonly days: number; readonly cells: number }): boolean {
    const added = new EventSums(this.dayAt);
    for (const move of movesOf(change, this.dayAt)) added.add(move);
    const names = new Set([...this.found.keys(), ...added.found.keys()]);
    return (
      names.size <= most.days &&
      [...added.found].every(([name, { cells }]) => {
        const known = this.found.get(name)?.cells.keys() ?? [];
        return new Set([...known, ...cells.keys()]).size <= most.cells;
      })
    );
  }

  private add({ list, day, currency, cell, count, amount_minor, fee_minor }: Move): void {
    const name = [list, day, currency].join("|");
    const known = this.found.get(name) ?? { list, day, currency, cells: new Map<string, Sum>() };
    const before = known.cells.get(cell) ?? none;
    known.cells.set(cell, {
      count: before.count + count,
      amount_minor: before.amount_minor + amount_minor,
      fee_minor: before.fee_minor + fee_minor,
    });
    this.found.set(name, known);
  }
}

/**
 * Moves of a change. A transaction counts at its status on the day of its creation. An update moves it only where its
 * status was another one: a join of operations and the end of credit are in no sum.
 */
function movesOf(
  { type, created_at, object, previous }: TransactionChange,
  dayAt: (moment: string) => string,
): readonly Move[] {
  const { kind, status, currency, account_type } = object;
  const created = { list: "created", day: object.created_at.slice(0, 10), currency } as const;
  const cellOf = (state: Summed["status"]) => `${account_type}_${kind}_${state}`;
  const now = { count: 1, amount_minor: minorOf(object.amount, currency), fee_minor: minorOf(object.fee, currency) };
  const entered = { ...created, ...now, cell: cellOf(status) };
  if (type === "transaction.created") return [entered];
  if (previous?.status === undefined || previous.status === status) return [];
  const left: Move = {
    ...created,
    cell: cellOf(previous.status),
    count: -1,
    amount_minor: -minorOf(previous.amount ?? object.amount, currency),
    fee_minor: -minorOf(previous.fee ?? object.fee, currency),
  };
  const name = settlementOf(object, previous.status);
  if (name === undefined) return [left, entered];
  const amount_minor = minorOf(kind === "deposit" ? object.amount : object.net_amount, currency);
  const settled: Move = {
    ...{ list: "settled", day: dayAt(created_at), currency },
    ...{ cell: `${account_type}_${name}`, count: 1, amount_minor, fee_minor: 0n },
  };
  return [left, entered, settled];
}

/** Kinds of settled money: a deposit before its fee, a withdrawal after it, and either on its return. */
const settlements = ["deposits", "returned_deposits", "withdrawals", "returned_withdrawals"] as const;

/** One of the four sums of settled money. */
export type Settlement = (typeof settlements)[number];

function settlementOf({ kind, status }: Summed, before: Summed["status"]): Settlement | undefined {
  if (kind !== "deposit" && kind !== "withdrawal") return undefined;
  if (status === "completed") return `${kind}s`;
  return status === "returned" && before === "completed" ? `returned_${kind}s` : undefined;
}

function minorOf(text: string, currency: Summed["currency"]): bigint {
  const minor = parseReported(text, currency);
  if (typeof minor === "string") throw new Error(`An event has the amount ${text} ${currency}.`);
  return minor;
}
