import { describe, expect, it } from "vitest";
import { transferStatus } from "../../../../shared/domain/money/transfers/state.ts";
import { creditTransfer } from "../../../../shared/domain/money/transfers/steps.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { AckCommand } from "../../../../shared/schema/feed/command.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";
import { commandOf, now } from "./bridge-cases.ts";
import { TwoBooks } from "./bridge-model.ts";

const other = "app_01JD0000000000000000000002";
const refused = { code: "bank", message: null };

/** Books with 500.00 on every account, on the platform too. */
function books(): TwoBooks {
  const made = new TwoBooks();
  for (const id of [made.main, made.second]) made.report(made.operate(50_000n, null, id));
  made.endow(made.wallet, 50_000n);
  return made;
}

/** A transfer with the service's own steps. */
class Moving {
  readonly books: TwoBooks;
  readonly id: string;

  constructor(given: TwoBooks, from: string, to: string, approval = false) {
    this.books = given;
    const out = given.transfer(from, to, "100.00", approval);
    if (out === undefined) throw new Error("It was refused.");
    this.id = out.id;
  }

  get out(): Transaction {
    const out = now(this.books, this);
    if (out === undefined) throw new Error("It is gone.");
    return out;
  }

  get into(): Transaction | undefined {
    return now(this.books, { id: this.out.transfer?.transaction_id ?? "" });
  }

  get status(): string {
    return transferStatus(this.out);
  }

  /** The service goes as far as it can by itself. */
  go(): this {
    while (this.books.advance(this.out) !== undefined);
    return this;
  }

  /** The bridge takes the newest command of a leg and says what became of it. */
  end(leg: Transaction | undefined, status: AckCommand["status"], ...minor: bigint[]): this {
    const command = commandOf(this.books, leg ?? this.out);
    const { attempt = 0 } = this.books.take(command.id) ?? {};
    for (const each of minor) this.books.operate(each, command.id, command.account_id);
    this.books.acknowledge(command.id, { attempt, status });
    return this.go();
  }

  get money() {
    const { main, second, wallet } = this.books;
    const minor = (id: string) => this.books.accountOf(id).balance.balance_minor;
    return [minor(main), minor(second), minor(wallet), this.books.inTransit].map(Number);
  }
}

describe("a transfer from a platform to an account of the service", () => {
  it("debits first, and credits in the commit that completes it", () => {
    const given = books();
    const transfer = new Moving(given, given.main, given.wallet);
    expect([transfer.status, transfer.go().status]).toEqual(["pending", "debiting"]);
    expect([transfer.money, given.balance.held_minor]).toEqual([[50_000, 50_000, 50_000, 0], 10_000n]);
    transfer.end(transfer.out, "done", -10_000n);
    expect([transfer.status, transfer.money]).toEqual(["completed", [40_000, 50_000, 60_000, 0]]);
    expect(transfer.into).toMatchObject({ kind: "transfer_in", status: "completed", amount_minor: 10_000n });
    expect(given.balance).toMatchObject({ held_minor: 0n, pending: 0 });
  });

  it("fails when the platform refuses the debit, and nothing was credited", () => {
    const given = books();
    const transfer = new Moving(given, given.main, given.wallet).go();
    transfer.end(transfer.out, "failed");
    expect([transfer.status, transfer.into, transfer.money]).toEqual([
      "failed",
      undefined,
      [50_000, 50_000, 50_000, 0],
    ]);
    expect(given.balance).toMatchObject({ held_minor: 0n, available_minor: 50_000n, pending: 0 });
  });
});

