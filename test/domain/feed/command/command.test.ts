import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CommandMove,
  type CommandState,
  commandChanges,
  commandMoves,
  commandWakesAt,
  draftCommand,
  isOpen,
  laneMarker,
  lostLease,
  movedCommand,
  moveOfAck,
  takeCommands,
  takenCommand,
} from "../../../../shared/domain/feed/command/command.ts";
import { commandBody } from "../../../../shared/domain/feed/command/command-body.ts";
import type { TransactionCommand } from "../../../../shared/domain/records/command.ts";
import type { AckCommand } from "../../../../shared/schema/feed/command.ts";
import { accepted, decisionContext } from "../../../support/builders/decisions.ts";
import { transactionOf } from "../../platform-money-cases.ts";

const begin = Date.parse("2026-11-21T06:30:00.000Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const contextAt = (seconds: number) => decisionContext({ now: at(seconds), in: (later) => at(seconds + later) });

function someCommand(fields: Partial<TransactionCommand> = {}): TransactionCommand {
  const { transaction } = transactionOf("deposit", { amount: "100.00" });
  const draft = { type: "balance_operation", leg: "forward", minor: 10_000n } as const;
  const link = { source_id: "src_01JD0000000000000000000001", platform_login: "50012345" };
  return { ...draftCommand({ ...draft, ...link, transaction }, contextAt(0)), ...fields };
}

const taken = (command: TransactionCommand, seconds: number, lease = 60) => {
  const after = takenCommand(command, { seconds: lease, in: contextAt(seconds).in }, contextAt(seconds));
  if (after === undefined) throw new Error("It is not taken.");
  return after;
};

describe("a command", () => {
  it("is waiting again only after a take where nothing was sent, or by a person", () => {
    const ways = Object.entries(commandMoves).flatMap(([from, moves]) =>
      Object.entries(moves).flatMap(([move, to]) => (to === "waiting" ? [`${from} ${move}`] : [])),
    );
    expect(ways).toEqual(["taken not_sent", "unknown requeue"]);
  });

  it("ends once: done, failed, cancelled and expired know no move", () => {
    const final = Object.entries(commandMoves).filter(([, moves]) => Object.keys(moves).length === 0);
    expect(final.map(([state]) => state)).toEqual(["done", "failed", "cancelled", "expired"]);
  });

  it("is started within the first half of its lease, and never after its end of validity", () => {
    expect(taken(someCommand(), 100)).toMatchObject({
      ...{ status: "taken", attempt: 1, taken_at: at(100) },
      ...{ start_before: at(130), lease_until: at(160) },
    });
    expect(taken(someCommand({ not_after: at(110) }), 100).start_before).toBe(at(110));
    expect(takenCommand(someCommand({ not_after: at(100) }), { seconds: 60, in: at }, contextAt(100))).toBeUndefined();
  });

  it.each<[CommandState, AckCommand["status"], number, CommandMove | undefined]>([
    ["taken", "done", 2, "done"],
    ["taken", "done", 1, "done"],
    ["unknown", "done", 1, "done"],
    ["waiting", "done", 1, "done"],
    ["taken", "failed", 2, "failed"],
    ["taken", "failed", 1, undefined],
    ["taken", "not_sent", 2, "not_sent"],
    ["taken", "not_sent", 1, undefined],
    ["taken", "unknown", 2, "unknown"],
    ["unknown", "failed", 2, "failed"],
    ["unknown", "not_sent", 2, undefined],
    ["waiting", "failed", 2, undefined],
    ["waiting", "not_sent", 2, undefined],
    ["failed", "done", 2, undefined],
    ["cancelled", "done", 1, undefined],
  ])("that is %s and acknowledged as %s for attempt %d of 2 makes the move %s", (status, said, attempt, move) => {
    expect(moveOfAck({ status, attempt: 2, type: "balance_operation" }, { attempt, status: said })).toBe(move);
  });

  it("becomes unknown when its lease runs out, and a search for an operation waits again", () => {
    const command = taken(someCommand(), 0);
    expect(lostLease(command, at(59))).toBeUndefined();
    expect(lostLease(command, at(60))).toBe("unknown");
    expect(lostLease(taken(someCommand({ type: "find_operation", lane: null }), 0), at(60))).toBe("not_sent");
  });

  it("claims its lane when it is taken, releases it when it is not any more, and a search has none", () => {
    const waiting = someCommand();
    const held = taken(waiting, 0);
    const operations = (before: TransactionCommand, after: TransactionCommand) =>
      commandChanges(before, after).map(({ op }) => op);
    expect(operations(waiting, held)).toEqual(["update", "claim"]);
    for (const move of ["done", "failed", "unknown", "not_sent"] as const) {
      const after = movedCommand(held, move, contextAt(1));
      expect(after && operations(held, after)).toEqual(["update", "release"]);
    }
    const search = someCommand({ type: "find_operation", lane: null });
    expect(operations(search, taken(search, 0))).toEqual(["update"]);
  });

  it("is looked at by the sweep until it has ended", () => {
    const waiting = someCommand();
    expect(commandWakesAt(waiting)).toBe(at(120));
    expect(commandWakesAt(someCommand({ not_after: at(60) }))).toBe(at(60));
    expect(commandWakesAt(taken(waiting, 0))).toBe(at(60));
    expect(commandWakesAt({ ...waiting, status: "unknown" })).toBe(waiting.updated_at);
    expect(commandWakesAt({ ...waiting, status: "done" })).toBeUndefined();
  });

  it("carries its own id as the comment of the operation, within the 31 characters of common platforms", () => {
    const command = someCommand({ amount_minor: -4_000n });
    expect(commandBody(command).payload).toEqual({ amount: "-40.00", currency: "USD", comment: command.id });
    expect(command.id.length).toBeLessThanOrEqual(31);
    expect(commandBody({ ...command, about_id: "cmd_other" }).payload).toMatchObject({ comment: "cmd_other" });
  });
});

type Step =
  | { readonly do: "take" | "lease_end" | "requeue" | "cancel" }
  | { readonly do: "ack"; readonly status: AckCommand["status"]; readonly back: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom("take", "lease_end", "requeue", "cancel") }),
    fc.record({
      do: fc.constant("ack"),
      status: fc.constantFrom("done", "failed", "unknown", "not_sent"),
      back: fc.nat(2),
    }),
  ) as fc.Arbitrary<Step>,
  { maxLength: 25 },
);

