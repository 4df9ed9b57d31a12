import type { Balance, Contra } from "../../../shared/domain/account.ts";
import { type Command, commandChanges, isOpen, takenCommand } from "../../../shared/domain/command/command.ts";
import { acknowledge, type CommandState, overdue, requeueCommand } from "../../../shared/domain/command/settle.ts";
import type { Change, Context, Decision, DomainEvent } from "../../../shared/domain/decision.ts";
import { applyOperation, type OperationLinks, unconfirmed } from "../../../shared/domain/feed/join-operation.ts";
import { operationMarker } from "../../../shared/domain/feed/operation-marker.ts";
import type { Operation } from "../../../shared/domain/feed/platform-money.ts";
import { type FeedSource, registerSource } from "../../../shared/domain/feed/source.ts";
import { declineTransaction, moveTransaction } from "../../../shared/domain/move-transaction.ts";
import { requestDeposit, requestWithdrawal } from "../../../shared/domain/request-transaction.ts";
import type { AccountContext, Transaction } from "../../../shared/domain/transaction.ts";
import { unreportedLegsOf } from "../../../shared/domain/transaction-legs.ts";
import type { AckCommand } from "../../../shared/schema/feed/command.ts";
import type { UpdateTransaction } from "../../../shared/schema/transaction.ts";
import { decisionContext, someAccount, someClient } from "../../support/builders/decisions.ts";

const begin = Date.parse("2026-11-21T06:30:00.000Z");

/** An operation in the ledger of the simulated platform. */
export interface PlatformOperation {
  readonly operation_id: string;
  readonly minor: bigint;
  readonly reference: string | null;
}

/** Whether items carry the comment of their operation: a bridge may not be able to read it. */
type Comment = "with_comment" | "without_comment";

/**
 * Two books of one account: ours, changed by the decisions of the domain alone, and a platform's own ledger. Commands
 * and items pass between them as a bridge carries them. Each change is applied as the table would: an item on the
 * version that was read, a claim once.
 */
export class TwoBooks {
  readonly ledger: PlatformOperation[] = [];
  readonly transactions = new Map<string, Transaction>();
  readonly commands = new Map<string, Command>();
  readonly rejected: PlatformOperation[] = [];
  readonly source: FeedSource;
  contra = 0n;
  /** Operations that were booked in addition to the transaction that they name. */
  additional = 0;
  private account: AccountContext;
  private readonly claims = new Map<string, string>();
  private seconds = 0;
  private operations = 0;

  constructor(fields: { readonly four_eyes?: boolean } = {}) {
    const request = { name: "mt5:live-1", platform: "mt5" } as const;
    const made = registerSource(request, 0, this.context());
    if (!made.ok) throw new Error(made.refusal.detail);
    this.source = made.result;
    const link = { source_id: this.source.id, platform: "mt5", platform_login: "50012345" } as const;
    const account = someAccount(link);
    this.account = { ...account, tenant: { ...account.tenant, ...fields }, source: this.source };
  }

  get balance(): Balance {
    return this.account.balance;
  }

  /** What the platform has: the sum of its own ledger. */
  get platformMinor(): bigint {
    return this.ledger.reduce((sum, { minor }) => sum + minor, 0n);
  }

  get now(): string {
    return this.context().now;
  }

  /** Changes the policies of the brokerage. */
  demand(policies: { readonly four_eyes: boolean }): void {
    this.account = { ...this.account, tenant: { ...this.account.tenant, ...policies } };
  }

  /** The source ends: it takes no commands any more. */
  endSource(): void {
    this.account = { ...this.account, source: { ...this.source, ended_at: this.now } };
  }

  pass(seconds: number): void {
    this.seconds += seconds;
  }

  private context(): Context {
    const now = begin + this.seconds * 1000;
    return decisionContext({
      now: new Date(now).toISOString(),
      in: (seconds) => new Date(now + seconds * 1000).toISOString(),
    });
  }

  private contextOf(transaction?: Transaction): AccountContext {
    const id = transaction?.command_id;
    return { ...this.account, command: id === undefined ? undefined : this.commands.get(id) };
  }

  /** Asks for money as a caller of the API does; undefined when it is refused. */
  request(kind: "deposit" | "withdrawal", amount: string, fee = "0", status?: "completed"): Transaction | undefined {
    const body = { account_id: this.account.account.id, amount, fee, ...(status === undefined ? {} : { status }) };
    return this.commit(
      kind === "deposit"
        ? requestDeposit(this.contextOf(), body, this.context())
        : requestWithdrawal(someClient(), this.contextOf(), body, this.context()),
    );
  }

  /** Moves a transaction as a caller of the API does; undefined when it is refused. */
  move(id: string, patch: UpdateTransaction): Transaction | undefined {
    const transaction = this.known(id);
    return this.commit(moveTransaction(transaction, this.contextOf(transaction), patch, this.context()));
  }

