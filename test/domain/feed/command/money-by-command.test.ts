import { describe, expect, it } from "vitest";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { commandOf, funded, money, now, taken } from "./bridge-cases.ts";
import { TwoBooks } from "./bridge-model.ts";

const reason = { code: "bank" };

describe("a deposit on an account that a platform moves the money of", () => {
  it("is in processing with a command of its net amount, and books nothing until the platform has done it", () => {
    const books = new TwoBooks();
    const pending = books.request("deposit", "100.00", "3.00");
    expect(books.move(pending?.id ?? "", { status: "completed" })?.status).toBe("processing");
    const command = commandOf(books, { id: pending?.id ?? "" });
    expect(command).toMatchObject({ status: "waiting", amount_minor: 9_700n, leg: "forward", lane: "money" });
    expect(money(books)).toEqual([0n, 0n, 0n, 1]);
    books.take(command.id);
    const operation = books.operate(9_700n, command.id);
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: operation.operation_id });
    expect(now(books, { id: pending?.id ?? "" })).toMatchObject({ status: "completed", outcome: null });
    expect(money(books)).toEqual([9_700n, 0n, 9_700n, 0]);
    expect(books.report(operation)).toBe("applied");
    expect(books.report(operation)).toBe("duplicate");
    expect(books.balance.balance_minor).toBe(books.platformMinor());
  });

  it.each(["with_comment", "without_comment"] as const)(
    "is booked once when its item comes %s after the end",
    (way) => {
      const books = new TwoBooks();
      const { id, command } = taken(books, "deposit", "100.00");
      const operation = books.operate(10_000n, command.id);
      books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: operation.operation_id });
      expect(now(books, { id })?.platform_operations).toMatchObject([{ operation_id: "B-1", confirmed: false }]);
      expect(books.report(operation, way)).toBe("applied");
      expect(now(books, { id })?.platform_operations).toMatchObject([{ operation_id: "B-1", confirmed: true }]);
      expect(books.balance.balance_minor).toBe(10_000n);
    },
  );

  it("is booked once when its item comes before the acknowledgement, which then changes nothing", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    const operation = books.operate(10_000n, command.id);
    expect(books.report(operation)).toBe("applied");
    expect(books.commands.get(command.id)).toMatchObject({ status: "done", operation_id: "B-1" });
    const version = now(books, { id })?.version;
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(now(books, { id })?.version).toBe(version);
    expect(books.balance.balance_minor).toBe(10_000n);
  });

  it("is put aside without its comment until the acknowledgement says which it is", () => {
    const books = new TwoBooks();
    const { command } = taken(books, "deposit", "100.00");
    const operation = books.operate(10_000n, command.id);
    expect(books.report(operation, "without_comment")).toBe("rejected");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(books.report(operation, "without_comment")).toBe("applied");
    expect(books.balance.balance_minor).toBe(10_000n);
  });

  it("fails with its command, and so does one that a person ends before the bridge takes it", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    const error = { code: "no_money" };
    books.acknowledge(command.id, { attempt: 1, status: "failed", error });
    expect(now(books, { id })).toMatchObject({ status: "failed", status_reason: { code: "no_money" } });
    const other = books.request("deposit", "1.00", "0", "completed");
    const waiting = commandOf(books, { id: other?.id ?? "" });
    expect(books.move(other?.id ?? "", { status: "failed", reason })?.status).toBe("failed");
    expect(books.commands.get(waiting.id)?.status).toBe("cancelled");
    expect(books.take(waiting.id)).toBeUndefined();
    expect(money(books)).toEqual([0n, 0n, 0n, 0]);
  });

  it("cannot be moved while its command is taken", () => {
    const books = new TwoBooks();
    const { id } = taken(books, "deposit", "100.00");
    for (const status of ["completed", "failed"] as const) {
      expect(books.move(id, { status, reason })).toBeUndefined();
      expect(books.move(id, { status, reason, operation_id: "B-9" })).toBeUndefined();
    }
  });
});

