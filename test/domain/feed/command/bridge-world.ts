import fc from "fast-check";
import { expect } from "vitest";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { takesMoney } from "../../../../shared/domain/money/legs.ts";
import { awaitsPlatform } from "../../../../shared/domain/money/transaction.ts";
import type { Balance } from "../../../../shared/domain/records/balance.ts";
import type { MoneyCommand } from "../../../../shared/domain/records/command.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { PlatformOperation } from "./bridge-changes.ts";
import { TwoBooks } from "./bridge-model.ts";
import { compareAt, deltasOf } from "./bridge-snapshots.ts";

const amounts = ["100.00", "40.00", "40.01"] as const;

const steps = [
  ...(["deposit", "withdrawal", "completed", "failed", "returned", "take", "execute", "ack", "report"] as const),
  ...(["deposit", "withdrawal", "failed", "returned", "take", "take", "execute", "execute", "ack"] as const),
  ...(["by_hand", "settle", "time", "time", "requeue", "search"] as const),
] as const;

/** Steps with transfers: between begin and end of one the service may be dead for any time. */
const transferSteps = [
  ...(["transfer", "transfer", "advance", "advance", "advance", "advance", "approved", "cancelled"] as const),
] as const;

/** Steps with trades, and with payouts that a loss comes between. */
const lossSteps = ["loss", "loss", "profit", "by_itself", "payout", "payout", "bounced", "bounced"] as const;

const stepOf = <W extends string>(what: readonly W[]) =>
  fc.record({
    what: fc.constantFrom(...what),
    which: fc.constantFrom(0, 0, 0, 0, 1, 2, 5),
    amount: fc.constantFrom(...amounts),
    direct: fc.boolean(),
    told: fc.boolean(),
  });

/** A step about the money of one account. */
export const step = stepOf(steps);
/** A step about the money of one account that also trades, and may lose more than it has. */
export const lossStep = stepOf([...steps, ...lossSteps]);
/** A step about the money of several accounts, between which there are transfers. */
export const transferStep = stepOf([...steps, ...transferSteps]);
type Step = typeof transferStep extends fc.Arbitrary<infer S> ? S : never;
/** One step of any of them. */
export type AnyStep = Step | (typeof lossStep extends fc.Arbitrary<infer S> ? S : never);

const reason = { code: "bank" };

/** A bridge, a platform and people that are honest but forget, repeat and die, between two books. */
export class World {
  readonly books: TwoBooks;
  /** Commands in the hands of the bridge, as they were taken. */
  private readonly inHand = new Map<string, MoneyCommand>();
  protected readonly executed = new Map<string, PlatformOperation>();
  protected readonly unreported = new Set<PlatformOperation>();

  constructor(books = new TwoBooks()) {
    this.books = books;
    for (const id of [this.books.main, this.books.second]) {
      this.books.report(this.books.operate(1_000_000n, null, id));
    }
    this.books.endow(this.books.wallet, 1_000_000n);
  }

  run({ what, which, amount, direct, told }: Step): void {
    const { books } = this;
    const transactions = [...books.transactions.values()].filter(({ kind }) => kind !== "adjustment");
    const transaction = transactions.at(-1 - (which % Math.max(1, transactions.length)));
    const all = [...books.commands.values()].filter(({ type }) => type === "balance_operation");
    const open = all.filter(isOpen);
    const commands = open.length > 0 && which < 5 ? open : all;
    const command = commands.at(-1 - (which % Math.max(1, commands.length)));
    if (what === "deposit" || what === "withdrawal")
      books.request(what, amount, "0.01", direct ? "completed" : undefined);
    else if (what === "by_hand") this.byHand(amount, direct ? transaction : undefined, told);
    else if (what === "time") this.passTime(direct ? 20 : 700);
    else if (what === "report") this.report(which, told);
    else if (what === "completed" || what === "failed" || what === "returned") {
      if (transaction !== undefined) books.move(transaction.id, { status: what, reason });
    } else if (what === "transfer" || what === "advance" || what === "approved" || what === "cancelled") {
      this.transfer(what, which + (direct ? 3 : 0), amount, told);
    } else if (what === "settle") {
      if (transaction !== undefined) this.settle(transaction, told ? "processing" : "completed");
    } else if (command !== undefined) this.handle(what, command, told);
  }

  private transfer(
    what: "transfer" | "advance" | "approved" | "cancelled",
    which: number,
    amount: string,
    told: boolean,
  ) {
    const { main, second, wallet } = this.books;
    const pairs = [
      [main, wallet],
      [wallet, main],
      [main, second],
      [second, main],
      [wallet, second],
      [second, wallet],
    ];
    const [from = main, to = wallet] = pairs[which % pairs.length] ?? [];
    if (what === "transfer") this.books.transfer(from, to, amount, told);
    const outs = [...this.books.transactions.values()].filter(({ kind }) => kind === "transfer_out");
    const out = outs.at(-1 - (which % Math.max(1, outs.length)));
    if (out === undefined || what === "transfer") return;
    if (what === "advance") this.books.advance(out);
    else this.books.move(out.id, { status: what, reason }, "app_01JD0000000000000000000002");
  }

