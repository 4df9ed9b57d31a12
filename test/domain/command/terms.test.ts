import { describe, expect, it } from "vitest";
import type { Account, Balance } from "../../../shared/domain/account.ts";
import { amendAccount } from "../../../shared/domain/amend-account.ts";
import {
  type Command,
  commandBody,
  isOpen,
  type TermsCommand,
  takeCommands,
} from "../../../shared/domain/command/command.ts";
import {
  acknowledgeTerms,
  amendOnPlatform,
  overdueTerms,
  reportTerms,
  requeueTerms,
} from "../../../shared/domain/command/terms.ts";
import type { Decision } from "../../../shared/domain/decision.ts";
import { isAdjustment } from "../../../shared/domain/posting.ts";
import type { TradingDecision } from "../../../shared/domain/trading/changes.ts";
import type { UpdateAccount } from "../../../shared/schema/account.ts";
import type { AckCommand } from "../../../shared/schema/feed/command.ts";
import { decisionContext, refused, someAccount, someClient } from "../../support/builders/decisions.ts";
import { someMarket } from "../../support/builders/trading.ts";

const market = someMarket();
const start = Date.parse("2026-11-21T06:30:00.000Z");
const link = { platform: "mt5", platform_login: "5001", source_id: "src_01JD0000000000000000000001" } as const;

/** What a platform says of an account. */
interface Terms {
  leverage: number;
  group: string;
  access: "full" | "close_only" | "none";
}

/** The book of this service about one linked account. It applies decisions as the table would. */
class Book {
  account: Account;
  balance: Balance;
  seconds = 0;
  readonly commands = new Map<string, Command>();
  readonly announced: string[] = [];
  readonly client = someClient();

  constructor(fields: Partial<Account> = {}) {
    const { account, balance } = someAccount({ type: "demo", leverage: 100, ...link, ...fields });
    [this.account, this.balance] = [account, balance];
  }

  get context() {
    const at = (seconds: number) => new Date(start + (this.seconds + seconds) * 1000).toISOString();
    return decisionContext({ now: at(0), in: at });
  }

  get state() {
    const { account, balance, client } = this;
    return { account, balance, client, positions: [], risk: undefined };
  }

  /** The one command of this status. */
  command(status: Command["status"]): TermsCommand {
    const found = [...this.commands.values()].filter((each) => each.status === status);
    expect(found).toHaveLength(1);
    return found[0] as TermsCommand;
  }

  apply<R>(decision: TradingDecision<R> | Decision<R>): R {
    if (!decision.ok) throw new Error(`${decision.refusal.code}: ${decision.refusal.detail}`);
    for (const change of decision.changes) {
      if (isAdjustment(change)) this.balance = change.after;
      if (change.op === "create" && change.entity === "command") {
        const item = change.item as Command;
        this.commands.set(item.id, item);
      }
      if (change.op !== "update") continue;
      if (change.entity === "account") {
        expect(change.before.version).toBe(this.account.version);
        this.account = change.after as Account;
      }
      if (change.entity === "command") {
        const after = change.after as Command;
        expect(change.before.version).toBe(this.commands.get(after.id)?.version);
        this.commands.set(after.id, after);
      }
    }
    this.announced.push(...decision.events.map(({ type }) => type));
    return decision.result;
  }

  patch(patch: UpdateAccount) {
    const { account, balance, client, context } = this;
    const owned = { account, balance, client, asked: [...this.commands.values()] };
    return amendOnPlatform(owned, patch, context, (part) => amendAccount(owned, part, context));
  }

  take(): readonly Command[] {
    const all = [...this.commands.values()];
    const busy = all
      .filter(({ status }) => status === "taken")
      .map((each) => JSON.stringify([each.account_id, each.lane]));
    const waiting = all.filter(({ status }) => status === "waiting");
    return this.apply(takeCommands(waiting, new Set(busy), { max: 10, lease_seconds: 60 }, this.context));
  }

  ack(id: string, ack: AckCommand): Command {
    const command = this.commands.get(id) as TermsCommand;
    return this.apply(acknowledgeTerms(command, this.state, market, ack, this.context));
  }

  report(data: Partial<Terms>): void {
    const asked = [...this.commands.values()];
    this.apply(reportTerms(this.state, market, { platform_login: "5001", ...data }, asked, this.context));
  }

  get terms(): Terms {
    const { leverage, group_id: group, trading_mode: access } = this.account;
    return { leverage, group, access };
  }
}

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

  it("is not active again while its platform may still be closing it, and is disabled where the source has ended", () => {
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
  readonly attempts: { readonly command: Command; isCarriedOut: boolean }[] = [];

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
      // Where a dealer gives a disabled account access again, or the platform refuses to take it, the command says so.
      const asked = ([...book.commands.values()] as TermsCommand[]).filter(
        ({ payload }) => payload.access !== undefined,
      );
      const ownWay = dealt || asked.at(-1)?.status === "failed";
      const access = book.account.status === "disabled" && ownWay ? "none" : terms.access;
      expect([seed, book.terms, book.account.pending]).toEqual([seed, { ...terms, access }, undefined]);
      for (const { status } of platform.book.commands.values()) ended.add(status);
    }
    for (const each of ["done", "failed", "cancelled", "command_outstanding"]) expect(ended).toContain(each);
  });
});
