import { replayFrom } from "../../../../shared/domain/accounts/debt.ts";
import { withChangeOf } from "../../../../shared/domain/feed/aside-money.ts";
import { commandChanges, isCorrection, takenCommand } from "../../../../shared/domain/feed/command/command.ts";
import {
  acknowledge,
  type CommandState,
  overdue,
  requeueCommand,
} from "../../../../shared/domain/feed/command/settle.ts";
import { applyOperation, unconfirmed } from "../../../../shared/domain/feed/join-operation.ts";
import { operationMarker } from "../../../../shared/domain/feed/operation-marker.ts";
import type { Operation } from "../../../../shared/domain/feed/platform-money.ts";
import type { OperationLinks } from "../../../../shared/domain/feed/reported.ts";
import { asideNotes, withAsideMoney } from "../../../../shared/domain/feed/set-aside.ts";
import { registerSource } from "../../../../shared/domain/feed/source.ts";
import { type Context, type DomainEvent, unchanged } from "../../../../shared/domain/kernel/decision.ts";
import { requestAdjustment } from "../../../../shared/domain/money/adjustment.ts";
import { requestCredit } from "../../../../shared/domain/money/credit.ts";
import { unreportedLegsOf } from "../../../../shared/domain/money/legs.ts";
import { continueSetAside, declineTransaction, moveTransaction } from "../../../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../../../shared/domain/money/request.ts";
import { type AccountContext, reversedFrom } from "../../../../shared/domain/money/transaction.ts";
import { transferStep } from "../../../../shared/domain/money/transfers/state.ts";
import {
  beginTransfer,
  creditTransfer,
  followCredit,
  holdTransfer,
  undoTransfer,
} from "../../../../shared/domain/money/transfers/steps.ts";
import { transferAmount } from "../../../../shared/domain/money/transfers/transfer.ts";
import type { Account } from "../../../../shared/domain/records/account.ts";
import type { Balance } from "../../../../shared/domain/records/balance.ts";
import type { Change, Decision } from "../../../../shared/domain/records/change.ts";
import type { MoneyCommand } from "../../../../shared/domain/records/command.ts";
import type { FeedSource } from "../../../../shared/domain/records/feed-source.ts";
import type { Ledger } from "../../../../shared/domain/records/ledger.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { AckCommand } from "../../../../shared/schema/feed/command.ts";
import type { UpdateTransaction } from "../../../../shared/schema/transaction.ts";
import { decisionContext, someAccount, someClient } from "../../../support/builders/decisions.ts";
import { decimal, namedBy, noteOf, type PlatformOperation, type Said, spoken } from "./bridge-changes.ts";
import { BookTable } from "./bridge-table.ts";

const begin = Date.parse("2026-11-21T06:30:00.000Z");

/** Whether items carry the comment of their operation: a bridge may not be able to read it. */
type Comment = "with_comment" | "without_comment";

/**
 * Two books of accounts: ours, changed by the decisions of the domain alone, and a platform's own ledger. Commands and
 * items pass between them as a bridge carries them. Each change is applied as the table would: an item on the version
 * that was read, a claim once. Most tests need one account; transfers go between three, one of them kept here alone.
 */
export class TwoBooks extends BookTable {
  readonly ledger: PlatformOperation[] = [];
  readonly rejected: PlatformOperation[] = [];
  readonly source: FeedSource;
  /** Operations that were booked in addition to the transaction that they name. */
  additional = 0;
  readonly main: string;
  readonly second: string;
  readonly wallet: string;
  private seconds = 0;
  private operations = 0;

  constructor(
    fields: { readonly four_eyes?: boolean } = {},
    /** Decides for the accounts; a loss beyond the money of those that the service decides for is corrected. */
    authoritative: FeedSource["authoritative"] = "platform",
  ) {
    super();
    const request = { name: "mt5:live-1", platform: "mt5", authoritative } as const;
    const made = registerSource(request, 0, this.context());
    if (!made.ok) throw new Error(made.refusal.detail);
    this.source = made.result;
    const protection = { negative_balance_protection: true };
    const link = { source_id: this.source.id, platform: "mt5", ...protection } as const;
    const client_id = someClient().id;
    const opened = (more: Partial<Account>, source?: FeedSource) => {
      const account = someAccount({ client_id, ...more });
      const { id } = account.account;
      this.accounts.set(id, { ...account, tenant: { ...account.tenant, ...fields }, ...(source && { source }) });
      return id;
    };
    this.main = opened({ ...link, platform_login: "50012345" }, this.source);
    this.second = opened({ ...link, platform_login: "50012346" }, this.source);
    this.wallet = opened({});
  }

