import { describe, expect, it } from "vitest";
import { amendAccount } from "../../../../shared/domain/accounts/amend-account.ts";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import { commandBody } from "../../../../shared/domain/feed/command/command-body.ts";
import {
  acknowledgeTerms,
  amendOnPlatform,
  overdueTerms,
  requeueTerms,
} from "../../../../shared/domain/feed/command/terms.ts";
import type { PlatformCommand, TermsCommand } from "../../../../shared/domain/records/command.ts";
import type { UpdateAccount } from "../../../../shared/schema/account.ts";
import type { AckCommand } from "../../../../shared/schema/feed/command.ts";
import { refused } from "../../../support/builders/decisions.ts";
import { Book, market, start, type Terms } from "./terms-book.ts";

describe("a term of an account that its platform decides", () => {
  it.each([
    ["leverage", 200, { type: "set_leverage", lane: "money", payload: { leverage: 200 } }],
    ["group_id", "vip", { type: "set_group", lane: "money", payload: { group: "vip" } }],
    ["trading_mode", "close_only", { type: "set_account_access", lane: "risk", payload: { access: "close_only" } }],
  ] as const)("changes %s once the platform has changed it, and the rest of the patch at once", (term, value, body) => {
    const book = new Book();
    const before = book.account[term];
    book.apply(book.patch({ name: "Second", [term]: value }));
    const { id } = book.command("waiting");
    expect(commandBody(book.command("waiting"))).toMatchObject({ ...body, not_after: null, transaction_id: null });
    expect(book.account).toMatchObject({ name: "Second", [term]: before, version: 2 });
    expect(book.account.pending).toEqual({ [term]: { value, command_id: id } });
    expect(book.patch({ [term]: value })).toMatchObject({ ok: true, changes: [] });
    book.take();
    book.ack(id, { attempt: 1, status: "done" });
    expect(book.account).toMatchObject({ [term]: value, version: 3 });
    expect(book.account.pending).toBeUndefined();
    expect(book.announced).toEqual(["account.updated", "command.issued", "account.updated", "command.settled"]);
  });

  it("changes at once where no source is linked", () => {
    const book = new Book({ source_id: null });
    book.apply(book.patch({ leverage: 200, group_id: "vip", trading_mode: "close_only" }));
    expect([book.terms, book.commands.size]).toEqual([{ leverage: 200, group: "vip", access: "close_only" }, 0]);
  });

  it("stays as it was when the platform refuses, also after it was unknown, and the command says why", () => {
    const book = new Book();
    book.apply(book.patch({ leverage: 200 }));
    const { id } = book.command("waiting");
    book.take();
    book.ack(id, { attempt: 1, status: "unknown" });
    expect(book.account.pending).toEqual({ leverage: { value: 200, command_id: id } });
    expect(book.ack(id, { attempt: 1, status: "failed" }).error).toEqual({ code: "platform_refused", message: null });
    expect([book.account.leverage, book.account.pending]).toEqual([100, undefined]);
  });

  it("is asked for later in the place of what waits, and given up by the value that it has", () => {
    const book = new Book();
    book.apply(book.patch({ leverage: 200 }));
    book.apply(book.patch({ leverage: 300 }));
    expect(book.command("cancelled").payload).toEqual({ leverage: 200 });
    expect(book.command("waiting").payload).toEqual({ leverage: 300 });
    book.apply(book.patch({ leverage: 100 }));
    expect(book.account.pending).toBeUndefined();
    expect([...book.commands.values()].filter(isOpen)).toEqual([]);
  });

  it("is not asked for twice at a time, and keeps its account linked and open", () => {
    const book = new Book();
    book.apply(book.patch({ leverage: 200 }));
    const { id } = book.command("waiting");
    const left = { code: "account_not_empty", extra: { left: [id] } };
    expect(refused(book.patch({ source_id: null }) as never)).toMatchObject(left);
    book.account = { ...book.account, status: "disabled", trading_mode: "none", trading_mode_before: "full" };
    expect(refused(book.patch({ status: "closed" }) as never)).toMatchObject(left);
    book.take();
    expect(refused(book.patch({ leverage: 300 }) as never)).toMatchObject({ code: "command_outstanding" });
    book.apply(book.patch({ group_id: "vip" }));
    expect(Object.keys(book.account.pending ?? {})).toEqual(["leverage", "group_id"]);
  });

  it("is refused by what refuses it here, before it is asked for", () => {
    const book = new Book({ type: "live", leverage: 30 });
    expect(refused(book.patch({ leverage: 200 }) as never).code).toBe("leverage_not_allowed");
    const ended = { ...book.state, source: { ended_at: "2026-11-21T06:00:00.000Z" } as never };
    const decision = amendOnPlatform(ended, { leverage: 20 }, book.context, (part) =>
      amendAccount(ended, part, book.context),
    );
    expect(refused(decision as never).code).toBe("source_ended");
  });

  it("stays pending while its outcome is unknown, until a report of the same value or a person settles it", () => {
    const book = new Book();
    book.apply(book.patch({ leverage: 200 }));
    const { id } = book.command("waiting");
    book.take();
    expect(overdueTerms(book.command("taken"), book.context)).toBeUndefined();
    book.seconds = 61;
    const lost = overdueTerms(book.command("taken"), book.context);
    book.apply(lost as NonNullable<typeof lost>);
    book.report({ leverage: 50 });
    expect(book.account).toMatchObject({ leverage: 50, pending: { leverage: { value: 200, command_id: id } } });
    book.apply(requeueTerms(book.command("unknown"), book.context));
    expect(refused(requeueTerms(book.command("waiting"), book.context)).code).toBe("illegal_transition");
    book.take();
    book.report({ leverage: 200, group: "vip" });
    expect([book.command("done").attempt, book.account.pending, book.terms.leverage]).toEqual([2, undefined, 200]);
    expect(book.ack(id, { attempt: 2, status: "failed" }).status).toBe("done");
    expect(
      refused(
        acknowledgeTerms(
          book.command("done"),
          book.state,
          market,
          { attempt: 3, status: "done" },
          book.context,
        ) as never,
      ),
    ).toMatchObject({ code: "validation_failed" });
  });
});