  /** The provider of the sandbox declines a transaction; undefined when that is refused. */
  decline(id: string): Transaction | undefined {
    const transaction = this.known(id);
    const reason = { code: "provider_declined", message: null };
    return this.commit(declineTransaction(transaction, this.contextOf(transaction), reason, this.context()));
  }

  /** Takes a command; undefined when it does not wait or its lane is occupied. */
  take(id: string): Command | undefined {
    const command = this.command(id);
    const context = this.context();
    const after = takenCommand(command, { seconds: 60, in: context.in }, context);
    if (after === undefined) return undefined;
    return this.commit({ ok: true, result: after, changes: commandChanges(command, after), events: [] });
  }

  acknowledge(id: string, ack: AckCommand): Command | undefined {
    return this.commit(acknowledge(this.stateOf(id), ack, this.context()));
  }

  sweep(id: string): void {
    const decision = overdue(this.stateOf(id), this.context());
    if (decision !== undefined) this.commit(decision);
  }

  requeue(id: string): Command | undefined {
    return this.commit(requeueCommand(this.stateOf(id), this.context()));
  }

  private stateOf(id: string): CommandState {
    const command = this.command(id);
    const transaction = this.known(command.transaction_id ?? "");
    const sought = command.about_id === undefined ? undefined : this.commands.get(command.about_id);
    return { command, transaction, accountContext: this.contextOf(transaction), sought };
  }

  /** The platform moves money, by a command or by the hand of a person there. */
  operate(minor: bigint, reference: string | null): PlatformOperation {
    this.operations += 1;
    const operation = { operation_id: `B-${this.operations}`, minor, reference };
    this.ledger.push(operation);
    return operation;
  }

  /** The source reports an operation of the platform; one that cannot be told is put aside. */
  report(
    { operation_id, minor, reference }: PlatformOperation,
    comment: Comment = "with_comment",
    said?: { readonly transaction_id: string } | { readonly confirm_new: true },
  ): "applied" | "rejected" | "duplicate" {
    const named = said !== undefined && "transaction_id" in said ? said.transaction_id : undefined;
    const name = named ?? (comment === "with_comment" ? reference : null);
    const operation: Operation = {
      ...{ operation_id, platform_login: "50012345", reference: name },
      ...{ kind: "adjustment", amount: decimal(minor) },
    };
    const owner = this.claims.get(`source_operation ${operationMarker(this.source, operation_id)}`);
    const claimed = owner === undefined ? undefined : this.known(owner);
    const claimant = claimed && unconfirmed(claimed, this.source, operation_id) ? claimed : undefined;
    if (claimed !== undefined && claimant === undefined) return "duplicate";
    const links = { ...this.linksOf(name, minor), claimant, said: spoken(said) };
    const { account, balance } = this.account;
    const at = this.context().now;
    const origin = { source: this.source, at };
    const decision = applyOperation({ account, balance, floating_minor: 0n }, operation, links, origin, this.context());
    if (!decision.ok) return "rejected";
    if (decision.result["related_to"] !== undefined) this.additional += 1;
    return this.commit(decision as Decision<unknown>) === undefined ? "rejected" : "applied";
  }

  private linksOf(name: string | null, minor: bigint): Omit<OperationLinks, "said" | "claimant"> {
    const byName = name === null ? undefined : this.commands.get(name);
    const named = this.transactions.get(byName?.transaction_id ?? name ?? "");
    const command = byName ?? this.commands.get(named?.command_id ?? "");
    const candidates = [...this.transactions.values()].flatMap((each) =>
      unreportedLegsOf(each).some(({ alike }) => alike.includes(minor)) ? [each.id] : [],
    );
    return { tenant: this.account.tenant, named, command, candidates: named === undefined ? candidates : [] };
  }

  private known(id: string): Transaction {
    const transaction = this.transactions.get(id);
    if (transaction === undefined) throw new Error(`There is no transaction ${id}.`);
    return transaction;
  }

  private command(id: string): Command {
    const command = this.commands.get(id);
    if (command === undefined) throw new Error(`There is no command ${id}.`);
    return command;
  }

  /** Applies a decision as the table would; undefined when it is refused or a claim is taken. */
  private commit<R>(decision: Decision<R>): R | undefined {
    if (!decision.ok) return undefined;
    const changes = decision.changes as readonly Change[];
    const taken = changes.some(
      (change) => change.op === "claim" && this.claims.has(claimOf(change)) && change.instead_of === undefined,
    );
    if (taken) return undefined;
    checkAnnounced(changes, decision.events);
    const written = new Set<string>();
    for (const change of changes) {
      const key = keyOf(change);
      if (key !== undefined && written.has(key)) throw new Error(`Two changes of ${key} in one commit.`);
      if (key !== undefined) written.add(key);
      this.apply(change);
    }
    return decision.result;
  }

