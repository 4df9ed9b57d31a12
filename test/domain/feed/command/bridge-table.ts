import { amendAccount } from "../../../../shared/domain/accounts/amend-account.ts";
import { claimLogin } from "../../../../shared/domain/accounts/open-account.ts";
import { isOpen } from "../../../../shared/domain/feed/command/command.ts";
import type { Context } from "../../../../shared/domain/kernel/decision.ts";
import { approversOf, type Givers } from "../../../../shared/domain/money/givers.ts";
import type { AccountContext } from "../../../../shared/domain/money/transaction.ts";
import type { Account } from "../../../../shared/domain/records/account.ts";
import type { Balance } from "../../../../shared/domain/records/balance.ts";
import type { Change, Decision } from "../../../../shared/domain/records/change.ts";
import type { MoneyCommand } from "../../../../shared/domain/records/command.ts";
import type { Drift } from "../../../../shared/domain/records/drift.ts";
import type { Dedup } from "../../../../shared/domain/records/feed-item.ts";
import type { FeedSource } from "../../../../shared/domain/records/feed-source.ts";
import type { Contra, Ledger } from "../../../../shared/domain/records/ledger.ts";
import type { CorrectionLeg } from "../../../../shared/domain/records/leg.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import type { Role } from "../../../../shared/roles.ts";
import { someClient } from "../../../support/builders/decisions.ts";
import { checkAnnounced, claimOf, keyOf } from "./bridge-changes.ts";

/** The table of two books: each change is applied as the table would, an item on the version that was read. */
export class BookTable {
  readonly transactions = new Map<string, Transaction>();
  readonly commands = new Map<string, MoneyCommand>();
  readonly entries: Ledger[] = [];
  contra = 0n;
  /** Code of the last refusal. */
  refusal: string | undefined;
  /** Detail of the last refusal of a request. */
  detail: string | undefined;
  /** Money in transit between accounts. */
  inTransit = 0n;
  /** Differences that were found, which commands correct. */
  readonly drifts = new Map<string, Drift>();
  /** Commands that correct a balance and whose operation was not reported. */
  protected readonly markers = new Map<string, CorrectionLeg>();
  protected readonly accounts = new Map<string, AccountContext>();
  protected readonly claims = new Map<string, string>();
  /** Notes of operations that are set aside, by their identifiers. */
  protected readonly asides = new Map<string, Dedup>();

  /** Holds on an account by operations that are set aside, and their amount against a stop-out. */
  asideMinor(account_id: string): { readonly held: bigint; readonly counted: bigint } {
    const own = [...this.asides.values()].filter((mark) => mark.aside_account_id === account_id);
    const minors = own.map(({ aside_minor = 0n }) => aside_minor);
    const sum = (all: readonly bigint[]) => all.reduce((total, minor) => total + minor, 0n);
    return { held: -sum(minors.filter((minor) => minor < 0n)), counted: sum(minors.filter((minor) => minor > 0n)) };
  }

  /** Whether an operation is set aside for a transaction. */
  asideOf({ operation_id }: { readonly operation_id: string }): boolean {
    return this.asides.has(operation_id);
  }

  /** Notes what became of an operation that is set aside. */
  protected note(mark: Dedup): void {
    if (mark.status === "applied") this.asides.delete(mark.name);
    else this.asides.set(mark.name, mark);
  }

  /** Approvers who are not active, or have a role; all others are active. */
  readonly people = new Map<string, { readonly active: boolean; readonly role?: Role }>();

  /** Those who approved a transaction, as they are now. */
  protected giversOf(transaction: Transaction | undefined): Givers {
    const approvers = transaction === undefined ? [] : approversOf(transaction);
    return new Map(approvers.map(({ id }) => [id, this.people.get(id) ?? { active: true }]));
  }

  /** Commands that bring an account to what is booked here by so much, and whose operation was not reported. */
  protected corrections(account_id: string, minor: bigint): readonly string[] {
    const legs = [...this.markers.values()].filter((leg) => leg.account_id === account_id);
    const alike = legs.filter(({ amount_minor }) => amount_minor === minor);
    return alike.map(({ command_id, transaction_id }) => transaction_id ?? command_id);
  }

