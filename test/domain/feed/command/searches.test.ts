import { describe, expect, it } from "vitest";
import { limits } from "../../../../shared/limits.ts";
import { commandOf, now, taken } from "./bridge-cases.ts";
import { TwoBooks } from "./bridge-model.ts";

/** A deposit whose outcome is unknown, and what a bridge and the sweep do with the searches for its operation. */
function unknown() {
  const books = new TwoBooks();
  const { id, command } = taken(books, "deposit", "100.00");
  books.acknowledge(command.id, { attempt: 1, status: "unknown" });
  const searches = () => [...books.commands.values()].filter(({ about_id }) => about_id === command.id);
  const end = (status: "failed" | "done", operation_id?: string) => {
    const search = searches().at(-1)?.id ?? "";
    books.take(search);
    books.acknowledge(search, { attempt: 1, status, ...(operation_id === undefined ? {} : { operation_id }) });
  };
  const sweep = (seconds: number) => {
    books.pass(seconds);
    books.sweep(command.id);
  };
  return { books, id, command, searches, end, sweep };
}

describe("a search that its bridge could not make", () => {
  it("is issued again after ten minutes, not before, and its result counts as that of the first", () => {
    const { books, id, command, searches, end, sweep } = unknown();
    end("failed");
    sweep(limits.commands.searched_again_seconds - 1);
    expect(searches()).toHaveLength(1);
    sweep(1);
    sweep(60);
    expect(searches().map(({ status }) => status)).toEqual(["failed", "waiting"]);
    books.operate(10_000n, command.id);
    end("done", "B-1");
    expect(now(books, { id })).toMatchObject({ status: "completed" });
    expect(commandOf(books, { id })).toMatchObject({ status: "done", operation_id: "B-1" });
  });

  it("is issued a few times at the most", () => {
    const { searches, end, sweep } = unknown();
    for (let turn = 0; turn < limits.commands.max_searches + 3; turn += 1) {
      if (searches().at(-1)?.status === "waiting") end("failed");
      sweep(limits.commands.searched_again_seconds);
    }
    expect(searches()).toHaveLength(limits.commands.max_searches);
    expect(searches().every(({ status }) => status === "failed")).toBe(true);
  });
});

describe("a command that was acknowledged with a wrong operation", () => {
  it("shows the operation that names it once that is reported", () => {
    const books = new TwoBooks();
    const { id, command } = taken(books, "deposit", "100.00");
    books.acknowledge(command.id, { attempt: 1, status: "done", operation_id: "B-9" });
    expect(commandOf(books, { id }).operation_id).toBe("B-9");
    expect(books.report(books.operate(10_000n, command.id))).toBe("applied");
    expect(commandOf(books, { id })).toMatchObject({ status: "done", operation_id: "B-1" });
  });
});
