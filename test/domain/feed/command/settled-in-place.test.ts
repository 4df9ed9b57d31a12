import { describe, expect, it } from "vitest";
import { moveTransaction } from "../../../../shared/domain/money/move.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";
import { standing } from "../../transaction-cases.ts";
import { commandOf, funded, money, now, taken } from "./bridge-cases.ts";
import { TwoBooks } from "./bridge-model.ts";

const [reason, by_hand] = [{ code: "bank" }, { status: "processing", operation_id: "B-2" }] as const;
const later = "app_01JD0000000000000000000002";

describe("a withdrawal in processing that is asked for processing with the operation of the platform", () => {
  it("is settled by it while its command waits, once, and its item is joined", () => {
    const books = funded();
    const { id = "" } = books.request("withdrawal", "200.00", "0", "completed") ?? {};
    const command = commandOf(books, { id });
    expect(books.move(id, by_hand)).toMatchObject({ status: "processing", platform_done_at: expect.any(String) });
    expect(books.commands.get(command.id)?.status).toBe("cancelled");
    expect([money(books), books.contra]).toEqual([[30_000n, 0n, 30_000n, 1], -30_000n]);
    const version = now(books, { id })?.version;
    expect(books.move(id, by_hand)?.version).toBe(version);
    expect(books.report(books.operate(-20_000n, null))).toBe("applied");
    expect([money(books), books.additional]).toEqual([[30_000n, 0n, 30_000n, 1], 0]);
  });

  it("is settled by it where the outcome of its command is unknown, with four eyes where they are asked for", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.acknowledge(command.id, { attempt: 1, status: "unknown" });
    books.demand({ four_eyes: true });
    expect([books.move(id, by_hand), books.refusal]).toEqual([undefined, "four_eyes_required"]);
    expect(books.move(id, by_hand, later)).toMatchObject({ status: "processing", outcome: null });
    expect(books.commands.get(command.id)).toMatchObject({ status: "done", operation_id: "B-2" });
    expect(money(books)).toEqual([30_000n, 0n, 30_000n, 1]);
  });

  it("is refused while its command is taken, and with another operation once the money has moved", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    expect([books.move(id, by_hand), books.refusal]).toEqual([undefined, "command_outstanding"]);
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-2" });
    const other = { ...by_hand, operation_id: "B-9" } as const;
    expect([books.move(id, other), books.refusal]).toEqual([undefined, "illegal_transition"]);
    expect(money(books)).toEqual([30_000n, 0n, 30_000n, 1]);
  });

  it("is not paid by a repeated request that named its operation with completed", () => {
    const books = funded();
    const { id = "" } = books.request("withdrawal", "200.00", "0", "completed") ?? {};
    const request = { ...by_hand, status: "completed" } as const;
    expect(books.move(id, request)?.status).toBe("processing");
    expect([books.move(id, request), books.refusal]).toEqual([undefined, "illegal_transition"]);
    expect(books.move(id, { status: "completed" })?.status).toBe("completed");
  });
});

describe("a request for the state that a transaction has", () => {
  it.each(["operation_id", "not_found"] as const)("is refused with %s where nothing is there to settle", (named) => {
    const books = new TwoBooks();
    const said = named === "not_found" ? { not_found: true as const } : { operation_id: "B-1" };
    const pending = books.request("deposit", "100.00");
    expect([books.move(pending?.id ?? "", said), books.refusal]).toEqual([undefined, "illegal_transition"]);
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "unknown" });
    expect([books.move(id, { status: "processing", ...said }), books.refusal]).toEqual([
      undefined,
      "command_outstanding",
    ]);
  });

  it("is answered again where it says of a failed one that nothing was found", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "unknown" });
    const request = { status: "failed", reason, not_found: true } as const;
    expect(books.move(id, request)?.version).toBe(books.move(id, request)?.version);
    expect(now(books, { id })?.status).toBe("failed");
  });

  it("says what settles a return by hand where it lacks that, and settles it with it", () => {
    const books = funded();
    const { id, command } = taken(books, "withdrawal", "200.00");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-2" });
    books.move(id, { status: "completed" });
    books.move(id, { status: "returned", reason });
    for (const request of [{ operation_id: "B-3" }, { status: "completed", operation_id: "B-3" }] as const) {
      expect([books.move(id, request), books.refusal]).toEqual([undefined, "command_outstanding"]);
      expect(books.detail).toContain("send `status` returned, `reason` and `operation_id`");
    }
    expect(books.move(id, { status: "returned", reason, operation_id: "B-3" })?.status).toBe("returned");
  });

  it("needs a linked account and the scope of a settlement where it names an operation", () => {
    const { transaction, accountContext } = standing("withdrawal", "processing");
    const unlinked = moveTransaction(transaction, accountContext, by_hand, decisionContext());
    expect(unlinked).toMatchObject({ refusal: { code: "not_linked", errors: [{ pointer: "#/operation_id" }] } });
    const linked = { ...accountContext, account: { ...accountContext.account, source_id: "src_1" } };
    const context = decisionContext({ scopes: ["transactions:write"] });
    const refused = moveTransaction(transaction, linked, by_hand, context);
    expect(refused).toMatchObject({ refusal: { code: "insufficient_scope" } });
  });
});