  get balance(): Balance {
    return this.accountOf(this.main).balance;
  }

  /** Gives an account money that no platform has. */
  endow(id: string, minor: bigint): void {
    const account = this.accountOf(id);
    this.keep({ ...account, balance: { ...account.balance, balance_minor: minor, available_minor: minor } });
    this.contra -= minor;
  }

  /** The accounts with their money. */
  get all(): readonly AccountContext[] {
    return [...this.accounts.values()];
  }

  /** The platform's balance of an account: the sum of its own ledger. */
  platformMinor(id = this.main): bigint {
    const moves = this.ledger.filter(({ account_id, credits }) => account_id === id && credits === undefined);
    return moves.reduce((sum, { minor }) => sum + minor, 0n);
  }

  get now(): string {
    return this.context().now;
  }

  /** Changes the policies of the brokerage. */
  demand(policies: Partial<Pick<AccountContext["tenant"], "four_eyes" | "approval_rules">>): void {
    for (const each of this.all) this.keep({ ...each, tenant: { ...each.tenant, ...policies } });
  }

  /** The source ends: it takes no commands any more. */
  endSource(): void {
    const ended = { ...this.source, ended_at: this.now };
    for (const each of this.all) if (each.source !== undefined) this.keep({ ...each, source: ended });
  }

  pass(seconds: number): void {
    this.seconds += seconds;
  }

  protected context(actor?: string): Context {
    const now = begin + this.seconds * 1000;
    return decisionContext({
      now: new Date(now).toISOString(),
      in: (seconds) => new Date(now + seconds * 1000).toISOString(),
      ...(actor === undefined ? {} : this.actingAs(actor)),
    });
  }

  private contextOf(transaction?: Transaction): AccountContext {
    const id = transaction?.command_id;
    return {
      ...this.accountOf(transaction?.account_id ?? this.main),
      givers: this.giversOf(transaction),
      command: id === undefined ? undefined : this.commands.get(id),
      ...this.sinceDebit(transaction),
    };
  }

  /** Decides about a transaction as the service does: with the item that is set aside for it. */
  private decided(
    transaction: Transaction,
    decide: (accountContext: AccountContext) => Decision<Transaction>,
  ): Transaction | undefined {
    const on = this.contextOf(transaction);
    const mark = this.asides.get(transaction.set_aside?.operation_id ?? "");
    const context = this.context();
    const decision = withAsideMoney(transaction, decide(on), { mark }, on, context);
    const result = this.commit(decision);
    if (result === undefined) return undefined;
    for (const change of asideNotes(transaction, result, { mark }, context)) {
      if (change.op === "mark") this.note(change.after);
    }
    return result;
  }

  /** Asks for money as a caller of the API does; undefined when it is refused. */
  request(kind: "deposit" | "withdrawal", amount: string, fee = "0", status?: "completed"): Transaction | undefined {
    const body = { account_id: this.main, amount, fee, ...(status === undefined ? {} : { status }) };
    return this.commit(
      kind === "deposit"
        ? requestDeposit(this.contextOf(), body, this.context())
        : requestWithdrawal(someClient(), this.contextOf(), body, this.context()),
    );
  }

  /** Asks for an adjustment as a caller of the API does; undefined when it is refused. */
  adjustment(amount: string): Transaction | undefined {
    const body = { account_id: this.main, amount, reason: { code: "goodwill" } };
    return this.commit(requestAdjustment(this.contextOf(), body, this.context()));
  }

  /** Asks for credit as a caller of the API does; undefined when it is refused. */
  credit(
    direction: "in" | "out",
    amount: string,
    more: { readonly expires_at?: string } = {},
  ): Transaction | undefined {
    const body = { account_id: this.main, direction, amount, reason: { code: "bonus" }, ...more };
    return this.commit(requestCredit(this.contextOf(), body, this.context()));
  }

  /** Asks for a transfer as a caller of the API does; undefined when it is refused. */
  transfer(from: string, to: string, amount: string, approval = false): Transaction | undefined {
    const [debited, credited] = [this.accountOf(from), this.accountOf(to)];
    const request = { from_account_id: from, to_account_id: to, amount };
    const context = this.context();
    const sides = { ...debited, client: someClient(), from: debited, to: credited };
    const found = transferAmount(sides, request, context);
    if (!found.ok) return undefined;
    const none = { income_minor: 0n, conversion: null, mark_up_percent: "0.00", quote_id: null };
    const money = { amount_minor: found.result, credit_minor: found.result };
    const transfer = { id: context.newId("trf"), ...none, ...money };
    return this.commit(holdTransfer(debited, { transfer, other: credited.account, request, approval }, context));
  }

