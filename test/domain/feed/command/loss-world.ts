import { expect } from "vitest";
import { isLeftOut } from "../../../../shared/domain/feed/drift/compare.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import { limits } from "../../../../shared/limits.ts";
import { TradedBooks } from "./bridge-losses.ts";
import { compareAt, deltasOf, momentAt } from "./bridge-snapshots.ts";
import { type AnyStep, expectSame, World } from "./bridge-world.ts";

/** A world whose account trades on its platform: this service decides what of a loss its client owes. */
export class LossWorld extends World {
  readonly traded: TradedBooks;

  constructor() {
    const books = new TradedBooks();
    super(books);
    this.traded = books;
  }

  override run(step: AnyStep): void {
    const { what, amount, direct, told } = step;
    const { traded } = this;
    const minor = BigInt(amount.replace(".", ""));
    const there = traded.balance.balance_minor > 0n ? traded.balance.balance_minor : 0n;
    // An operation that names an older settlement may be reported before the next snapshot is compared.
    const most = limits.commands.compared_settlements;
    if (what === "loss" && traded.settlements.length >= most) return;
    if (what === "loss") traded.trade(direct ? -there - minor : -minor);
    else if (what === "profit") traded.trade(minor);
    else if (what === "payout") this.carryOut(traded.request("withdrawal", "40.00", "0.01", "completed"), told);
    else if (what === "bounced") this.bounce(told);
    else if (what === "by_itself") this.correctItself(direct, told);
    else super.run({ ...step, what });
  }

  /** The bank sends a payout back that the platform has released. */
  private bounce(told: boolean): void {
    const released = [...this.traded.transactions.values()].filter(
      ({ kind, status, platform_done_at: at }) => kind === "withdrawal" && status === "processing" && at !== undefined,
    );
    const reason = { code: "bank" };
    const payout = released[0] && this.traded.move(released[0].id, { status: "failed", reason });
    this.carryOut(payout, told);
  }

  /** The bridge does at once what the newest command of a transaction asks for, and may say so. */
  private carryOut(transaction: Transaction | undefined, told: boolean): void {
    const command = this.traded.commands.get(transaction?.command_id ?? "");
    if (command === undefined) return;
    const steps = told ? (["take", "execute", "ack"] as const) : (["take", "execute"] as const);
    for (const what of steps) this.handle(what, command, false);
  }

  /** The platform makes a correction by itself; a person says so at once, or says later that it is new money. */
  private correctItself(byCommand: boolean, told: boolean): void {
    const [command] = this.traded.settlements.filter(({ feed_seq }) => feed_seq === undefined);
    if (command === undefined) return;
    const operation = this.traded.operate(command.amount_minor, null, command.account_id);
    const entries = this.traded.entries.length;
    expect(this.traded.report(operation)).toBe("rejected");
    if (!told) {
      this.unreported.add(operation);
      return;
    }
    const said = byCommand ? { command_id: command.id } : { transaction_id: command.transaction_id ?? "" };
    const named = byCommand || this.traded.transactions.get(said.transaction_id ?? "")?.command_id === command.id;
    const settled = named && this.traded.report(operation, "with_comment", said) === "applied";
    expect([settled, this.traded.entries.length]).toEqual([named, entries]);
    if (!settled) this.unreported.add(operation);
  }

  /** A settlement that a platform refused to follow is a difference, until a person repeats it there. */
  override compare(planted: bigint): void {
    for (const id of [this.books.main, this.books.second]) {
      const moment = momentAt(this.books, this.included());
      const refused = -this.traded.unfollowedMinor(id, (effect) => !isLeftOut(effect, moment));
      const found = (more?: bigint) => deltasOf(compareAt(this.books, id, this.included(), more));
      expectSame(found(), refused === 0n ? [] : [refused]);
      expectSame(found(planted), refused + planted === 0n ? [] : [refused + planted]);
    }
  }

  /** As any world ends; a person hands out again what was looked for in vain. */
  override finish(): void {
    super.finish();
    for (const { id } of this.traded.settlements) this.traded.requeue(id);
    super.finish();
  }
}