/** Numbers from a seed, so that a failing program can be played again. */
function randomOf(seed: number) {
  let state = seed * 2_654_435_761 + 1;
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  return { next, pick: <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T };
}

/** A platform with its own terms, whose dealer changes them too, and whose bridge loses, repeats and delays. */
class Platform {
  readonly book = new Book();
  terms: Terms = { ...this.book.terms };
  readonly feed: Partial<Terms>[] = [];
  /** A dealer has changed the access last, which this service follows while the account is active. */
  dealt = false;
  /** Attempts that were handed out and are still to be carried out, or not. */
  readonly attempts: { readonly command: PlatformCommand; isCarriedOut: boolean }[] = [];

  set(terms: Partial<Terms>): void {
    this.terms = { ...this.terms, ...terms };
    this.feed.push(terms);
  }

  deal(terms: Partial<Terms>): void {
    if (terms.access !== undefined) this.dealt = true;
    this.set(terms);
  }

  carryOut(at: number): void {
    const attempt = this.attempts[at];
    if (attempt === undefined || attempt.isCarriedOut) return;
    if (Date.parse(attempt.command.start_before ?? "") <= start + this.book.seconds * 1000) return;
    attempt.isCarriedOut = true;
    const terms = (attempt.command as TermsCommand).payload as Partial<Terms>;
    if (terms.access !== undefined) this.dealt = false;
    this.set(terms);
  }