describe("a second operation of one command", () => {
  it("is booked in addition to the transaction as it happened, and is not swallowed by the join", () => {
    const books = new TwoBooks();
    const { command } = taken(books, "deposit", "100.00");
    books.report(books.operate(10_000n, command.id));
    books.report(books.operate(10_000n, command.id));
    expect([books.balance.balance_minor, books.additional]).toEqual([20_000n, 1]);
  });

  it("and so is one of another amount, and one that comes after the command has failed", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.report(books.operate(9_999n, command.id));
    expect(now(books, { id })?.status).toBe("processing");
    books.acknowledge(command.id, { attempt: 1, status: "failed" });
    books.report(books.operate(10_000n, command.id));
    expect([books.balance.balance_minor, books.platformMinor(), books.additional]).toEqual([19_999n, 19_999n, 2]);
    expect(now(books, { id })?.status).toBe("failed");
  });
});

describe("a withdrawal on such an account", () => {
  it("keeps its hold in processing, is in transit once the platform has released it, and ends with its payout", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00", "5.00");
    expect(command.amount_minor).toBe(-20_000n);
    expect(money(books)).toEqual([50_000n, 20_000n, 30_000n, 1]);
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(now(books, { id })).toMatchObject({ status: "processing", platform_done_at: expect.any(String) });
    expect(money(books)).toEqual([30_000n, 0n, 30_000n, 1]);
    expect(books.report(books.operate(-20_000n, command.id))).toBe("applied");
    expect(books.move(id, { status: "completed" })?.status).toBe("completed");
    expect([money(books), books.contra]).toEqual([[30_000n, 0n, 30_000n, 0], -30_000n]);
  });

  it("gives a payout that failed back only when the opposite command is done, and once", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.report(books.operate(-20_000n, command.id));
    expect(books.move(id, { status: "failed", reason })?.status).toBe("processing");
    const back = commandOf(books, { id });
    expect(back).toMatchObject({ leg: "reverse", amount_minor: 20_000n, status: "waiting" });
    expect(books.balance.balance_minor).toBe(30_000n);
    books.take(back.id);
    const operation = books.operate(20_000n, back.id);
    expect(books.report(operation)).toBe("applied");
    books.acknowledge(back.id, { attempt: 1, status: "done", operation_id: operation.operation_id });
    expect(now(books, { id })).toMatchObject({ status: "failed", status_reason: reason, reverse_minor: 20_000n });
    expect(money(books)).toEqual([50_000n, 0n, 50_000n, 0]);
    expect(books.additional).toBe(0);
  });

  it("is joined with its operation also when that comes after the opposite command was issued", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    const operation = books.operate(-20_000n, command.id);
    books.acknowledge(command.id, { attempt: 1, status: "done" });
    books.move(id, { status: "failed", reason });
    expect(books.report(operation)).toBe("applied");
    const back = commandOf(books, { id });
    books.take(back.id);
    books.report(books.operate(20_000n, back.id));
    expect([books.balance.balance_minor, books.platformMinor(), books.additional]).toEqual([50_000n, 50_000n, 0]);
    expect(now(books, { id })?.platform_operations).toMatchObject([{ leg: "forward" }, { leg: "reverse" }]);
  });

  it("is brought back by a command also when the provider of the sandbox declines it", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.report(books.operate(-20_000n, command.id));
    expect(books.decline(id)?.status).toBe("processing");
    expect(books.balance.balance_minor).toBe(books.platformMinor());
    expect(commandOf(books, { id })).toMatchObject({ leg: "reverse", amount_minor: 20_000n, status: "waiting" });
  });

  it.each(["before", "after"] as const)(
    "is given back here alone once its source ended, %s it was asked to",
    (when) => {
      const books = funded();
      const { id, command } = taken(books, "withdrawal", "200.00");
      books.report(books.operate(-20_000n, command.id));
      if (when === "after") books.move(id, { status: "failed", reason });
      books.endSource();
      expect(books.move(id, { status: "failed", reason })).toMatchObject({
        ...{ status: "failed", status_reason: reason, outcome: "needs_attention", reverse_minor: 20_000n },
      });
      expect([...books.commands.values()].filter(isOpen)).toEqual([]);
      expect([money(books), books.contra]).toEqual([[50_000n, 0n, 50_000n, 0], -50_000n]);
    },
  );

  it("has no outcome left when it is paid out after the platform did not take the money back", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.report(books.operate(-20_000n, command.id));
    books.move(id, { status: "failed", reason });
    const back = commandOf(books, { id });
    books.take(back.id);
    books.acknowledge(back.id, { attempt: 1, status: "failed" });
    expect(books.move(id, { status: "completed" })).toMatchObject({ status: "completed", outcome: null });
    expect(money(books)).toEqual([30_000n, 0n, 30_000n, 0]);
  });

  it("needs a person when the platform does not take the money back, and the next move issues another command", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.report(books.operate(-20_000n, command.id));
    books.move(id, { status: "failed", reason });
    const first = commandOf(books, { id });
    books.take(first.id);
    books.acknowledge(first.id, { attempt: 1, status: "failed" });
    expect(now(books, { id })).toMatchObject({ status: "processing", outcome: "needs_attention" });
    books.move(id, { status: "failed", reason });
    const second = commandOf(books, { id });
    expect(second.id).not.toBe(first.id);
    books.take(second.id);
    books.report(books.operate(20_000n, second.id));
    expect(now(books, { id })).toMatchObject({ status: "failed", outcome: null });
    expect(books.balance.balance_minor).toBe(books.platformMinor());
  });

  it("releases its hold when the platform refuses it", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.acknowledge(command.id, { attempt: 1, status: "failed" });
    expect(now(books, { id })?.status).toBe("failed");
    expect(money(books)).toEqual([50_000n, 0n, 50_000n, 0]);
  });
});

