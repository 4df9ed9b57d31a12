import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { ComparedBooks } from "./bridge-drifts.ts";
import { compareAt, deltasOf } from "./bridge-snapshots.ts";
import { step, World } from "./bridge-world.ts";

const other = "app_01JD0000000000000000000002";

/** Books of 500.00 on both sides, of which the platform has 10.00 more: a drift that the platform is to correct. */
function commanded(fields: { readonly four_eyes?: boolean } = {}) {
  const books = new ComparedBooks(fields);
  books.report(books.operate(50_000n, null));
  books.missing = 1000n;
  books.snapshot();
  if (books.drift === undefined) throw new Error("No drift was found.");
  const { id } = books.drift;
  const refusal = books.resolve("command_platform");
  const state = () => books.drifts.get(id)?.resolution?.action ?? books.drifts.get(id)?.status;
  const take = () => books.take(books.correction.id);
  const carryOut = () => books.operate(-1000n, books.correction.id);
  return { books, id, refusal, state, take, carryOut };
}

/** That nothing was booked for the command, and what the drift came to after another snapshot. */
function expectCorrected({ books, state }: ReturnType<typeof commanded>): void {
  expect(books.balance).toMatchObject({ balance_minor: 50_000n, available_minor: 50_000n, seq: 1 });
  expect(books.correction).toMatchObject({ status: "done", operation_id: "B-2", feed_seq: "2" });
  expect(state()).toBe("open");
  expect([books.snapshot(), state()]).toEqual(["equal", "agreed"]);
}

