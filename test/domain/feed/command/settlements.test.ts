import { describe, expect, it } from "vitest";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { PlatformOperation } from "./bridge-changes.ts";
import { TradedBooks } from "./bridge-losses.ts";
import { compareAt, deltasOf } from "./bridge-snapshots.ts";

const other = "app_01JD0000000000000000000002";

/** Books of an account that has lost 1,400.00 of 1,000.00 on its platform. */
function ruined(fields: { readonly four_eyes?: boolean } = {}, authoritative?: "platform" | "service") {
  const books = new TradedBooks(fields, authoritative);
  books.report(books.operate(100_000n, null));
  books.trade(-140_000n);
  return books;
}

const correctionsOf = (books: TradedBooks): readonly Transaction[] =>
  [...books.transactions.values()].filter(({ kind }) => kind === "negative_balance_correction");

/** Balances here and there, and the number of corrections. */
const standing = (books: TradedBooks) => [
  books.balance.balance_minor,
  books.platformMinor(),
  correctionsOf(books).length,
];
const corrected = [0n, 0n, 1] as const;
/** Differences of a snapshot of now. */
const deltas = (books: TradedBooks) => deltasOf(compareAt(books, books.main, books.ledger.length));

/** The platform does what the newest settlement asks for. */
const carryOut = (books: TradedBooks): PlatformOperation => {
  const { amount_minor, id, account_id, type } = books.settlement;
  return books.operate(amount_minor, id, account_id, type === "credit_operation" ? true : undefined);
};
const done = (books: TradedBooks, operation_id?: string) =>
  books.acknowledge(books.settlement.id, { attempt: 1, status: "done", ...(operation_id && { operation_id }) });