  /** Takes a transfer one step further, as the service does by itself; undefined when it has nothing to do. */
  advance(out: Transaction): Transaction | undefined {
    const { transfer } = out;
    if (transfer === undefined) return undefined;
    const into = transfer.transaction_id === null ? undefined : this.known(transfer.transaction_id);
    const [from, to] = [this.accountOf(out.account_id), this.accountOf(transfer.account_id)];
    const context = this.context();
    const next = transferStep(out, into);
    const undo = (reason: { code: string; message: null }) => this.commit(undoTransfer(out, from, reason, context));
    switch (next?.step) {
      case "begin":
        if (out.set_aside !== undefined) {
          return this.decided(out, (now) => continueSetAside(out, now, context) ?? unchanged(out));
        }
        return this.commit(
          beginTransfer(out, { ...from, givers: this.giversOf(out) }, { rate: undefined, to: to.account }, context),
        );
      case "credit": {
        const credited = creditTransfer(out, from.account, to, context);
        if (!credited.ok) return undo({ code: credited.refusal.code, message: null });
        const followed = followCredit(out, from, credited.result, context);
        if (!followed.ok) return undefined;
        const [changes, events] = [credited, followed].reduce<[Change[], DomainEvent[]]>(
          ([all, said], each) => [
            [...all, ...each.changes],
            [...said, ...each.events],
          ],
          [[], []],
        );
        return this.commit({ ...followed, changes, events });
      }
      case "follow":
        return into && this.commit(followCredit(out, from, into, context));
      case "undo":
        return this.commit(undoTransfer(out, from, next.reason, context));
      default:
        return undefined;
    }
  }

  /** Moves a transaction as a caller of the API does; undefined when it is refused. */
  move(id: string, patch: UpdateTransaction, actor?: string): Transaction | undefined {
    const transaction = this.known(id);
    return this.decided(transaction, (now) => moveTransaction(transaction, now, patch, this.context(actor)));
  }

  /** The provider of the sandbox declines a transaction; undefined when that is refused. */
  decline(id: string): Transaction | undefined {
    const transaction = this.known(id);
    const reason = { code: "provider_declined", message: null };
    return this.decided(transaction, (now) => declineTransaction(transaction, now, reason, this.context()));
  }

  /** Takes a command; undefined when it does not wait or its lane is occupied. */
  take(id: string): MoneyCommand | undefined {
    const command = this.command(id);
    const context = this.context();
    const after = takenCommand(command, { seconds: 60, in: context.in }, context);
    if (after === undefined) return undefined;
    return this.commit({ ok: true, result: after, changes: commandChanges(command, after), events: [] });
  }

  acknowledge(id: string, ack: AckCommand): MoneyCommand | undefined {
    return this.commit(acknowledge(this.stateOf(id), ack, this.context()));
  }

  sweep(id: string): void {
    const decision = overdue(this.stateOf(id), this.context());
    if (decision !== undefined) this.commit(decision);
  }

  requeue(id: string, actor?: string): MoneyCommand | undefined {
    return this.commit(requeueCommand(this.stateOf(id), this.context(actor)));
  }

  private stateOf(id: string): CommandState {
    const command = this.command(id);
    const sought = command.about_id === undefined ? undefined : this.commands.get(command.about_id);
    if (command.purpose !== "transaction") {
      const { tenant, source } = this.accountOf(command.account_id);
      return command.purpose === "drift"
        ? { command, about: { purpose: "drift", drift: this.drifts.get(command.drift_id), tenant }, sought }
        : { command, about: { purpose: "settlement", source, tenant }, sought };
    }
    const transaction = this.known(command.transaction_id);
    const accountContext = this.contextOf(transaction);
    return { command, about: { purpose: "transaction", transaction, leg: command.leg, accountContext }, sought };
  }

  /** The platform moves money, by a command or by the hand of a person there. */
  operate(minor: bigint, reference: string | null, account_id = this.main, credits?: true): PlatformOperation {
    this.operations += 1;
    const numbered = { operation_id: `B-${this.operations}`, seq: this.operations, at: this.now };
    const operation = { ...numbered, minor, reference, account_id, ...(credits && { credits }) };
    this.ledger.push(operation);
    return operation;
  }