describe("a transfer from an account of the service to a platform", () => {
  it("stands in transit until the platform has credited it", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main).go();
    expect([transfer.status, transfer.money]).toEqual(["crediting", [50_000, 50_000, 40_000, 10_000]]);
    transfer.end(transfer.into, "done", 10_000n);
    expect([transfer.status, transfer.money]).toEqual(["completed", [60_000, 50_000, 40_000, 0]]);
  });

  it("is given back when the platform refuses it, with the reason of the platform", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main).go();
    transfer.end(transfer.into, "failed");
    expect([transfer.status, transfer.money]).toEqual(["failed", [50_000, 50_000, 50_000, 0]]);
    expect([transfer.out.status_reason?.code, transfer.into?.status]).toEqual(["platform_refused", "failed"]);
  });

  it.each(["taken", "unknown"] as const)("is not given back while its credit is %s", (state) => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main).go();
    if (state === "unknown") transfer.end(transfer.into, "unknown");
    else given.take(commandOf(given, transfer.into ?? transfer.out).id);
    const patch = { status: "failed", reason: refused } as const;
    expect([given.move(transfer.id, patch), given.move(transfer.into?.id ?? "", patch)]).toEqual([
      undefined,
      undefined,
    ]);
    expect([transfer.go().status, transfer.money]).toEqual(["crediting", [50_000, 50_000, 40_000, 10_000]]);
  });

  it("is given back by a person who finds that the platform has nothing of an unknown credit", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main).go();
    given.take(commandOf(given, transfer.into ?? transfer.out).id);
    given.pass(61);
    given.sweep(commandOf(given, transfer.into ?? transfer.out).id);
    given.move(transfer.into?.id ?? "", { status: "failed", reason: refused, not_found: true });
    expect([transfer.go().status, transfer.money]).toEqual(["failed", [50_000, 50_000, 50_000, 0]]);
  });

  it("is not credited where its other account was linked to a platform without a source meanwhile", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main);
    given.advance(transfer.out);
    const { source: _none, account, ...money } = given.accountOf(given.main);
    const to = { ...money, account: { ...account, source_id: null } };
    const { account: from } = given.accountOf(given.wallet);
    const credited = creditTransfer(transfer.out, from, to, decisionContext());
    expect(credited).toMatchObject({ ok: false, refusal: { code: "platform_account" } });
  });

  it("is given back when its source ends before the credit is asked for", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main);
    given.advance(transfer.out);
    expect(transfer.money).toEqual([50_000, 50_000, 40_000, 10_000]);
    given.endSource();
    expect([transfer.go().status, transfer.money]).toEqual(["failed", [50_000, 50_000, 50_000, 0]]);
    expect(transfer.out.status_reason?.code).toBe("source_ended");
  });
});

describe("a transfer between two accounts of a platform", () => {
  it("is debited, then credited, and each may be reported before it is acknowledged", () => {
    const given = books();
    const transfer = new Moving(given, given.main, given.second).go();
    for (const leg of [transfer.out, undefined]) {
      const command = commandOf(given, leg ?? transfer.into ?? transfer.out);
      given.take(command.id);
      const operation = given.operate(command.amount_minor, command.id, command.account_id);
      expect(given.report(operation)).toBe("applied");
      given.acknowledge(command.id, { attempt: 1, status: "done", operation_id: operation.operation_id });
      transfer.go();
    }
    expect([transfer.status, transfer.money]).toEqual(["completed", [40_000, 60_000, 50_000, 0]]);
  });

  it("brings the debit back by the opposite command, and asks for a person where that fails", () => {
    const given = books();
    const transfer = new Moving(given, given.main, given.second).go();
    transfer.end(transfer.out, "done", -10_000n).end(transfer.into, "failed");
    expect(commandOf(given, transfer.out)).toMatchObject({ leg: "reverse", amount_minor: 10_000n, status: "waiting" });
    transfer.end(transfer.out, "failed");
    expect([transfer.status, transfer.money]).toEqual(["needs_attention", [40_000, 50_000, 50_000, 10_000]]);
    given.move(transfer.id, { status: "failed", reason: refused });
    transfer.end(transfer.out, "done", 10_000n);
    expect([transfer.status, transfer.money]).toEqual(["failed", [50_000, 50_000, 50_000, 0]]);
    expect(given.platformMinor()).toBe(50_000n);
  });
});

describe("a transfer to another client's account", () => {
  it("begins once another application has approved it, and holds the amount until then", () => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main, true);
    expect([transfer.go().status, transfer.out.status]).toEqual(["pending", "pending"]);
    expect(given.accountOf(given.wallet).balance).toMatchObject({ held_minor: 10_000n, available_minor: 40_000n });
    expect(given.move(transfer.id, { status: "approved" })).toBeUndefined();
    expect(given.move(transfer.id, { status: "approved" }, other)?.status).toBe("approved");
    expect(transfer.go().status).toBe("crediting");
  });

  it("is set aside where its platform debited it before an approval, and goes on once that is given", () => {
    const given = books();
    const transfer = new Moving(given, given.main, given.wallet, true);
    expect(given.report(given.operate(-10_000n, transfer.id))).toBe("rejected");
    expect([transfer.go().status, transfer.money]).toEqual(["pending", [50_000, 50_000, 50_000, 0]]);
    expect(given.accountOf(given.main).balance).toMatchObject({ held_minor: 10_000n, pending: 1 });
    expect(given.move(transfer.id, { status: "approved" })).toBeUndefined();
    expect(given.move(transfer.id, { status: "approved" }, other)).toMatchObject({ status: "processing" });
    expect([transfer.out.command_id, transfer.go().status]).toEqual([undefined, "completed"]);
    expect(transfer.money).toEqual([40_000, 50_000, 60_000, 0]);
  });

  it.each(["rejected", "cancelled"] as const)("is released when it is %s", (status) => {
    const given = books();
    const transfer = new Moving(given, given.wallet, given.main, true);
    given.move(transfer.id, { status, reason: refused }, other);
    expect([transfer.go().status, transfer.money]).toEqual(["failed", [50_000, 50_000, 50_000, 0]]);
    expect(given.accountOf(given.wallet).balance).toMatchObject({ held_minor: 0n, pending: 0 });
  });
});
