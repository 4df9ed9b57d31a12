import { describe, expect, it } from "vitest";
import { now, taken } from "./bridge-cases.ts";
import { TwoBooks } from "./bridge-model.ts";

describe("a claim of an operation that its source has not reported", () => {
  it("is released when the operation has another amount: the operation stands on its own", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(books.report(books.operate(7_000n, null))).toBe("applied");
    expect(now(books, { id })?.platform_operations).toEqual([]);
    expect(books.balance.balance_minor).toBe(17_000n);
    expect(books.report(books.operate(10_000n, command.id))).toBe("applied");
    expect(books.balance.balance_minor).toBe(books.platformMinor());
  });

  it("is confirmed by an operation whose comment names nothing here, as one that the platform cut", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(books.report(books.operate(10_000n, command.id.slice(0, 20)))).toBe("applied");
    expect(now(books, { id })?.platform_operations).toMatchObject([{ operation_id: "B-1", confirmed: true }]);
    expect(books.balance.balance_minor).toBe(books.platformMinor());
  });

  it.each(["an acknowledgement", "a person"] as const)(
    "of a wrong operation by %s is replaced by the right one, which is not booked in addition",
    (by) => {
      const books = new TwoBooks();
      const { id, command } = taken(books, "deposit", "100.00");
      if (by === "an acknowledgement") {
        books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-11" });
      } else {
        books.acknowledge(command.id, { attempt: 1, status: "unknown" });
        books.move(id, { status: "completed", operation_id: "B-11" });
      }
      const operation = books.operate(10_000n, command.id);
      expect(books.report(operation, "without_comment")).toBe("rejected");
      expect(books.balance.balance_minor).toBe(10_000n);
      expect(books.report(operation, "without_comment", { transaction_id: id })).toBe("applied");
      expect(now(books, { id })?.platform_operations).toMatchObject([{ operation_id: "B-1", confirmed: true }]);
      expect(books.report({ ...operation, operation_id: "B-11", minor: 500n, reference: null })).toBe("applied");
      expect([books.balance.balance_minor, books.additional]).toEqual([10_500n, 0]);
    },
  );

  it("makes way for the operation that names its command", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-11" });
    expect(books.report(books.operate(10_000n, command.id))).toBe("applied");
    expect(now(books, { id })?.platform_operations).toMatchObject([{ operation_id: "B-1", confirmed: true }]);
    expect([books.balance.balance_minor, books.additional]).toEqual([10_000n, 0]);
  });

  it("is refused where the operation is other money already", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    const operation = books.operate(10_000n, command.id);
    books.report(operation, "without_comment", { confirm_new: true });
    expect(books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-1" })).toBeUndefined();
    expect(now(books, { id })?.status).toBe("processing");
    expect(books.balance.balance_minor).toBe(10_000n);
  });
});
