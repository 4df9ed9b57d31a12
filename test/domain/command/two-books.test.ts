import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Command, isOpen } from "../../../shared/domain/command/command.ts";
import type { Transaction } from "../../../shared/domain/transaction.ts";
import { awaitsPlatform } from "../../../shared/domain/transaction.ts";
import { type PlatformOperation, TwoBooks } from "./bridge-model.ts";

const amounts = ["100.00", "40.00", "40.01"] as const;

const step = fc.record({
  what: fc.constantFrom(
    ...(["deposit", "withdrawal", "completed", "failed", "returned", "take", "execute", "ack", "report"] as const),
    ...(["deposit", "withdrawal", "failed", "returned", "take", "take", "execute", "execute", "ack"] as const),
    ...(["by_hand", "settle", "time", "time", "requeue", "search"] as const),
  ),
  which: fc.constantFrom(0, 0, 0, 0, 1, 2, 5),
  amount: fc.constantFrom(...amounts),
  direct: fc.boolean(),
  told: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const reason = { code: "bank" };

/** A bridge, a platform and people that are honest but forget, repeat and die, between two books. */
class World {
  readonly books = new TwoBooks();
  /** Commands in the hands of the bridge, as they were taken. */
  private readonly inHand = new Map<string, Command>();
  private readonly executed = new Map<string, PlatformOperation>();
  private readonly unreported = new Set<PlatformOperation>();

  constructor() {
    const opening = this.books.operate(1_000_000n, null);
    this.books.report(opening);
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
    } else if (what === "settle") {
      if (transaction !== undefined) this.settle(transaction);
    } else if (command !== undefined) this.handle(what, command, told);
  }

  private handle(what: "take" | "execute" | "ack" | "requeue" | "search", command: Command, told: boolean): void {
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
    const operation = this.books.operate(taken.amount_minor, id);
    this.executed.set(attemptOf(taken), operation);
    this.unreported.add(operation);
  }

  /** What it did it says, named or not; what it did not do has another outcome, and it does that no more. */
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

  private search(): void {
    const searches = [...this.books.commands.values()].filter((each) => each.type === "find_operation" && isOpen(each));
    for (const { id, about_id } of searches) {
      const taken = this.books.take(id);
      const found = this.books.ledger.find(({ reference }) => reference === about_id);
      const operation_id = found?.operation_id ?? null;
      if (taken) this.books.acknowledge(id, { attempt: taken.attempt, status: "done", operation_id });
    }
  }

  private passTime(seconds: number): void {
    this.books.pass(seconds);
    for (const { id } of this.books.commands.values()) this.books.sweep(id);
  }

  /** A person at the platform moves money: that of a transaction that does not move otherwise, or other money. */
  private byHand(amount: string, transaction: Transaction | undefined, takes: boolean): void {
    const minor = BigInt(amount.replace(".", ""));
    const free = transaction !== undefined && !this.isMoved(transaction);
    const operation = free
      ? this.books.operate(forwardOf(transaction), transaction.id)
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
  private settle(transaction: Transaction): void {
    const command = this.books.commands.get(transaction.command_id ?? "");
    if (command?.status !== "unknown" || this.mayStillStart(command)) return;
    const found = this.books.ledger.find(({ reference }) => reference === command.id);
    const target = command.leg === "reverse" ? transaction.returning?.to : found ? "completed" : "failed";
    if (target === undefined) return;
    const evidence = found === undefined ? { not_found: true as const } : { operation_id: found.operation_id };
    this.books.move(transaction.id, { status: target, reason, ...evidence });
  }

  private mayStillStart({ id }: Command): boolean {
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
      if (this.books.report(operation) !== "rejected") continue;
      expect(this.books.report(operation, "with_comment", { confirm_new: true })).not.toBe("rejected");
    }
    this.unreported.clear();
  }

  /** The books balance at every step: ledger and control accounts, holds, and what counts as pending. */
  check(): void {
    const { balance, contra, transactions } = this.books;
    const all = [...transactions.values()];
    const isUndecided = ({ status }: Transaction) => status === "pending" || status === "approved";
    const holding = all.filter((each) => each.kind === "withdrawal" && (isUndecided(each) || awaitsPlatform(each)));
    const returns = all.filter(({ returning }) => returning?.to === "returned");
    const held = [
      ...holding.map(({ amount_minor }) => amount_minor),
      ...returns.map(({ returning_held_minor }) => returning_held_minor ?? 0n),
    ];
    const open = all.filter((each) => isUndecided(each) || each.status === "processing");
    const taken = [...this.books.commands.values()].filter(
      ({ lane, status }) => lane === "money" && status === "taken",
    );
    const { balance_minor, available_minor, held_minor, pending } = balance;
    const found = [balance_minor + contra, balance_minor - available_minor, held_minor, pending];
    const sum = held.reduce((total, minor) => total + minor, 0n);
    expect([...found, taken.length > 1]).toEqual([0n, sum, sum, open.length + returns.length, false]);
  }
}

function attemptOf({ id, attempt }: Command): string {
  return `${id} ${attempt}`;
}

function forwardOf({ kind, amount_minor, fee_minor }: Transaction): bigint {
  return kind === "deposit" ? amount_minor - fee_minor : -amount_minor;
}

describe("two books, with commands and items between them that are lost, repeated and late", () => {
  it("are equal once everything has arrived: no money is booked twice and none is lost", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 40, maxLength: 80, size: "max" }), (program) => {
        const world = new World();
        for (const each of program) {
          world.run(each);
          world.check();
        }
        world.drain();
        world.check();
        expect(world.books.balance.balance_minor).toBe(world.books.platformMinor);
        for (const { status, outcome } of world.books.transactions.values()) seen.add(`${status} ${outcome ?? ""}`);
        for (const { status, leg } of world.books.commands.values()) seen.add(`command ${leg} ${status}`);
        if (world.books.additional > 0) seen.add("additional");
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 300), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(reached));
  });
});

/** What the programs reach, so that they prove something. */
const reached = [
  ...["completed ", "failed ", "processing ", "processing unknown", "processing needs_attention", "returned "],
  ...["command forward done", "command forward failed", "command forward cancelled", "command forward unknown"],
  ...["command reverse done", "command reverse failed", "command reverse unknown", "completed needs_attention"],
];