  /** Commands whose operation was not reported, as the markers of an account name them. */
  unreportedCommands(account_id: string): readonly string[] {
    return [...this.markers.values()].flatMap((leg) => (leg.account_id === account_id ? [leg.command_id] : []));
  }

  /** The actor: an operator with their role, or an application. */
  protected actingAs(id: string): Pick<Context, "actor" | "role"> {
    if (!id.startsWith("opr_")) return { actor: { type: "application", id, name: id } };
    return { actor: { type: "operator", id, name: id }, role: this.people.get(id)?.role };
  }

  accountOf(id: string): AccountContext {
    const account = this.accounts.get(id);
    if (account === undefined) throw new Error(`There is no account ${id}.`);
    return account;
  }

  /** Links an account to a source, or ends that, as a patch by a person does; undefined when it is refused. */
  relink(id: string, source: FeedSource, linked: boolean, context: Context): Account | undefined {
    const { source: _source, ...on } = this.accountOf(id);
    const { account, balance, tenant } = on;
    const login = claimLogin(account);
    if (login.op === "claim") this.claims.set(claimOf(login), id);
    const corrections = this.unreportedCommands(id).filter((each) => isOpen(this.commands.get(each) as MoneyCommand));
    const owned = { account, balance, tenant, corrections, client: someClient(), source };
    const done = this.commit(amendAccount(owned, { source_id: linked ? source.id : null }, context));
    if (done === undefined) return undefined;
    this.keep({ ...on, ...done, ...(done.account.source_id != null && { source }) });
    return done.account;
  }

  protected keep(account: AccountContext): void {
    this.accounts.set(account.account.id, account);
  }

  /** Applies a decision as the table would; undefined when it is refused or a claim is taken. */
  protected commit<R>(decision: Decision<R>): R | undefined {
    this.refusal = decision.ok ? undefined : decision.refusal.code;
    this.detail = decision.ok ? undefined : decision.refusal.detail;
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

  protected apply(change: Change): void {
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
      case "list":
      case "unlist":
        if ("command_id" in change.leg) this.mark(change.op, change.leg);
        return;
      case "create":
        if (change.entity === "contra") this.book(change.item as Contra);
        if (change.entity === "ledger") this.entries.push(change.item as Ledger);
        if (change.entity === "transaction") this.put(this.transactions, undefined, change.item as Transaction);
        if (change.entity === "command") this.put(this.commands, undefined, change.item as MoneyCommand);
        return;
      case "update":
        if (change.entity === "transaction") {
          this.put(this.transactions, change.before as Transaction, change.after as unknown as Transaction);
        }
        if (change.entity === "command") {
          this.put(this.commands, change.before as MoneyCommand, change.after as unknown as MoneyCommand);
        }
        if (change.entity === "account") this.keep({ ...this.accountOf(change.after.id), account: change.after });
        return;
      default:
        return;
    }
  }

  private mark(op: "list" | "unlist", leg: CorrectionLeg): void {
    if (op === "list") this.markers.set(leg.command_id, leg);
    else this.markers.delete(leg.command_id);
  }

  protected put<T extends { readonly id: string; readonly version: number }>(
    items: Map<string, T>,
    before: T | undefined,
    after: T,
  ): void {
    if (items.get(after.id)?.version !== before?.version) throw new Error(`${after.id} is another version.`);
    items.set(after.id, after);
  }

  private adjust(change: Extract<Change, { op: "adjust" }>): void {
    if (change.entity !== "balance") return;
    const account = this.accountOf(change.id);
    const money: Record<string, unknown> = { ...account.balance, ...change.set };
    for (const [name, by] of Object.entries(change.add ?? {})) {
      const now = money[name];
      money[name] = typeof by === "bigint" ? ((now ?? 0n) as bigint) + by : Number(now) + Number(by);
    }
    this.keep({ ...account, balance: money as unknown as Balance });
  }

  private book({ control_account, amount_minor }: Contra): void {
    this.contra += amount_minor;
    if (control_account === "in_transit") this.inTransit += amount_minor;
  }
}
