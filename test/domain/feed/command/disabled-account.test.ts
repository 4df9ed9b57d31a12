import { describe, expect, it } from "vitest";
import { amendAccount } from "../../../../shared/domain/accounts/amend-account.ts";
import { amendOnPlatform, overdueTerms } from "../../../../shared/domain/feed/command/terms.ts";
import type { TermsCommand } from "../../../../shared/domain/records/command.ts";
import type { UpdateAccount } from "../../../../shared/schema/account.ts";
import { refused } from "../../../support/builders/decisions.ts";
import { Book } from "./terms-book.ts";

describe("an account that is disabled", () => {
  const accessOf = ({ payload }: TermsCommand) => payload.access;

  it("is disabled at once, may trade nothing on its platform, and what it traded before when it is active", () => {
    const book = new Book({ trading_mode: "close_only" });
    book.apply(book.patch({ status: "disabled" }));
    const { id } = book.command("waiting");
    expect(book.command("waiting")).toMatchObject({ type: "set_account_access", lane: "risk", not_after: null });
    expect(book.account).toMatchObject({ status: "disabled", trading_mode: "none", trading_mode_before: "close_only" });
    expect(book.account.pending).toEqual({ trading_mode: { value: "none", command_id: id } });
    book.take();
    book.report({ access: "none" });
    expect([book.command("done").id, book.account.pending]).toEqual([id, undefined]);
    book.apply(book.patch({ status: "active" }));
    expect([accessOf(book.command("waiting")), book.account.trading_mode]).toEqual(["close_only", "close_only"]);
  });

  it.each(["waiting", "taken", "unknown"] as const)(
    "does not wait for a command that is %s, and keeps its value",
    (was) => {
      const book = new Book();
      book.apply(book.patch({ trading_mode: "close_only" }));
      const { id } = book.command("waiting");
      if (was !== "waiting") book.take();
      if (was === "unknown") book.ack(id, { attempt: 1, status: "unknown" });
      book.apply(book.patch({ status: "disabled" }));
      expect(book.account).toMatchObject({ status: "disabled", trading_mode_before: "close_only" });
      expect(book.commands.get(id)?.status).toBe({ waiting: "cancelled", taken: "taken", unknown: "failed" }[was]);
      expect([accessOf(book.command("waiting")), book.take().length]).toEqual(["none", was === "taken" ? 0 : 1]);
      if (was !== "taken") return;
      expect(book.ack(id, { attempt: 1, status: "not_sent" }).status).toBe("failed");
      expect(book.take()).toHaveLength(1);
    },
  );

  it("does not hand out again what was taken when its lease runs out", () => {
    const book = new Book();
    book.apply(book.patch({ trading_mode: "close_only" }));
    book.take();
    book.apply(book.patch({ status: "disabled" }));
    book.seconds = 61;
    const lost = overdueTerms(book.command("taken"), book.context);
    expect(book.apply(lost as NonNullable<typeof lost>)).toMatchObject({
      status: "failed",
      error: { code: "superseded" },
    });
  });

  it("is not active again while its platform may still close it, and is disabled where its source has ended", () => {
    const book = new Book();
    book.apply(book.patch({ status: "disabled" }));
    book.take();
    expect(refused(book.patch({ status: "active" }) as never).code).toBe("command_outstanding");
    const other = new Book();
    const ended = { ...other.state, source: { ended_at: "2026-11-21T06:00:00.000Z" } as never };
    const amend = (part: UpdateAccount) => amendAccount(ended, part, other.context);
    other.apply(amendOnPlatform(ended, { status: "disabled" }, other.context, amend));
    expect([other.account.status, other.account.pending, other.commands.size]).toEqual(["disabled", undefined, 0]);
    const alone = new Book({ source_id: null });
    alone.apply(alone.patch({ status: "disabled" }));
    expect([alone.account.status, alone.commands.size]).toEqual(["disabled", 0]);
  });
});