  protected handle(
    what: "take" | "execute" | "ack" | "requeue" | "search",
    command: MoneyCommand,
    told: boolean,
  ): void {
    const { books } = this;
    if (what === "take" && command.type === "balance_operation") {
      const taken = books.take(command.id);
      if (taken !== undefined) this.inHand.set(command.id, taken);
    } else if (what === "execute") this.execute(command.id);
    else if (what === "requeue") books.requeue(command.id);
    else if (what === "search") this.search();
    else this.acknowledge(command.id, told);
  }

  /** The bridge starts nothing after `start_before`, and nothing twice in one attempt. */
  private execute(id: string): void {
    const taken = this.inHand.get(id);
    if (taken === undefined || this.executed.has(attemptOf(taken)) || (taken.start_before ?? "") < this.books.now)
      return;
    const operation = this.books.operate(taken.amount_minor, id, taken.account_id);
    this.executed.set(attemptOf(taken), operation);
    this.unreported.add(operation);
  }

  /** It says what it did, named or not; a refused operation has another outcome, and is not done later. */
  private acknowledge(id: string, refused: boolean): void {
    const taken = this.inHand.get(id);
    if (taken === undefined) return;
    const { attempt } = taken;
    const operation = this.executed.get(attemptOf(taken));
    if (operation !== undefined) {
      const named = refused ? {} : { operation_id: operation.operation_id };
      this.books.acknowledge(id, { attempt, status: "done", ...named });
    } else {
      this.inHand.delete(id);
      this.books.acknowledge(id, { attempt, status: refused ? "failed" : "not_sent" });
    }
  }

  protected search(): void {
    const searches = [...this.books.commands.values()].filter((each) => each.type === "find_operation" && isOpen(each));
    for (const { id, about_id } of searches) {
      const taken = this.books.take(id);
      const found = this.books.ledger.find(({ reference }) => reference === about_id);
      const operation_id = found?.operation_id ?? null;
      if (taken) this.books.acknowledge(id, { attempt: taken.attempt, status: "done", operation_id });
    }
  }

  protected passTime(seconds: number): void {
    this.books.pass(seconds);
    for (const { id } of this.books.commands.values()) this.books.sweep(id);
  }

  /** A person at the platform moves money: that of a transaction that does not move otherwise, or other money. */
  private byHand(amount: string, transaction: Transaction | undefined, takes: boolean): void {
    const minor = BigInt(amount.replace(".", ""));
    const free = transaction !== undefined && !this.isMoved(transaction);
    const operation = free
      ? this.books.operate(forwardOf(transaction), transaction.id, transaction.account_id)
      : this.books.operate(takes ? -minor : minor, null);
    this.unreported.add(operation);
  }

  private isMoved({ id, status, command_id }: Transaction): boolean {
    const command = this.books.commands.get(command_id ?? "");
    return !["pending", "approved", "processing"].includes(status) ||
      command === undefined ||
      command.status !== "waiting"
      ? true
      : this.books.ledger.some(({ reference }) => reference === id || reference === command_id);
  }

  /** A person here looks at the platform and enters what they see there. */
  private settle(transaction: Transaction, released: "processing" | "completed" = "completed"): void {
    const command = this.books.commands.get(transaction.command_id ?? "");
    if (command?.status !== "unknown" || this.mayStillStart(command)) return;
    const found = this.books.ledger.find(({ reference }) => reference === command.id);
    const done = takesMoney(transaction) ? released : "completed";
    const target = command.leg === "reverse" ? transaction.returning?.to : found ? done : "failed";
    if (target === undefined) return;
    const evidence = found === undefined ? { not_found: true as const } : { operation_id: found.operation_id };
    this.books.move(transaction.id, { status: target, reason, ...evidence });
  }

  private mayStillStart({ id }: MoneyCommand): boolean {
    return (this.inHand.get(id)?.start_before ?? "") >= this.books.now;
  }

  private report(which: number, comment: boolean): void {
    const operations = [...this.unreported];
    const operation = operations[which % Math.max(1, operations.length)];
    if (operation === undefined) return;
    if (this.books.report(operation, comment ? "with_comment" : "without_comment") !== "rejected") {
      this.unreported.delete(operation);
    }
  }

  /** Everything that the platform has done arrives, and a person says of what was put aside that it is new money. */
  drain(): void {
    for (const operation of this.unreported) {
      if (this.books.report(operation) !== "rejected" || this.approve(operation)) continue;
      expect(this.books.report(operation, "with_comment", { confirm_new: true })).not.toBe("rejected");
    }
    this.unreported.clear();
  }

