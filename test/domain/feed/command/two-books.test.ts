import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { transferStatus } from "../../../../shared/domain/money/transfers/state.ts";
import type { SettlementCommand } from "../../../../shared/domain/records/command.ts";
import { lossStep, step, transferStep, World } from "./bridge-world.ts";
import { LossWorld } from "./loss-world.ts";
import { TicketBooks, ticketStep } from "./ticket-books.ts";

describe("two books, with commands and items between them that are lost, repeated and late", () => {
  it("are equal once everything has arrived, no money twice and none lost, and each snapshot finds that", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 40, maxLength: 80, size: "max" }), (program) => {
        const world = new World();
        for (const each of program) {
          world.run(each);
          world.check();
          world.compare(1n);
        }
        world.drain();
        world.check();
        world.compare(-12_345n);
        expect(world.books.balance.balance_minor).toBe(world.books.platformMinor());
        for (const { status, outcome } of world.books.transactions.values()) seen.add(`${status} ${outcome ?? ""}`);
        for (const { status, leg } of world.books.commands.values()) seen.add(`command ${leg} ${status}`);
        if (world.books.additional > 0) seen.add("additional");
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 300), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(reached));
  });
});

describe("losses beyond the money of linked accounts that the service decides", () => {
  it("are corrected in both books without a person, but for what the platform refuses", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(lossStep, { minLength: 40, maxLength: 80, size: "max" }), (program) => {
        const world = new LossWorld();
        const { traded } = world;
        for (const each of program) {
          world.run(each);
          world.check();
          world.compare(1n);
        }
        for (const each of traded.settlements) seen.add(`${signOf(each)} ${each.status}`);
        world.finish();
        world.check();
        world.compare(-12_345n);
        expect(traded.balance.balance_minor).toBe(traded.platformMinor() + traded.unfollowedMinor(traded.main));
        expect(traded.settlements.filter(isOpen)).toEqual([]);
        for (const each of traded.settlements) seen.add(`${signOf(each)} ${each.status}`);
        if (traded.settlements.length > 0 && traded.unfollowedMinor(traded.main) === 0n) seen.add("followed");
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 150), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(reachedByLosses));
  });
});

function signOf({ amount_minor }: SettlementCommand): string {
  return amount_minor < 0n ? "repayment" : "correction";
}

const reachedByLosses = [
  ...["waiting", "taken", "unknown", "done", "failed"].map((status) => `correction ${status}`),
  ...["waiting", "taken", "done", "failed"].map((status) => `repayment ${status}`),
  "followed",
];

describe("transfers between accounts of a platform and of the service", () => {
  it("are made or not, never half, wherever the service stops, and leave books that each snapshot finds equal", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(transferStep, { minLength: 40, maxLength: 80, size: "max" }), (program) => {
        const world = new World();
        for (const each of program) {
          world.run(each);
          world.check();
          world.compare(1n);
        }
        note(world, seen);
        world.drain();
        world.finish();
        world.compare(-12_345n);
        const { books } = world;
        for (const id of [books.main, books.second]) {
          expect(books.accountOf(id).balance.balance_minor).toBe(books.platformMinor(id));
        }
        const left = [...world.books.transactions.values()].filter(({ transfer }) => transfer !== undefined);
        const ends = left.map(transferStatus).filter((status) => !["completed", "failed"].includes(status));
        expect(ends.filter((status) => status !== "pending" && status !== "needs_attention")).toEqual([]);
        note(world, seen);
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 100), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(reachedByTransfers));
  });
});

describe("deals under re-used tickets, parts under new tickets, with and without charges, taken back", () => {
  it("leave two books that are equal at every step, whatever of them is sent again", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(ticketStep, { minLength: 20, maxLength: 60, size: "max" }), (program) => {
        const world = new TicketBooks();
        for (const each of program) {
          world.run(each);
          const { ours, theirs } = world.books;
          expect(ours).toEqual(theirs);
        }
        for (const each of world.seen) seen.add(each);
      }),
      { numRuns: Number(process.env["TWO_BOOKS_RUNS"] ?? 100), seed: Number(process.env["TWO_BOOKS_SEED"] ?? 1) },
    );
    expect([...seen].toSorted()).toEqual([
      ...["close", "close corrected", "close taken back", "close without its swap", "close without money", "conflict"],
      ...["night", "open", "open corrected", "open taken back", "renamed", "repeated", "reused position"],
    ]);
  });
});

/** Notes how far the transfers of a program are. */
function note({ books }: World, seen: Set<string>): void {
  for (const leg of books.transactions.values()) {
    if (leg.transfer !== undefined) seen.add(`${leg.kind} ${transferStatus(leg)}`);
  }
}

const reachedByTransfers = [
  ...["pending", "debiting", "crediting", "completed", "failed"].map((each) => `transfer_out ${each}`),
  ...["crediting", "completed", "failed"].map((each) => `transfer_in ${each}`),
];

/** States that the programs reach, so that they prove something. */
const reached = [
  ...["completed ", "failed ", "processing ", "processing unknown", "processing needs_attention", "returned "],
  ...["command forward done", "command forward failed", "command forward cancelled", "command forward unknown"],
  ...["command reverse done", "command reverse failed", "command reverse unknown", "completed needs_attention"],
];