  /** The source reports an operation of the platform; one that cannot be told is put aside. */
  report(
    { operation_id, minor, reference, account_id, seq, credits }: PlatformOperation,
    comment: Comment = "with_comment",
    said?: Said,
    actor?: string,
  ): "applied" | "rejected" | "duplicate" {
    const name = namedBy(said) ?? (comment === "with_comment" ? reference : null);
    const { account, balance } = this.accountOf(account_id);
    const operation: Operation = {
      ...{ operation_id, platform_login: account.platform_login ?? "", reference: name },
      kind: credits === undefined ? "adjustment" : minor > 0n ? "credit_in" : "credit_out",
      amount: decimal(credits === undefined || minor > 0n ? minor : -minor),
    };
    const owner = this.claims.get(`source_operation ${operationMarker(this.source, operation_id)}`);
    const claimed = this.transactions.get(owner ?? "");
    const claimant = claimed && unconfirmed(claimed, this.source, operation_id) ? claimed : undefined;
    const aside = claimed?.set_aside;
    const waits = aside?.operation_id === operation_id && aside.taken_back_by === undefined;
    const waiting = waits ? claimed : undefined;
    const command = this.commands.get(owner ?? "");
    const claiming = isCorrection(command) && command.feed_seq === undefined ? command : undefined;
    const open = claimant ?? claiming ?? waiting;
    if (owner !== undefined && open === undefined) return "duplicate";
    const known = { claimant, claiming, waiting, said: spoken(said) };
    const linked = this.linksOf(name, minor, account_id);
    const givers = new Map([...this.giversOf(linked.named), ...this.giversOf(waiting)]);
    const links = { ...linked, ...known, givers };
    const at = this.context().now;
    const origin = { source: this.source, at };
    const context = { ...this.context(actor), cause: { source_id: this.source.id, feed_seq: String(seq) } };
    const decision = applyOperation({ account, balance, floating_minor: 0n }, operation, links, origin, context);
    this.refusal = decision.ok ? undefined : decision.refusal.code;
    if (!decision.ok) return "rejected";
    if (decision.result["related_to"] !== undefined) this.additional += 1;
    const before = this.asides.get(operation_id);
    const after = decision.aside && noteOf(decision.aside, this.source, operation_id, String(seq), at);
    const [was, is] = [before?.aside_minor ?? 0n, after?.aside_minor ?? 0n];
    const changes = was === is ? decision.changes : withChangeOf(decision.changes, balance, was, is, context);
    if (this.commit({ ...decision, changes } as Decision<unknown>) === undefined) return "rejected";
    if (after === undefined) this.asides.delete(operation_id);
    else this.note(after);
    return after === undefined ? "applied" : "rejected";
  }

  private linksOf(name: string | null, minor: bigint, account_id: string): Omit<OperationLinks, "said" | "claimant"> {
    const byName = name === null ? undefined : this.commands.get(name);
    const named = this.transactions.get(byName?.transaction_id ?? name ?? "");
    const command = byName ?? this.commands.get(named?.command_id ?? "");
    const candidates = [...this.transactions.values()].flatMap((each) =>
      each.account_id === account_id && unreportedLegsOf(each).some(({ alike }) => alike.includes(minor))
        ? [each.id]
        : [],
    );
    return {
      tenant: this.accountOf(account_id).tenant,
      named,
      command,
      drift: isCorrection(command) ? this.drifts.get(command.drift_id ?? "") : undefined,
      candidates: named === undefined ? [...candidates, ...this.corrections(account_id, minor)] : [],
      ...(named?.returning === undefined ? {} : this.sinceDebit(named)),
    };
  }

  /** The ledger since the debit of a transaction, where what was settled since then depends on it. */
  private sinceDebit(transaction: Transaction | undefined): Pick<AccountContext, "since_debit"> {
    if (transaction === undefined) return {};
    const { account_id } = transaction;
    const from = reversedFrom(transaction, this.accountOf(account_id).balance);
    return from === undefined ? {} : { since_debit: this.entriesFrom(account_id, from) };
  }

  /** The entries of an account from a number on, and from further back as far as a replay needs. */
  protected entriesFrom(account_id: string, from: number): readonly Ledger[] {
    const own = this.entries.filter((each) => each.account_id === account_id);
    for (let first = from; ; ) {
      const entries = own.filter(({ balance_version: at }) => at >= first);
      const next = replayFrom(entries, first);
      if (next === first) return entries;
      first = next;
    }
  }

  private known(id: string): Transaction {
    const transaction = this.transactions.get(id);
    if (transaction === undefined) throw new Error(`There is no transaction ${id}.`);
    return transaction;
  }

  command(id: string): MoneyCommand {
    const command = this.commands.get(id);
    if (command === undefined) throw new Error(`There is no command ${id}.`);
    return command;
  }
}