describe("a loss beyond the money of a linked account that the service decides", () => {
  it("is not commanded where the platform decides: nothing is corrected, and all of it is owed", () => {
    const books = ruined({}, "platform");
    expect([standing(books), books.settlements]).toEqual([[-40_000n, -40_000n, 0], []]);
  });

  it("is not commanded once the source has ended: the correction is for a person", () => {
    const books = new TradedBooks();
    books.report(books.operate(100_000n, null));
    books.endSource();
    Object.assign(books.source, { ended_at: books.now });
    books.trade(-140_000n);
    expect([standing(books), books.settlements]).toEqual([[0n, -40_000n, 1], []]);
    expect(deltas(books)).toEqual([-40_000n]);
  });

  it("is corrected here at once, with one command of the same amount that names the correction", () => {
    const books = ruined();
    const [correction] = correctionsOf(books);
    expect(standing(books)).toEqual([0n, -40_000n, 1]);
    expect(books.settlements).toMatchObject([
      {
        ...{ type: "balance_operation", lane: "money", status: "waiting", amount_minor: 40_000n },
        ...{ transaction_id: correction?.id, drift_id: null, leg: null, platform_login: "50012345" },
      },
    ]);
    expect(correction).toMatchObject({ command_id: books.settlement.id, status: "completed", amount_minor: 40_000n });
    expect(books.entries.at(-1)).toMatchObject({ command_id: books.settlement.id, settlement: "correction" });
  });

  it("shows no drift while the command waits, is taken, is unknown or done, and one of its amount once refused", () => {
    const books = ruined();
    expect(deltas(books)).toEqual([]);
    books.pass(3600);
    expect(deltas(books)).toEqual([]);
    books.taken(books.settlement);
    expect(deltas(books)).toEqual([]);
    books.pass(61);
    books.sweep(books.settlement.id);
    expect([books.settlement.status, deltas(books)]).toEqual(["unknown", []]);

    const refused = ruined();
    refused.taken(refused.settlement);
    refused.acknowledge(refused.settlement.id, { attempt: 1, status: "failed" });
    expect([refused.settlement.status, standing(refused), deltas(refused)]).toEqual([
      "failed",
      [0n, -40_000n, 1],
      [-40_000n],
    ]);
  });

  it("is compared at the number of the operation, and a false acknowledgement is found after five minutes", () => {
    const books = ruined();
    books.taken(books.settlement);
    books.pass(3600);
    books.report(carryOut(books));
    const { length } = books.ledger;
    expect(deltasOf(compareAt(books, books.main, length))).toEqual([]);
    expect(deltasOf(compareAt(books, books.main, length - 1))).toEqual([]);

    const lied = ruined();
    lied.taken(lied.settlement);
    done(lied, "B-none");
    lied.pass(290);
    expect(deltas(lied)).toEqual([]);
    lied.pass(20);
    expect(deltas(lied)).toEqual([-40_000n]);
  });

  it("is the only booking, in whatever order acknowledgement, item and their repetitions come", () => {
    const ack = (books: TradedBooks, operation: PlatformOperation) => done(books, operation.operation_id);
    const unnamed = (books: TradedBooks) => done(books);
    const item = (books: TradedBooks, operation: PlatformOperation) => books.report(operation);
    const late = (books: TradedBooks) => books.acknowledge(books.settlement.id, { attempt: 1, status: "failed" });
    const orders = [
      [ack, item],
      [item, ack],
      [ack, ack, item, item],
      [unnamed, item],
      [item, late, ack],
      [ack, late, item],
    ];
    for (const order of orders) {
      const books = ruined();
      books.taken(books.settlement);
      const operation = carryOut(books);
      const before = books.entries.length;
      for (const step of order) step(books, operation);
      expect([standing(books), books.entries.length]).toEqual([corrected, before]);
      expect(books.settlement).toMatchObject({ status: "done", operation_id: operation.operation_id, feed_seq: "3" });
      expect([books.report(operation), books.take(books.settlement.id)]).toEqual(["duplicate", undefined]);
    }
  });

  it.each(["waiting", "taken", "unknown", "done"] as const)(
    "has the platform's own correction put aside while its command is %s, until a person names either of them",
    (status) => {
      for (const name of ["transaction", "command"] as const) {
        const books = ruined();
        const { id, transaction_id } = books.settlement;
        if (status !== "waiting") books.taken({ id });
        if (status === "unknown") books.acknowledge(id, { attempt: 1, status: "unknown" });
        if (status === "done") done(books);
        const own = books.operate(40_000n, null);
        expect([books.report(own), books.refusal, books.settlement.status]).toEqual([
          ...["rejected", "possible_duplicate", status],
        ]);
        const said = name === "transaction" ? { transaction_id: transaction_id ?? "" } : { command_id: id };
        expect(books.report(own, "with_comment", said)).toBe("applied");
        expect([standing(books), deltas(books)]).toEqual([corrected, []]);
        // It is not handed out any more, so the platform gets it once.
        expect([books.settlement.status, books.take(id), books.requeue(id, other)]).toEqual([
          ...["done", undefined, undefined],
        ]);
      }
    },
  );

  it("is joined with an operation of the platform that names the correction itself", () => {
    const books = ruined();
    const { transaction_id } = books.settlement;
    expect(books.report(books.operate(40_000n, transaction_id))).toBe("applied");
    expect([standing(books), books.settlement.status]).toEqual([corrected, "done"]);
  });

  it("whose command was refused still tells the operation of a person there from new money", () => {
    const books = ruined();
    books.taken(books.settlement);
    books.acknowledge(books.settlement.id, { attempt: 1, status: "failed" });
    const own = books.operate(40_000n, null);
    expect([books.report(own), books.refusal]).toEqual(["rejected", "possible_duplicate"]);
    const said = { transaction_id: books.settlement.transaction_id ?? "" };
    expect(books.report(own, "with_comment", said)).toBe("applied");
    expect([standing(books), deltas(books), books.settlement.status]).toEqual([corrected, [], "failed"]);
    // A second one of that amount is new money: nothing waits for it.
    const more = books.operate(40_000n, null);
    expect([books.report(more), standing(books)]).toEqual(["applied", [40_000n, 40_000n, 1]]);
  });

  it("is booked in addition where a second operation names its command, or one of another amount", () => {
    const books = ruined();
    books.taken(books.settlement);
    books.report(carryOut(books));
    books.report(carryOut(books));
    expect([standing(books), books.additional]).toEqual([[40_000n, 40_000n, 1], 1]);

    const wrong = ruined();
    wrong.taken(wrong.settlement);
    wrong.report(wrong.operate(39_999n, wrong.settlement.id));
    expect([standing(wrong), wrong.additional, wrong.settlement.status]).toEqual([[39_999n, -1n, 1], 1, "taken"]);
  });

  it("takes an operation that was only acknowledged back where the item is other money", () => {
    const books = ruined();
    books.taken(books.settlement);
    const deposit = books.operate(2500n, null);
    done(books, deposit.operation_id);
    expect(books.report(deposit)).toBe("applied");
    expect(books.settlement).toMatchObject({ status: "done", operation_id: null });
    expect(books.report(carryOut(books))).toBe("applied");
    expect([standing(books), books.settlement.operation_id]).toEqual([[2500n, 2500n, 1], "B-4"]);
  });

  it("is confirmed by its item after an acknowledgement, also where that names the command or the correction", () => {
    for (const reference of ["command", "transaction"] as const) {
      const books = ruined();
      const { id, transaction_id } = books.settlement;
      books.taken({ id });
      const operation = books.operate(40_000n, reference === "command" ? id : transaction_id);
      done(books, operation.operation_id);
      expect([books.report(operation), standing(books)]).toEqual(["applied", corrected]);
    }
  });

  it("is handed out again only by another person, once its operation was looked for in vain", () => {
    const books = ruined({ four_eyes: true });
    const { id } = books.settlement;
    books.taken({ id });
    books.pass(61);
    books.sweep(id);
    expect([books.requeue(id, other), books.refusal]).toEqual([undefined, "illegal_transition"]);
    const search = [...books.commands.values()].find(({ about_id }) => about_id === id);
    if (search === undefined) throw new Error("Its operation is not looked for.");
    books.taken(search);
    books.acknowledge(search.id, { attempt: 1, status: "done", operation_id: null });
    books.pass(601);
    expect([books.requeue(id), books.refusal]).toEqual([undefined, "four_eyes_required"]);
    expect(books.requeue(id, other)?.status).toBe("waiting");
    books.taken({ id });
    expect([books.report(carryOut(books)), standing(books)]).toEqual(["applied", corrected]);
  });

  it("is not booked again by a person who settles its command by hand", () => {
    const books = ruined();
    const { id, transaction_id } = books.settlement;
    const entries = books.entries.length;
    const settle = () => [
      books.move(transaction_id ?? "", { operation_id: "B-9" }),
      books.refusal,
      books.move(transaction_id ?? "", { not_found: true }),
      books.refusal,
    ];
    const refused = [undefined, "illegal_transition", undefined, "illegal_transition"];
    expect(settle()).toEqual(refused);
    books.taken({ id });
    books.acknowledge(id, { attempt: 1, status: "unknown" });
    expect([settle(), books.entries.length]).toEqual([refused, entries]);
  });

  it("waits on where nothing was sent, and is cancelled where its source has ended", () => {
    const books = ruined();
    books.taken(books.settlement);
    books.acknowledge(books.settlement.id, { attempt: 1, status: "not_sent" });
    expect([books.settlement.status, deltas(books)]).toEqual(["waiting", []]);
    books.endSource();
    books.sweep(books.settlement.id);
    expect([books.settlement.status, deltas(books)]).toEqual(["cancelled", [-40_000n]]);
  });
});