  acknowledge(at: number, status: AckCommand["status"]): void {
    const attempt = this.attempts[at];
    if (attempt === undefined) return;
    const { command, isCarriedOut } = attempt;
    // A bridge says what is true, or that it does not know.
    if (isCarriedOut ? status === "failed" || status === "not_sent" : status === "done") return;
    if (!isCarriedOut) this.attempts.splice(at, 1);
    this.book.ack(command.id, { attempt: command.attempt, status });
  }

  deliver(): void {
    const item = this.feed.shift();
    if (item !== undefined) this.book.report(item);
  }

  elapse(seconds: number): void {
    const { book } = this;
    book.seconds += seconds;
    for (const command of book.commands.values()) {
      const lost = overdueTerms(command as TermsCommand, book.context);
      if (lost !== undefined) book.apply(lost);
    }
  }

  take(): void {
    for (const command of this.book.take()) this.attempts.push({ command, isCarriedOut: false });
  }

  requeue(): void {
    for (const command of this.book.commands.values()) {
      if (command.status === "unknown") this.book.apply(requeueTerms(command as TermsCommand, this.book.context));
    }
  }

  /** Lets everything arrive that is under way. */
  settle(): void {
    for (let round = 0; round < 5; round += 1) {
      this.elapse(61);
      this.requeue();
      this.take();
      for (const [at, { isCarriedOut }] of this.attempts.entries()) {
        if (!isCarriedOut) this.carryOut(at);
        this.acknowledge(at, "done");
      }
    }
    while (this.feed.length > 0) this.deliver();
  }
}

const wishes: readonly UpdateAccount[] = [
  ...[{ leverage: 50 }, { leverage: 100 }, { leverage: 200 }],
  ...[{ group_id: "default" }, { group_id: "vip" }, { group_id: "vip", leverage: 100 }],
  ...([{ trading_mode: "full" }, { trading_mode: "close_only" }, { trading_mode: "none" }] as const),
  ...([{ status: "disabled" }, { status: "active" }, { status: "active", trading_mode: "full" }] as const),
];

const reports: readonly Partial<Terms>[] = [
  ...[{ leverage: 50 }, { leverage: 200 }, { group: "vip" }, { group: "default", leverage: 100 }],
  ...([{ access: "close_only" }, { access: "full" }] as const),
];

describe("two books about the terms of an account", () => {
  it("are equal once everything has arrived, whatever the bridge loses and the dealer changes", () => {
    const ended = new Set<string>();
    for (let seed = 1; seed <= 300; seed += 1) {
      const platform = new Platform();
      const { next, pick } = randomOf(seed);
      for (let step = 0; step < 50; step += 1) {
        const at = Math.floor(next() * platform.attempts.length);
        const chance = next();
        if (chance < 0.2) {
          const decision = platform.book.patch(pick(wishes));
          if (decision.ok) platform.book.apply(decision);
          else ended.add(decision.refusal.code);
        } else if (chance < 0.35) platform.take();
        else if (chance < 0.55) platform.carryOut(at);
        else if (chance < 0.7) platform.acknowledge(at, pick(["done", "failed", "unknown", "not_sent"] as const));
        else if (chance < 0.78) platform.deal(pick(reports));
        else if (chance < 0.93) platform.deliver();
        else if (chance < 0.97) platform.elapse(20);
        else platform.requeue();
      }
      platform.settle();
      const { book, terms, dealt } = platform;
      // A dealer may give a disabled account access again, or the platform refuse to take it: its command has failed.
      const all = [...book.commands.values()] as TermsCommand[];
      const asked = all.filter(({ payload }) => payload.access !== undefined);
      const ownWay = dealt || asked.at(-1)?.status === "failed";
      const access = book.account.status === "disabled" && ownWay ? "none" : terms.access;
      expect([seed, book.terms, book.account.pending]).toEqual([seed, { ...terms, access }, undefined]);
      for (const { status } of platform.book.commands.values()) ended.add(status);
    }
    for (const each of ["done", "failed", "cancelled", "command_outstanding"]) expect(ended).toContain(each);
  });
});