  /** Another one approves what an operation waits for; whether it waits for that. */
  private approve({ operation_id }: PlatformOperation): boolean {
    const of = [...this.books.transactions.values()].find(({ set_aside }) => set_aside?.operation_id === operation_id);
    if (of === undefined || !["pending", "approved"].includes(of.status)) return false;
    expect(this.books.move(of.id, { status: "approved" }, "app_01JD0000000000000000000002")).toBeDefined();
    return true;
  }

  /**
   * A snapshot of the platform finds no difference, whatever is on its way: it includes the operations before the first
   * one that has not been booked. One that shows more differs by exactly that.
   */
  compare(planted: bigint): void {
    for (const id of [this.books.main, this.books.second]) {
      expectSame(deltasOf(compareAt(this.books, id, this.included())), []);
      expectSame(deltasOf(compareAt(this.books, id, this.included(), planted)), [planted]);
    }
  }

  /** Number of the last operation before the first one that was not reported. */
  included(): number {
    return Math.min(this.books.ledger.length + 1, ...[...this.unreported].map(({ seq }) => seq)) - 1;
  }

  /** The bridge does all that it can, and the service takes each transfer as far as it goes. */
  finish(): void {
    for (let round = 0; round < 12; round += 1) {
      this.passTime(700);
      this.search();
      for (const { id } of [...this.books.commands.values()].filter(isOpen)) {
        this.handle("take", this.books.command(id), false);
        this.execute(id);
        this.acknowledge(id, false);
      }
      this.drain();
      for (const each of this.books.transactions.values()) this.settle(each);
      for (const out of this.books.transactions.values()) this.books.advance(out);
      this.check();
    }
  }

  /** The books balance at every step: ledger and control accounts, holds, and what counts as pending. */
  check(): void {
    const { all, contra, inTransit, transactions, commands } = this.books;
    const items = [...transactions.values()];
    const lanes = [...commands.values()].flatMap(({ lane, status, account_id }) =>
      lane === "money" && status === "taken" ? [account_id] : [],
    );
    expectSame([new Set(lanes).size], [lanes.length]);
    const outs = items.filter(({ kind }) => kind === "transfer_out");
    const transit = outs.filter(({ status, debited_seq }) => status === "processing" && debited_seq !== undefined);
    expectSame([inTransit], [sumOf(transit.map(({ amount_minor }) => amount_minor))]);
    for (const out of outs) this.checkTransfer(out);
    expectSame([sumOf(all.map(({ balance }) => balance.balance_minor)) + contra], [0n]);
    for (const { account, balance } of all)
      this.checkAccount(
        items.filter((each) => each.account_id === account.id),
        balance,
      );
  }

  private checkAccount(items: readonly Transaction[], balance: Balance): void {
    const isUndecided = ({ status }: Transaction) => status === "pending" || status === "approved";
    const holding = items.filter((each) => takesMoney(each) && (isUndecided(each) || awaitsPlatform(each)));
    const returns = items.filter(({ returning }) => returning?.to === "returned");
    const sum = sumOf([
      ...holding.map(({ amount_minor }) => amount_minor),
      ...returns.map(({ returning_held_minor }) => returning_held_minor ?? 0n),
    ]);
    const open = items.filter((each) => isUndecided(each) || each.status === "processing");
    const { balance_minor, available_minor, held_minor, pending } = balance;
    const aside = this.books.asideMinor(balance.account_id);
    const found = [balance_minor - available_minor, held_minor, pending, balance.aside_minor ?? 0n];
    const held = sum + aside.held;
    expectSame(found, [held, held, open.length + returns.length, aside.counted]);
  }

  /** A transfer is made or not: it is not credited where it is given back, nor completed without its credit. */
  private checkTransfer(out: Transaction): void {
    const into = this.books.transactions.get(out.transfer?.transaction_id ?? "");
    if (out.status === "completed") expect(into?.status).toBe("completed");
    if (out.status === "failed" || out.returning !== undefined) expect(["failed", undefined]).toContain(into?.status);
  }
}

/**
 * Asserts that numbers are equal, one by one. An assertion of Vitest takes longer than the step that is judged, and
 * there are several for each step: it is made where the numbers differ.
 */
export function expectSame(found: readonly (bigint | number)[], wanted: readonly (bigint | number)[]): void {
  const isSame = found.length === wanted.length && found.every((each, at) => Object.is(each, wanted[at]));
  if (!isSame) expect(found).toEqual(wanted);
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, minor) => total + minor, 0n);
}

function attemptOf({ id, attempt }: MoneyCommand): string {
  return `${id} ${attempt}`;
}

function forwardOf(transaction: Transaction): bigint {
  const { amount_minor, fee_minor } = transaction;
  return takesMoney(transaction) ? -amount_minor : amount_minor - fee_minor;
}