describe("what pays, or repays, a loss of a linked account", () => {
  it("is credit too: it leaves the credit of the platform and arrives in its balance, each by a command", () => {
    const books = new TradedBooks();
    books.report(books.operate(100_000n, null));
    books.report(books.operate(15_000n, null, books.main, true));
    books.trade(-140_000n);
    expect(books.settlements.map(({ type, amount_minor }) => [type, amount_minor])).toEqual([
      ["credit_operation", -15_000n],
      ["balance_operation", 15_000n],
      ["balance_operation", 25_000n],
    ]);
    expect([standing(books), books.balance.credit_minor, deltas(books)]).toEqual([[0n, -40_000n, 1], 0n, []]);
    for (const { id, type, amount_minor } of books.settlements) {
      books.taken({ id });
      expect(deltas(books)).toEqual([]);
      const credits = type === "credit_operation" ? true : undefined;
      expect(books.report(books.operate(amount_minor, id, books.main, credits))).toBe("applied");
      expect(deltas(books)).toEqual([]);
    }
    expect([standing(books), books.balance.credit_minor]).toEqual([corrected, 0n]);
  });

  it("is a payout that fails after the loss: what it repays is commanded, and both books end as without it", () => {
    const books = new TradedBooks();
    books.report(books.operate(200_000n, null));
    const payout = books.request("withdrawal", "1800.00", "0", "completed");
    if (payout === undefined) throw new Error("It was refused.");
    const moved = (command_id: string | undefined, minor: bigint) => {
      books.taken({ id: command_id ?? "" });
      expect(books.report(books.operate(minor, command_id ?? null))).toBe("applied");
    };
    moved(books.transactions.get(payout.id)?.command_id, -180_000n);
    books.trade(-50_100n);
    expect(standing(books)).toEqual([0n, -30_100n, 1]);
    books.move(payout.id, { status: "failed", reason: { code: "bank" } });
    moved(books.transactions.get(payout.id)?.command_id, 180_000n);
    expect(books.settlements.map(({ amount_minor }) => amount_minor)).toEqual([30_100n, -30_100n]);
    expect([books.balance.balance_minor, deltas(books)]).toEqual([149_900n, []]);
    for (const { id, amount_minor } of books.settlements) moved(id, amount_minor);
    expect([standing(books), deltas(books)]).toEqual([[149_900n, 149_900n, 1], []]);
  });
});