describe("a return on such an account", () => {
  it("holds what it takes until the opposite command is done", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.report(books.operate(10_000n, command.id));
    expect(books.move(id, { status: "returned", reason })?.status).toBe("completed");
    expect(money(books)).toEqual([10_000n, 10_000n, 0n, 1]);
    const back = commandOf(books, { id });
    books.take(back.id);
    books.report(books.operate(-10_000n, back.id));
    expect(now(books, { id })).toMatchObject({ status: "returned", reverse_minor: -10_000n });
    expect([money(books), books.contra]).toEqual([[0n, 0n, 0n, 0], 0n]);
  });

  it("releases the hold and needs a person when the platform refuses it", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.report(books.operate(10_000n, command.id));
    books.move(id, { status: "returned", reason });
    const back = commandOf(books, { id });
    books.take(back.id);
    books.acknowledge(back.id, { attempt: 1, status: "failed" });
    expect(now(books, { id })).toMatchObject({ status: "completed", outcome: "needs_attention" });
    expect(money(books)).toEqual([10_000n, 0n, 10_000n, 0]);
  });
});

describe("an outcome that is not known", () => {
  it("is marked when the lease runs out, and ended by the search for the operation", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.operate(10_000n, command.id);
    books.pass(61);
    books.sweep(command.id);
    expect(now(books, { id })).toMatchObject({ status: "processing", outcome: "unknown" });
    const search = [...books.commands.values()].find(({ type }) => type === "find_operation");
    books.take(search?.id ?? "");
    books.acknowledge(search?.id ?? "", { attempt: 1, status: "done", operation_id: "B-1" });
    expect(now(books, { id })).toMatchObject({ status: "completed", outcome: null });
    expect(books.commands.get(command.id)).toMatchObject({ status: "done", operation_id: "B-1" });
  });

  it("is handed out again only after the search found nothing and ten minutes after the lease", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.pass(61);
    books.sweep(command.id);
    const search = [...books.commands.values()].find(({ type }) => type === "find_operation");
    books.pass(3600);
    expect(books.requeue(command.id)).toBeUndefined();
    books.take(search?.id ?? "");
    books.acknowledge(search?.id ?? "", { attempt: 1, status: "done" });
    expect(books.requeue(command.id)).toMatchObject({ status: "waiting", attempt: 1, not_found_at: null });
    expect(now(books, { id })?.outcome).toBeNull();
    expect(books.take(command.id)?.attempt).toBe(2);
  });

  it("is settled by a person with an operation, or with none, and with four eyes by another than the creator", () => {
    for (const [four_eyes, patch, status] of [
      [false, { status: "completed", operation_id: "B-1" }, "completed"],
      [false, { status: "failed", reason, not_found: true }, "failed"],
      [false, { status: "failed", reason }, undefined],
      [true, { status: "completed", operation_id: "B-1" }, undefined],
    ] as const) {
      const books = new TwoBooks();
      const { id, command } = taken(books, "deposit", "100.00");
      books.acknowledge(command.id, { attempt: 1, status: "unknown" });
      books.demand({ four_eyes });
      expect(books.move(id, patch)?.status).toBe(status);
      expect(books.commands.get(command.id)?.status).toBe(
        status === undefined ? "unknown" : status === "completed" ? "done" : "failed",
      );
    }
  });
});

