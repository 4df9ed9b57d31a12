import fc from "fast-check";
import { expect, it } from "vitest";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import type { Ledger } from "../../../../shared/domain/records/ledger.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { Role } from "../../../../shared/roles.ts";
import { decisionContext } from "../../../support/builders/decisions.ts";
import type { PlatformOperation } from "./bridge-changes.ts";
import { TwoBooks } from "./bridge-model.ts";
import { World } from "./bridge-world.ts";

const people = ["opr_ana", "opr_eva", "opr_tom", "opr_uma"] as const;
const [amounts, limit] = [["40.00", "140.00", "150.00"], 10_000n] as const;
const acts = [
  ...([
    "deposit",
    "withdrawal",
    "approve",
    "approve",
    "approve",
    "remove",
    "restore",
    "rule",
    "moved",
    "moved",
  ] as const),
  ...(["named", "named", "unnamed", "report", "report", "people", "rejected", "cancelled", "take", "execute"] as const),
  ...(["ack", "time", "again", "role", "four", "link", "link"] as const),
];

const step = fc.record({
  act: fc.constantFrom(...acts),
  which: fc.nat({ max: 5 }),
  amount: fc.constantFrom(...amounts),
  who: fc.constantFrom(...people),
  told: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/**
 * Two books of a brokerage with a rule of deposits and of withdrawals, whose people come, go, get other roles, change
 * its policies, and end and renew the link of the account.
 */
class ApprovedWorld extends World {
  approvers = 2;
  readonly gone = new Set<string>();
  /** People without the role that the rule asks for. */
  readonly others = new Set<string>();
  four = false;
  /** Bookings while the account was linked to no platform. */
  private readonly own: Ledger[] = [];
  private readonly asked: { readonly who: string; readonly linked: boolean }[] = [];
  readonly seen = new Set<string>();
  private readonly authoritative: "platform" | "service";

  constructor(authoritative: "platform" | "service") {
    super(new TwoBooks({}, authoritative));
    this.authoritative = authoritative;
    for (const id of people) this.books.people.set(id, { active: true, role: "finance" });
    this.rule(2);
  }

  rule(approvers: number): void {
    this.approvers = approvers;
    const rule = { over: { USD: "100.00" }, approvers: Math.max(1, approvers), roles: ["finance"] as Role[] };
    const rules = (["deposit", "withdrawal"] as const).map((kind) => ({ kind, ...rule }));
    this.books.demand({ approval_rules: approvers === 0 ? [] : rules });
  }

  step(given: Step): void {
    const before = new Map(this.books.transactions);
    const [entries, linked] = [this.books.entries.length, this.linked];
    this.act(given);
    this.check();
    if (!linked) this.countOwn(entries);
    if (linked !== this.linked) this.judgeLink(given.who);
    for (const each of this.books.transactions.values()) this.judge(before.get(each.id)?.status, each);
    for (const { id, set_aside, command_id } of before.values()) {
      const isCommanded = set_aside !== undefined && this.books.transactions.get(id)?.command_id !== command_id;
      if (isCommanded) throw new Error(`${id} was paid, and is paid again by a command.`);
    }
  }

  /** Money that leaves the undecided states has the approvals that the rule of now asks; nothing else is booked. */
  private judge(from: Transaction["status"] | undefined, after: Transaction): void {
    const undecided = from === "pending" || from === "approved";
    const moves = after.status === "processing" || after.status === "completed";
    const size = after.amount_minor < 0n ? -after.amount_minor : after.amount_minor;
    const isCovered = size > limit && this.approvers > 0;
    const demanded = isCovered ? this.approvers : Number(undecided && (this.four || after.kind === "adjustment"));
    if (!moves || (from !== undefined && !undecided) || demanded === 0) return;
    const given = [...(after.approvals ?? []).map(({ actor }) => actor.id), after.approved_by?.id ?? ""];
    const fits = (id: string) => id.startsWith("opr_") && !this.gone.has(id) && !(isCovered && this.others.has(id));
    const own = new Set(given.filter(fits));
    const enough = own.size >= demanded;
    const announced = from === undefined && this.authoritative === "platform";
    if (!enough && !announced) throw new Error(`${after.id} moved with ${own.size} of ${demanded} approvals.`);
    if (!isCovered) this.seen.add("four eyes");
    if (after.platform_operations.length > 0 && undecided) this.seen.add("joined");
    if (announced) this.seen.add("announced");
  }

  private get linked(): boolean {
    return this.books.accountOf(this.books.main).account.source_id != null;
  }

  /** The account has money: another link of it takes two where approvals are asked for, the second one of the role. */
  private judgeLink(who: string): void {
    this.seen.add(this.linked ? "linked" : "unlinked");
    if (this.approvers === 0 && !this.four) return;
    const hasFirst = this.asked.some((each) => each.linked === this.linked && each.who !== who);
    const isAccepted = this.approvers === 0 || !this.others.has(who);
    if (!hasFirst || !isAccepted) throw new Error(`${who} alone changed the link.`);
  }

  private countOwn(from: number): void {
    for (const entry of this.books.entries.slice(from)) {
      if (entry.account_id === this.books.main) this.own.push(entry);
    }
  }

  /** Money of the account that its platform has not: it was booked without one, and none reported it later. */
  ownMinor(): bigint {
    const isOwn = ({ transaction_id }: Ledger) =>
      this.books.transactions.get(transaction_id ?? "")?.platform_operations?.length === 0;
    return this.own.filter(isOwn).reduce((sum, { amount_minor }) => sum + amount_minor, 0n);
  }

  private link(linked: boolean, who: string): void {
    const { main, source, now } = this.books;
    const role: Role = this.others.has(who) ? "developer" : "finance";
    const context = decisionContext({ now, actor: { type: "operator", id: who, name: who }, role });
    if (this.books.relink(main, source, linked, context) !== undefined) this.asked.push({ who, linked });
  }

  private act({ act, which, amount, who, told }: Step): void {
    const { books } = this;
    const all = [...books.transactions.values()].filter(
      ({ kind }) => kind === "deposit" || kind === "withdrawal" || kind === "adjustment",
    );
    const one = all.at(-1 - (which % Math.max(1, all.length)));
    const open = [...books.commands.values()].filter((each) => isOpen(each) && each.type === "balance_operation");
    const command = open.at(-1 - (which % Math.max(1, open.length)));
    if (act === "deposit" || act === "withdrawal") books.request(act, amount, "0.00");
    else if (act === "rule") this.rule(which % 4);
    else if (act === "four") this.fourEyes(told);
    else if (act === "role") this.role(who, told);
    else if (act === "link" && !this.gone.has(who)) this.link(!this.linked, who);
    else if (act === "remove" || act === "restore") this.people(who, act === "restore");
    else if (act === "time") this.run({ what: "time", which: 0, amount: "40.00", direct: told, told });
    else if (act === "unnamed") this.unreported.add(books.operate(told ? -15_000n : 14_000n, null));
    else if (act === "named" && one !== undefined) this.name(one);
    else if (act === "report" || act === "again") this.tell(which);
    else if (act === "people") this.settleAside(which, told, who);
    else if (command !== undefined && (act === "take" || act === "execute" || act === "ack"))
      this.handle(act, command, false);
    else if (one !== undefined && act === "approve" && !this.gone.has(who))
      books.move(one.id, { status: "approved" }, who);
    else if (one !== undefined && act === "moved") books.move(one.id, { status: told ? "processing" : "completed" });
    else if (one !== undefined && (act === "rejected" || act === "cancelled"))
      books.move(one.id, { status: act, reason: { code: "by_test" } });
  }

  private people(who: string, active: boolean): void {
    if (active) this.gone.delete(who);
    else this.gone.add(who);
    this.role(who, !this.others.has(who));
  }

  private fourEyes(four_eyes: boolean): void {
    this.four = four_eyes;
    this.books.demand({ four_eyes });
  }

  private role(who: string, isFinance: boolean): void {
    if (isFinance) this.others.delete(who);
    else this.others.add(who);
    this.books.people.set(who, { active: !this.gone.has(who), role: isFinance ? "finance" : "developer" });
  }

  /** A person at the platform moves the money of a transaction that no command was handed out for. */
  private name(one: Transaction): void {
    if (one.status !== "pending" && one.status !== "approved") return;
    const minor = one.kind === "withdrawal" ? -one.amount_minor : one.amount_minor;
    this.unreported.add(this.books.operate(minor, one.id));
  }

  private tell(which: number): void {
    const operation = [...this.unreported].at(which % Math.max(1, this.unreported.size));
    if (operation === undefined || !this.linked) return;
    if (this.books.report(operation) !== "rejected") this.unreported.delete(operation);
    else if (this.books.refusal === "approval_required" || this.books.asideOf(operation)) this.seen.add("set aside");
  }

  private settleAside(which: number, back: boolean, who: string): void {
    const operation = [...this.unreported].at(which % Math.max(1, this.unreported.size));
    if (operation === undefined || !this.linked) return;
    this.say(operation, back, who);
  }

  private say(operation: PlatformOperation, back: boolean, who: string): void {
    const said = back ? ({ take_back: true } as const) : ({ confirm_new: true } as const);
    const result = this.books.report(operation, "with_comment", said, who);
    if (result === "applied" && back) this.seen.add("taken back");
    if (result !== "rejected") this.unreported.delete(operation);
  }

  /** Operations that were not booked. */
  left(): number {
    return this.unreported.size;
  }

  /** Holds of open withdrawals. */
  held(): bigint {
    const held = [...this.books.transactions.values()].filter(
      ({ kind, status }) => kind === "withdrawal" && (status === "pending" || status === "approved"),
    );
    return held.reduce((sum, { amount_minor }) => sum + amount_minor, 0n);
  }

  /** Transactions that wait without a platform end, and two people link the account again. */
  private endUnlinked(): void {
    const from = this.books.entries.length;
    for (const { id } of this.books.transactions.values()) {
      for (const status of ["cancelled", "rejected", "completed"] as const) {
        this.books.move(id, { status, reason: { code: "by_test" } }, "opr_uma");
      }
    }
    this.countOwn(from);
    for (const who of ["opr_ana", "opr_eva"]) if (!this.linked) this.link(true, who);
    expect(this.linked, this.books.detail).toBe(true);
  }

  /** Everyone is there again, and what waits is approved, carried out or settled by people. */
  end(): void {
    this.others.clear();
    for (const who of people) this.people(who, true);
    if (!this.linked) this.endUnlinked();
    this.rule(2);
    for (let round = 0; round < 8; round += 1) {
      this.passTime(700);
      this.search();
      for (const who of people) for (const { id } of this.books.commands.values()) this.books.requeue(id, who);
      for (const { id, set_aside } of this.books.transactions.values()) {
        if (set_aside !== undefined) for (const who of people) this.books.move(id, { status: "approved" }, who);
      }
      for (const operation of [...this.unreported]) {
        if (this.books.report(operation) !== "rejected") this.unreported.delete(operation);
        else this.say(operation, false, "opr_ana");
      }
      for (const { id } of [...this.books.commands.values()].filter(isOpen)) {
        this.handle("take", this.books.command(id), false);
        this.handle("execute", this.books.command(id), false);
        this.handle("ack", this.books.command(id), false);
      }
    }
    this.check();
  }
}

it.each(["platform", "service"] as const)(
  "no money moves without its approvals, none twice, and both books end equal (%s)",
  (authoritative) => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 60, size: "max" }), (program) => {
        const world = new ApprovedWorld(authoritative);
        for (const each of program) world.step(each);
        world.end();
        expect(world.left()).toBe(0);
        expect(world.books.balance.balance_minor).toBe(world.books.platformMinor() + world.ownMinor());
        expect(world.books.balance.held_minor).toBe(world.held());
        for (const each of world.seen) seen.add(each);
      }),
      {
        numRuns: Number(process.env["APPROVED_RUNS"] ?? 300),
        seed: Number(process.env["APPROVED_SEED"] ?? 1),
        endOnFailure: true,
      },
    );
    const reached = authoritative === "platform" ? ["announced"] : ["taken back"];
    expect([...seen]).toEqual(
      expect.arrayContaining(["joined", "set aside", "four eyes", "unlinked", "linked", ...reached]),
    );
  },
);
