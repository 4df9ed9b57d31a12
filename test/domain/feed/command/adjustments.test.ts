import { describe, expect, it } from "vitest";
import { commandOf, funded, money, now } from "./bridge-cases.ts";

const other = "app_01JD0000000000000000000002";
const reason = { code: "bank", message: null };

/** An adjustment of a linked account with 500.00 that is approved, and asked for. */
function asked(amount: string) {
  const books = funded();
  const id = books.adjustment(amount)?.id ?? "";
  expect(books.move(id, { status: "approved" })).toBeUndefined();
  expect(books.move(id, { status: "approved" }, other)?.status).toBe("approved");
  expect(books.move(id, { status: "completed" })?.status).toBe("processing");
  return { books, id };
}

describe("an adjustment of an account that a platform keeps", () => {
  it.each([
    ["25.00", 52_500n],
    ["-25.00", 47_500n],
  ])("of %s is asked of the platform, and booked when the platform has made it", (amount, balance) => {
    const { books, id } = asked(amount);
    const command = commandOf(books, { id });
    expect([command.amount_minor, books.balance.balance_minor]).toEqual([balance - 50_000n, 50_000n]);
    books.take(command.id);
    const operation = books.operate(command.amount_minor, command.id);
    books.acknowledge(command.id, { attempt: 1, status: "done" });
    expect(now(books, { id })).toMatchObject({ status: "completed", balance_after_minor: balance });
    expect(books.report(operation)).toBe("applied");
    expect(money(books)).toEqual([balance, 0n, balance, 0]);
    expect(books.platformMinor()).toBe(balance);
  });

  it("fails when the platform refuses it, and nothing is booked", () => {
    const { books, id } = asked("-25.00");
    const command = commandOf(books, { id });
    books.take(command.id);
    books.acknowledge(command.id, { attempt: 1, status: "failed" });
    expect([now(books, { id })?.status, money(books)]).toEqual(["failed", [50_000n, 0n, 50_000n, 0]]);
  });

  it("is cancelled by a person while its command waits, or settled by hand with the operation", () => {
    const { books, id } = asked("25.00");
    expect(books.move(id, { status: "failed", reason })?.status).toBe("failed");
    expect(commandOf(books, { id }).status).toBe("cancelled");
    const second = asked("25.00");
    const settled = second.books.move(second.id, { status: "completed", operation_id: "B-7" });
    expect([settled?.status, second.books.balance.balance_minor]).toEqual(["completed", 52_500n]);
  });

  it("is not asked for when the account does not cover it, nor when its source has ended", () => {
    const books = funded();
    const id = books.adjustment("-500.01")?.id ?? "";
    books.move(id, { status: "approved" }, other);
    expect(books.move(id, { status: "completed" })).toBeUndefined();
    books.endSource();
    expect(books.adjustment("1.00")).toBeUndefined();
  });

  it("takes the same amount that the platform reports without a reference for a possible duplicate", () => {
    const { books, id } = asked("25.00");
    const operation = books.operate(2_500n, null);
    expect(books.report(operation)).toBe("rejected");
    expect(books.report(operation, "with_comment", { transaction_id: id })).toBe("applied");
    expect([now(books, { id })?.status, books.balance.balance_minor]).toEqual(["completed", 52_500n]);
  });
});