describe("a search for the operation of a command that a person has settled", () => {
  it("is cancelled by the next sweep, and one that is still needed is not", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "unknown" });
    const search = () => [...books.commands.values()].find(({ type }) => type === "find_operation");
    books.sweep(search()?.id ?? "");
    expect(search()?.status).toBe("waiting");
    books.move(id, { status: "failed", reason, not_found: true });
    books.sweep(search()?.id ?? "");
    expect(search()?.status).toBe("cancelled");
  });
});

describe("a settlement with not_found", () => {
  it.each([
    ["deposit", "returned", 10_000n],
    ["withdrawal", "failed", -10_000n],
  ] as const)("of a %s that is repeated issues no other command: %s", (kind, to, minor) => {
    const books = funded();
    const { id, command } = taken(books, kind, "100.00");
    books.report(books.operate(minor, command.id));
    books.move(id, { status: to, reason });
    const back = commandOf(books, { id });
    books.take(back.id);
    books.acknowledge(back.id, { attempt: 1, status: "unknown" });
    expect(books.move(id, { status: to, reason, not_found: true })?.outcome).toBe("needs_attention");
    expect(books.move(id, { status: to, reason, not_found: true })).toBeUndefined();
    expect(commandOf(books, { id })).toMatchObject({ id: back.id, status: "failed" });
  });
});

describe("a person at the platform", () => {
  it("takes the place of a waiting command by naming its transaction, and the command is cancelled", () => {
    const books = new TwoBooks();
    const deposit = books.request("deposit", "100.00", "0", "completed");
    const command = commandOf(books, { id: deposit?.id ?? "" });
    books.report(books.operate(10_000n, deposit?.id ?? ""));
    expect(now(books, { id: deposit?.id ?? "" })?.status).toBe("completed");
    expect(books.commands.get(command.id)?.status).toBe("cancelled");
    expect(books.balance.balance_minor).toBe(10_000n);
  });

  it("or by entering the operation here before the bridge has taken the command", () => {
    const books = new TwoBooks();
    const deposit = books.request("deposit", "100.00", "0", "completed");
    const command = commandOf(books, { id: deposit?.id ?? "" });
    const settled = books.move(deposit?.id ?? "", { status: "completed", operation_id: "B-1" });
    expect(settled?.status).toBe("completed");
    expect(books.commands.get(command.id)?.status).toBe("cancelled");
    expect(books.report(books.operate(10_000n, null))).toBe("applied");
    expect(books.balance.balance_minor).toBe(10_000n);
  });

  it("also after the end of a transaction, which goes no further without the operation", () => {
    const books = new TwoBooks();
    const id = books.request("deposit", "100.00")?.id ?? "";
    books.pass(7 * 86_400);
    for (const status of ["approved", "processing", "completed"] as const) {
      expect(books.move(id, { status })).toBeUndefined();
    }
    expect(books.move(id, { status: "completed", operation_id: "B-1" })?.status).toBe("completed");
    expect(books.report(books.operate(10_000n, null))).toBe("applied");
    expect(books.balance.balance_minor).toBe(10_000n);
  });

  it("and a failure that names an operation is refused: the platform has done it or it has not", () => {
    const books = new TwoBooks();
    const deposit = books.request("deposit", "100.00", "0", "completed");
    const command = commandOf(books, { id: deposit?.id ?? "" });
    const request = { status: "failed", reason: { code: "gone" }, operation_id: "B-1" } as const;
    expect(books.move(deposit?.id ?? "", request)).toBeUndefined();
    expect(books.commands.get(command.id)?.status).toBe("waiting");
  });
});
