import { describe, expect, it } from "vitest";
import { commandOf, funded, now } from "./bridge-cases.ts";
import type { TwoBooks } from "./bridge-model.ts";

/** Credit, the numbers of its lots, balance, and transactions that are not final. */
const credit = ({ balance: { credit_minor, credit_lots = [], balance_minor, pending } }: TwoBooks) => [
  credit_minor,
  credit_lots.length,
  balance_minor,
  pending,
];

/** Credit that is asked of the platform of a linked account, which has 500.00. */
function asked(books: TwoBooks, direction: "in" | "out", amount: string) {
  const id = books.credit(direction, amount)?.id ?? "";
  expect(books.move(id, { status: "completed" })?.status).toBe("processing");
  return { id, command: commandOf(books, { id }) };
}

/** The same with 50.00 of credit, which the platform has granted. */
function granted() {
  const books = funded();
  const { id, command } = asked(books, "in", "50.00");
  books.take(command.id);
  books.report(books.operate(5_000n, command.id, books.main, true));
  return { books, id, command };
}

describe("credit of an account that a platform keeps", () => {
  it.each(["item", "acknowledgement"] as const)(
    "is asked of the platform, and booked once by its %s first",
    (first) => {
      const books = funded();
      const { id, command } = asked(books, "in", "50.00");
      expect([command.type, command.lane, command.amount_minor]).toEqual(["credit_operation", "money", 5_000n]);
      expect(credit(books)).toEqual([0n, 0, 50_000n, 1]);
      books.take(command.id);
      const operation = books.operate(5_000n, command.id, books.main, true);
      const ack = () =>
        books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: operation.operation_id });
      if (first === "acknowledgement") ack();
      expect(books.report(operation)).toBe("applied");
      ack();
      expect(books.report(operation)).not.toBe("applied");
      expect(now(books, { id })).toMatchObject({
        status: "completed",
        platform_operations: [{ leg: "forward", confirmed: true }],
      });
      expect(credit(books)).toEqual([5_000n, 1, 50_000n, 0]);
    },
  );

  it("is taken back by a command with a negative amount, and leaves the lot that it came from", () => {
    const { books } = granted();
    const { id, command } = asked(books, "out", "20.00");
    expect([command.type, command.amount_minor]).toEqual(["credit_operation", -2_000n]);
    books.take(command.id);
    const operation = books.operate(-2_000n, command.id, books.main, true);
    books.acknowledge(command.id, { attempt: 1, status: "done" });
    expect(books.report(operation)).toBe("applied");
    expect(now(books, { id })?.status).toBe("completed");
    expect(credit(books)).toEqual([3_000n, 1, 50_000n, 0]);
  });

  it("is taken as far as it is there where it was used up before the platform answered", () => {
    const { books } = granted();
    const { command } = asked(books, "out", "50.00");
    books.report(books.operate(-4_000n, null, books.main, true));
    books.take(command.id);
    books.acknowledge(command.id, { attempt: 1, status: "done" });
    expect(credit(books)).toEqual([0n, 0, 50_000n, 0]);
  });

  it("fails when the platform refuses it, and is cancelled with its command while that waits", () => {
    const books = funded();
    const refused = asked(books, "in", "50.00");
    books.take(refused.command.id);
    books.acknowledge(refused.command.id, { attempt: 1, status: "failed" });
    expect([now(books, refused)?.status, credit(books)]).toEqual(["failed", [0n, 0, 50_000n, 0]]);
    const waiting = asked(books, "in", "50.00");
    const reason = { code: "bonus_ended", message: null };
    expect(books.move(waiting.id, { status: "failed", reason })?.status).toBe("failed");
    expect([commandOf(books, waiting).status, credit(books)]).toEqual(["cancelled", [0n, 0, 50_000n, 0]]);
  });

  it("is not joined with money of the same amount that names its command", () => {
    const books = funded();
    const { id, command } = asked(books, "in", "50.00");
    books.take(command.id);
    expect(books.report(books.operate(5_000n, command.id))).toBe("applied");
    expect([now(books, { id })?.status, credit(books)]).toEqual(["processing", [0n, 0, 55_000n, 1]]);
    expect(books.additional).toBe(1);
  });

  it("without a reference is put aside, and is that of the transaction when a person says so", () => {
    const books = funded();
    const { id } = asked(books, "in", "50.00");
    const operation = books.operate(5_000n, null, books.main, true);
    expect(books.report(operation)).toBe("rejected");
    expect(books.report(operation, "with_comment", { transaction_id: id })).toBe("applied");
    expect([now(books, { id })?.status, credit(books)]).toEqual(["completed", [5_000n, 1, 50_000n, 0]]);
  });

  it("has no end of its own, is not more than there is, and is not asked of a source that has ended", () => {
    const { books } = granted();
    expect(books.credit("in", "1.00", { expires_at: "2030-01-01T00:00:00.000Z" })).toBeUndefined();
    const id = books.credit("out", "50.01")?.id ?? "";
    expect(books.move(id, { status: "completed" })).toBeUndefined();
    books.endSource();
    expect(books.credit("in", "1.00")).toBeUndefined();
  });
});
