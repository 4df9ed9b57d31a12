import type { Balance, Contra, Ledger } from "../../../shared/domain/account.ts";
import type { MoneyCommand } from "../../../shared/domain/command/command.ts";
import type { Change, Decision } from "../../../shared/domain/decision.ts";
import type { Drift } from "../../../shared/domain/drift/drift.ts";
import type { AccountContext, Transaction } from "../../../shared/domain/transaction.ts";
import type { CorrectionLeg } from "../../../shared/domain/transaction-legs.ts";
import { checkAnnounced, claimOf, keyOf } from "./bridge-changes.ts";

/** What two books are stored in: each change is applied as the table would, an item on the version that was read. */
export class BookTable {
  readonly transactions = new Map<string, Transaction>();
  readonly commands = new Map<string, MoneyCommand>();
  readonly entries: Ledger[] = [];
  contra = 0n;
  /** Code of the last refusal. */
  refusal: string | undefined;
  /** What the last refusal of a request says. */
  detail: string | undefined;
  /** What is in transit between accounts. */
  inTransit = 0n;
  /** Differences that were found, which commands correct. */
  readonly drifts = new Map<string, Drift>();
  /** Commands that correct a balance and whose operation was not reported. */
  protected readonly markers = new Map<string, CorrectionLeg>();
  protected readonly accounts = new Map<string, AccountContext>();
  protected readonly claims = new Map<string, string>();

  accountOf(id: string): AccountContext {
    const account = this.accounts.get(id);
    if (account === undefined) throw new Error(`There is no account ${id}.`);
    return account;
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
      money[name] = typeof now === "bigint" ? now + BigInt(by) : Number(now) + Number(by);
    }
    this.keep({ ...account, balance: money as unknown as Balance });
  }

  private book({ control_account, amount_minor }: Contra): void {
    this.contra += amount_minor;
    if (control_account === "in_transit") this.inTransit += amount_minor;
  }
}