describe("a command that corrects a platform", () => {
  it("asks for the difference, names the drift and leaves it open", () => {
    const { books, id, refusal, state } = commanded();
    const { drift_id, transaction_id, leg, amount_minor, status, platform_login } = books.correction;
    expect(refusal).toBeUndefined();
    expect({ drift_id, transaction_id, leg }).toEqual({ drift_id: id, transaction_id: null, leg: null });
    expect({ amount_minor, status, platform_login }).toEqual({
      ...{ amount_minor: -1000n, status: "waiting", platform_login: "50012345" },
    });
    expect([state(), books.drift?.command_id, books.transactions.size]).toEqual(["open", books.correction.id, 1]);
  });

  it("books nothing by its acknowledgement and by its item, and the next snapshot resolves the drift", () => {
    const desk = commanded();
    desk.take();
    const operation = desk.carryOut();
    desk.books.acknowledge(desk.books.correction.id, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(desk.books.report(operation)).toBe("applied");
    expect(desk.books.report(operation)).toBe("duplicate");
    expectCorrected(desk);
  });

  it.each(["with_comment", "without_comment"] as const)(
    "is joined %s once its operation was acknowledged",
    (comment) => {
      const desk = commanded();
      desk.take();
      const operation = desk.carryOut();
      desk.books.acknowledge(desk.books.correction.id, { attempt: 1, status: "done", operation_id: "B-2" });
      expect(desk.books.report(operation, comment)).toBe("applied");
      expectCorrected(desk);
    },
  );

  it("ends with its item when that comes first, and a late acknowledgement changes nothing", () => {
    const desk = commanded();
    desk.take();
    expect(desk.books.report(desk.carryOut())).toBe("applied");
    const { version } = desk.books.correction;
    desk.books.acknowledge(desk.books.correction.id, { attempt: 1, status: "failed" });
    expect(desk.books.correction.version).toBe(version);
    expectCorrected(desk);
  });

  it("has its operation put aside where that names nothing, until a person names the command", () => {
    const desk = commanded();
    desk.take();
    const operation = desk.carryOut();
    expect(desk.books.report(operation, "without_comment")).toBe("rejected");
    expect(desk.books.report(operation, "without_comment", { transaction_id: "txn_1" })).toBe("rejected");
    expect(desk.books.report(operation, "without_comment", { command_id: desk.books.correction.id })).toBe("applied");
    expectCorrected(desk);
  });

  it("that a person made without its comment is settled by naming it also after the books were found equal", () => {
    const { books, id, state } = commanded();
    const operation = books.operate(-1000n, null);
    expect(books.report(operation)).toBe("rejected");
    expect([books.snapshot(), state(), books.correction.status]).toEqual(["equal", "agreed", "cancelled"]);
    const named = { command_id: books.correction.id };
    const others = { ...books.operate(-999n, null), seq: 9 };
    expect([books.report(others, "with_comment", named), books.refusal]).toEqual(["rejected", "transaction_mismatch"]);
    expect(books.report(operation, "with_comment", named)).toBe("applied");
    expect(books.report(operation, "with_comment", named)).toBe("duplicate");
    expect(books.balance).toMatchObject({ balance_minor: 50_000n, seq: 1 });
    expect(books.correction).toMatchObject({ status: "cancelled", operation_id: "B-2", drift_id: id, feed_seq: "2" });
    expect(books.report({ ...operation, operation_id: "B-7" }, "with_comment", named)).toBe("rejected");
  });

  it("that was given up for the drift's acceptance takes no operation: the operation is money", () => {
    const { books } = commanded();
    expect([books.resolve("accept"), books.correction.status]).toEqual([undefined, "cancelled"]);
    const operation = books.operate(-1000n, null);
    const named = { command_id: books.correction.id };
    expect([books.report(operation, "with_comment", named), books.refusal]).toEqual([
      "rejected",
      "transaction_mismatch",
    ]);
    expect(books.report(operation)).toBe("applied");
    expect(books.balance.balance_minor).toBe(49_000n);
  });

  it("waits for its operation again where the one that was acknowledged is other money, which is booked", () => {
    const desk = commanded();
    desk.take();
    const deposit = desk.books.operate(2500n, null);
    desk.books.acknowledge(desk.books.correction.id, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(desk.books.report(deposit)).toBe("applied");
    expect(desk.books.balance.balance_minor).toBe(52_500n);
    expect(desk.books.correction).toMatchObject({ status: "done", operation_id: null });
    expect(desk.books.report(desk.carryOut(), "without_comment")).toBe("rejected");
    expect(desk.books.report(desk.books.ledger[2] as never)).toBe("applied");
    expect(desk.books.correction).toMatchObject({ operation_id: "B-3", feed_seq: "3" });
    expect([desk.books.snapshot(), desk.state()]).toEqual(["equal", "agreed"]);
  });

  it("refuses an acknowledgement with money of a transaction, and books a second operation as it happened", () => {
    const desk = commanded();
    desk.take();
    desk.books.acknowledge(desk.books.correction.id, { attempt: 1, status: "done", operation_id: "B-1" });
    expect(desk.books.correction.status).toBe("taken");
    expect(desk.books.report(desk.carryOut())).toBe("applied");
    expect(desk.books.report(desk.carryOut())).toBe("applied");
    expect(desk.books.balance.balance_minor).toBe(49_000n);
    expect([desk.books.snapshot(), desk.state()]).toEqual(["equal", "agreed"]);
  });

  it.each([0n, -500n])(
    "is not handed out again for another difference: what was not sent has failed at %i",
    (missing) => {
      const { books, take } = commanded();
      take();
      books.missing = missing;
      books.snapshot();
      expect(books.correction.status).toBe("taken");
      books.acknowledge(books.correction.id, { attempt: 1, status: "not_sent" });
      expect(books.correction).toMatchObject({ status: "failed", error: { code: "not_sent" } });
    },
  );

  it("is not joined with credit of the same amount, named or acknowledged", () => {
    const { books, take } = commanded();
    books.report(books.operate(5_000n, null, books.main, true));
    take();
    const credit = books.operate(-1000n, books.correction.id, books.main, true);
    books.acknowledge(books.correction.id, { attempt: 1, status: "done", operation_id: credit.operation_id });
    expect(books.report(credit)).toBe("applied");
    expect(books.balance.credit_minor).toBe(4_000n);
    expect(books.correction).toMatchObject({ status: "done", operation_id: null });
  });

  it("leaves the drift open when it fails, so that the platform is asked again", () => {
    const { books, take, state } = commanded();
    take();
    expect(books.resolve("command_platform")).toBe("command_outstanding");
    books.acknowledge(books.correction.id, { attempt: 1, status: "failed", error: { code: "refused" } });
    const failed = books.correction.id;
    expect([books.resolve("command_platform"), state()]).toEqual([undefined, "open"]);
    expect(books.correction.id).not.toBe(failed);
    expect(books.drift?.command_id).toBe(books.correction.id);
  });

  it("is looked for when its outcome is unknown, and what is found ends it", () => {
    const desk = commanded();
    desk.take();
    const operation = desk.carryOut();
    desk.books.pass(61);
    desk.books.sweep(desk.books.correction.id);
    const search = [...desk.books.commands.values()].find(({ type }) => type === "find_operation")?.id ?? "";
    expect(desk.books.correction.status).toBe("unknown");
    desk.books.take(search);
    desk.books.acknowledge(search, { attempt: 1, status: "done", operation_id: "B-2" });
    expect(desk.books.report(operation)).toBe("applied");
    expectCorrected(desk);
  });

  it("is handed out again by another application than the one that asked for it, where four eyes are asked for", () => {
    const { books, refusal, take } = commanded({ four_eyes: true });
    expect([refusal, books.drift?.proposal?.action]).toEqual([undefined, "command_platform"]);
    expect([books.resolve("command_platform"), books.resolve("adopt_platform", other)]).toEqual([
      ...["four_eyes_required", "illegal_transition"],
    ]);
    expect([books.resolve("command_platform", other), books.drift?.proposal]).toEqual([undefined, null]);
    take();
    books.pass(61);
    books.sweep(books.correction.id);
    const search = [...books.commands.values()].find(({ type }) => type === "find_operation")?.id ?? "";
    books.take(search);
    books.acknowledge(search, { attempt: 1, status: "done" });
    books.pass(700);
    expect(books.requeue(books.correction.id, other)).toBeUndefined();
    expect(books.requeue(books.correction.id)).toMatchObject({ status: "waiting" });
  });

  it("that was acknowledged is not issued again until a snapshot shows what it has done", () => {
    const { books, take } = commanded();
    take();
    books.acknowledge(books.correction.id, { attempt: 1, status: "done", operation_id: "B-9" });
    expect([books.snapshot(), books.resolve("command_platform")]).toEqual(["drifting", "drift_changed"]);
    books.pass(301);
    expect([books.snapshot(), books.resolve("command_platform")]).toEqual(["drifting", undefined]);
  });

  it.each([
    ["is gone", 0n],
    ["is another one", 1500n],
  ])("is cancelled while it waits and the difference %s, and goes on once it was taken", (_, missing) => {
    const waiting = commanded();
    waiting.books.missing = missing;
    waiting.books.snapshot();
    expect(waiting.books.correction.status).toBe("cancelled");
    const desk = commanded();
    desk.take();
    desk.books.missing = missing;
    desk.books.snapshot();
    expect(desk.books.correction.status).toBe("taken");
  });

  it("is cancelled with the drift while it waits, and keeps it open once it was taken", () => {
    const waiting = commanded();
    expect([waiting.books.resolve("accept"), waiting.state()]).toEqual([undefined, "accept"]);
    expect(waiting.books.correction.status).toBe("cancelled");
    const desk = commanded();
    desk.take();
    expect([desk.books.resolve("accept"), desk.state()]).toEqual(["command_outstanding", "open"]);
  });

  it("fails once its operation was not found and its drift is gone", () => {
    const { books, take } = commanded();
    take();
    books.acknowledge(books.correction.id, { attempt: 1, status: "unknown" });
    books.missing = 0n;
    books.snapshot();
    const search = [...books.commands.values()].find(({ type }) => type === "find_operation")?.id ?? "";
    books.take(search);
    books.acknowledge(search, { attempt: 1, status: "done" });
    expect(books.correction).toMatchObject({ status: "failed", error: { code: "not_found" } });
  });
});

const correcting = fc.oneof(
  { arbitrary: step, weight: 4 },
  { arbitrary: fc.constantFrom("snapshot", "command_platform", "accept").map((what) => ({ what })), weight: 1 },
);

describe("two books of which one has more, with corrections that are lost, repeated and late", () => {
  it("differ by that until one correction was carried out, then by nothing, and always balance", () => {
    const seen = new Set<string>();
    const planted = fc.constantFrom(1000n, -4000n, 4001n);
    fc.assert(
      fc.property(planted, fc.array(correcting, { minLength: 30, maxLength: 60, size: "max" }), (missing, program) => {
        const books = new ComparedBooks();
        const world = new World(books);
        books.missing = missing;
        for (const each of program) {
          if (!("which" in each)) act(world, books, each.what);
          else world.run(each);
          check(world, books, missing);
        }
        for (let round = 0; round < 4 && deltas(world, books).length > 0; round += 1) {
          world.finish();
          act(world, books, "snapshot");
          act(world, books, "command_platform");
          for (const { id } of [...books.commands.values()].filter(isOpen)) books.requeue(id);
          world.finish();
        }
        world.drain();
        const accepted = [...books.drifts.values()].at(-1)?.resolution?.action === "accept";
        if (!accepted) expect(deltas(world, books)).toEqual([]);
        act(world, books, "snapshot");
        check(world, books, missing);
        for (const { purpose, status } of books.commands.values()) if (purpose === "drift") seen.add(status);
        for (const { resolution } of books.drifts.values()) seen.add(resolution?.action ?? "open");
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 30), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(["accept", "agreed", "cancelled", "done"]));
  });
});

function deltas(world: World, books: ComparedBooks): readonly bigint[] {
  return deltasOf(compareAt(books, books.main, world.included(), books.missing));
}

function act(world: World, books: ComparedBooks, what: string): void {
  if (what === "snapshot") books.snapshot(world.included());
  else books.resolve(what as "accept");
}

/** The difference is the planted amount without the corrections that were done, and nothing was booked for them. */
function check(world: World, books: ComparedBooks, missing: bigint): void {
  world.check();
  const corrections = [...books.commands.values()].filter(
    ({ purpose, type }) => purpose === "drift" && type === "balance_operation",
  );
  const joined = corrections.filter((each) => "feed_seq" in each && each.feed_seq !== undefined);
  const included = joined.filter((each) => Number("feed_seq" in each ? each.feed_seq : 0) <= world.included());
  const left = included.reduce((sum, { amount_minor }) => sum + amount_minor, missing);
  expect(deltas(world, books)).toEqual(left === 0n ? [] : [left]);
  expect(joined.length).toBeLessThanOrEqual(1);
}