describe("random programs of takes, acknowledgements, ends of leases and requeues", () => {
  it("never hand a command out while another lease runs, nor again after unknown but by a person", () => {
    fc.assert(
      fc.property(steps, (program) => {
        let command = someCommand();
        let holders = 0;
        let mayBeHandedOut = true;
        for (const [second, step] of program.entries()) {
          const before = command;
          command = after(command, step, second);
          if (step.do === "take" && command.attempt > before.attempt) {
            expect([holders, mayBeHandedOut]).toEqual([0, true]);
            [holders, mayBeHandedOut] = [1, false];
          }
          if (command.status !== "taken") holders = 0;
          const notSent = step.do === "ack" && step.status === "not_sent" && step.back === 0;
          if (command.status === "waiting" && before.status !== "waiting") {
            expect(step.do === "requeue" || notSent).toBe(true);
            mayBeHandedOut = true;
          }
          const old = step.do === "ack" && step.back > 0 && step.status !== "done";
          if (old || !isOpen(before)) expect(command).toBe(before);
          if (step.do === "ack" && step.status === "done" && isOpen(before)) expect(command.status).toBe("done");
        }
      }),
      { numRuns: 3000 },
    );
  });

  function after(command: TransactionCommand, step: Step, second: number): TransactionCommand {
    const context = contextAt(second);
    if (step.do === "take") return takenCommand(command, { seconds: 60, in: context.in }, context) ?? command;
    if (step.do === "ack") {
      const move = moveOfAck(command, { status: step.status, attempt: command.attempt - step.back });
      return (move && movedCommand(command, move, context)) ?? command;
    }
    const move = step.do === "lease_end" ? lostLease(command, at(second + 3600)) : step.do;
    return (move && movedCommand(command, move, context)) ?? command;
  }

  it("and a take chooses at most one command of each account, none whose lane is occupied, in their order", () => {
    const list = fc.array(fc.record({ account: fc.nat(4), search: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(list, fc.nat(4), fc.integer({ min: 1, max: 10 }), (made, occupied, max) => {
        const waiting = made.map(({ account, search }) =>
          someCommand({ account_id: `acc_${account}`, ...(search ? { type: "find_operation", lane: null } : {}) }),
        );
        const busy = laneMarker(someCommand({ account_id: `acc_${occupied}` })) ?? "";
        const decision = takeCommands(waiting, new Set([busy]), { max, lease_seconds: 60 }, contextAt(0));
        const lanes = accepted(decision)
          .result.map(laneMarker)
          .filter((lane) => lane !== undefined);
        expect(accepted(decision).result.length).toBeLessThanOrEqual(max);
        expect(new Set(lanes).size).toBe(lanes.length);
        expect(lanes).not.toContain(busy);
        const place = (id: string) => waiting.findIndex((each) => each.id === id);
        const places = accepted(decision).result.map(({ id }) => place(id));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }),
    );
  });
});