  private apply(change: Change): void {
    switch (change.op) {
      case "claim":
        this.claims.set(claimOf(change), change.owner);
        return;
      case "release":
        if (this.claims.get(claimOf(change)) !== change.owner) throw new Error("It releases what is not its own.");
        this.claims.delete(claimOf(change));
        return;
      case "adjust":
        this.adjust(change);
        return;
      case "create":
        if (change.entity === "contra") this.contra += (change.item as Contra).amount_minor;
        if (change.entity === "transaction") this.put(this.transactions, undefined, change.item as Transaction);
        if (change.entity === "command") this.put(this.commands, undefined, change.item as Command);
        return;
      case "update":
        if (change.entity === "transaction") {
          this.put(this.transactions, change.before as Transaction, change.after as unknown as Transaction);
        }
        if (change.entity === "command") {
          this.put(this.commands, change.before as Command, change.after as unknown as Command);
        }
        if (change.entity === "account") this.account = { ...this.account, account: change.after };
        return;
      default:
        return;
    }
  }

  private put<T extends { readonly id: string; readonly version: number }>(
    items: Map<string, T>,
    before: T | undefined,
    after: T,
  ): void {
    if (items.get(after.id)?.version !== before?.version) throw new Error(`${after.id} is another version.`);
    items.set(after.id, after);
  }

  private adjust(change: Extract<Change, { op: "adjust" }>): void {
    if (change.entity !== "balance") return;
    const money: Record<string, unknown> = { ...this.account.balance, ...change.set };
    for (const [name, by] of Object.entries(change.add ?? {})) {
      const now = money[name];
      money[name] = typeof now === "bigint" ? now + BigInt(by) : Number(now) + Number(by);
    }
    this.account = { ...this.account, balance: money as unknown as Balance };
  }
}

/** Each command that is issued or ends in a commit is announced in it, once. */
function checkAnnounced(changes: readonly Change[], events: readonly DomainEvent[]): void {
  const expected = changes.flatMap((change): string[] => {
    if (change.op === "create" && change.entity === "command") return [`command.issued ${(change.item as Command).id}`];
    if (change.op !== "update" || change.entity !== "command") return [];
    const [before, after] = [change.before as Command, change.after as unknown as Command];
    return isOpen(before) && !isOpen(after) ? [`command.settled ${after.id}`] : [];
  });
  const told = events.flatMap(({ type, resource }) => (type.startsWith("command.") ? [`${type} ${resource.id}`] : []));
  const [sorted, wanted] = [told.toSorted().join(), expected.toSorted().join()];
  if (sorted !== wanted) throw new Error(`It announces [${sorted}] where it does [${wanted}].`);
}

function claimOf({ kind, value }: { readonly kind: string; readonly value: string }): string {
  return `${kind} ${value}`;
}

function keyOf(change: Change): string | undefined {
  if (change.op === "claim" || change.op === "release") return claimOf(change);
  if (change.op === "update") return `${change.entity} ${(change.after as { readonly id: string }).id}`;
  return change.op === "adjust" ? `${change.entity} ${change.id}` : undefined;
}

function spoken(said: object | undefined): OperationLinks["said"] {
  if (said === undefined) return undefined;
  return "transaction_id" in said ? "is_named" : "is_new";
}

function decimal(minor: bigint): string {
  const size = minor < 0n ? -minor : minor;
  return `${minor < 0n ? "-" : ""}${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}

/** Books with 500.00 on both sides, which a person has paid in on the platform. */
export function funded(): TwoBooks {
  const books = new TwoBooks();
  if (books.report(books.operate(50_000n, null)) !== "applied") throw new Error("It was put aside.");
  return books;
}

/** The newest command about a transaction. */
export function commandOf(books: TwoBooks, { id }: Pick<Transaction, "id">): Command {
  const command = books.commands.get(books.transactions.get(id)?.command_id ?? "");
  if (command === undefined) throw new Error("No command was issued.");
  return command;
}

/** A transaction of which a command was issued and taken. */
export function taken(books: TwoBooks, kind: "deposit" | "withdrawal", amount: string, fee?: string) {
  const transaction = books.request(kind, amount, fee, "completed");
  if (transaction === undefined) throw new Error("It was refused.");
  const command = commandOf(books, transaction);
  if (books.take(command.id) === undefined) throw new Error("It was not handed out.");
  return { id: transaction.id, command };
}

/** The transaction as it is by now. */
export const now = (books: TwoBooks, { id }: Pick<Transaction, "id">) => books.transactions.get(id);
/** Balance, held, available and the number of pending transactions. */
export const money = ({ balance: { balance_minor, held_minor, available_minor, pending } }: TwoBooks) => [
  balance_minor,
  held_minor,
  available_minor,
  pending,
];
