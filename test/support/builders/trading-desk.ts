import { isDeepStrictEqual } from "node:util";
import type { DomainEvent, Requirement } from "../../../shared/domain/kernel/decision.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Contra, Ledger } from "../../../shared/domain/records/ledger.ts";
import type { Order } from "../../../shared/domain/records/order.ts";
import type { Position } from "../../../shared/domain/records/position.ts";
import type { Risk } from "../../../shared/domain/records/risk.ts";
import type { Trade } from "../../../shared/domain/records/trade.ts";
import type { TradingChange, TradingDecision } from "../../../shared/domain/records/trading-change.ts";
import type { OpenTrade } from "../../../shared/domain/trading/close-trade.ts";
import type { OpeningState } from "../../../shared/domain/trading/market-trade.ts";

type Fields = Readonly<Record<string, unknown>>;

function meets(item: Fields, { attribute, is, value }: Requirement): boolean {
  const stored = item[attribute] as typeof value;
  if (is === "equal") return stored === value;
  if (is === "not") return stored !== value;
  return is === "at_least" ? stored >= value : stored < value;
}

/** Whether an account only takes a step of its adoption. */
function isStep({ opening, ...before }: Fields, after: Fields): boolean {
  const { opening: _left, ...rest } = after;
  return opening !== undefined && isDeepStrictEqual(before, rest);
}

/**
 * One account with everything that trading stores of it, kept in memory. It applies decisions as the table would: what
 * exists is not created again, and a change fails when it was decided on another version.
 */
export class TradingDesk {
  account: Account;
  balance: Balance;
  risk: Risk | undefined;
  readonly positions = new Map<string, Position>();
  readonly trades = new Map<string, Trade>();
  readonly orders = new Map<string, Order>();
  readonly transactions: Fields[] = [];
  readonly ledger: Ledger[] = [];
  readonly contra: Contra[] = [];
  readonly events: DomainEvent[] = [];
  /** Changes of the largest decision so far. */
  largest = 0;

  constructor({ account, balance }: { account: Account; balance: Balance }) {
    this.account = account;
    this.balance = balance;
  }

  /** State for a decision. */
  get state(): OpeningState {
    const { account, balance, risk, trades } = this;
    return { account, balance, risk, trades, positions: [...this.positions.values()], client: { status: "active" } };
  }

  /** The names of the events so far. */
  get announced(): string[] {
    return this.events.map(({ type }) => type);
  }

  /** A position with its trade; the only one when none is named. */
  open(id?: string): OpenTrade {
    const position = id === undefined ? [...this.positions.values()][0] : this.positions.get(id);
    const trade = position && this.trades.get(position.trade_id);
    if (position === undefined || trade === undefined) throw new Error("There is no such open position.");
    return { position, trade };
  }

  /** The closed trades. */
  get closed(): Trade[] {
    return [...this.trades.values()].filter(({ status }) => status === "closed");
  }

  /** Applies a decision; a refusal fails the test with its text. */
  apply<R>(decision: TradingDecision<R>): R {
    if (!decision.ok) throw new Error(`Refused: ${decision.refusal.code}: ${decision.refusal.detail}`);
    this.largest = Math.max(this.largest, decision.changes.length);
    for (const change of decision.changes) this.write(change);
    this.events.push(...decision.events);
    return decision.result;
  }

  private write(change: TradingChange): void {
    switch (change.op) {
      case "create":
        this.create(change.entity, change.item);
        return;
      case "update":
        this.update(change.entity, change.before as Fields, change.after as Fields);
        return;
      case "remove":
        this.expectStored(this.positions.get(change.before.id), change.before);
        this.positions.delete(change.before.id);
        return;
      case "adjust":
        if (change.entity === "balance") this.adjust(change);
        return;
      case "claim":
      case "release":
        return;
      case "list":
      case "unlist":
        return;
      default:
        throw new Error(`No trading decision makes a change ${change.op}.`);
    }
  }

  private tableOf(entity: string): Map<string, Fields> {
    const tables: Record<string, unknown> = { trade: this.trades, position: this.positions, order: this.orders };
    const table = tables[entity];
    if (table === undefined) throw new Error(`No trading decision writes a ${entity}.`);
    return table as Map<string, Fields>;
  }

  private create(entity: string, item: object): void {
    if (entity === "ledger") this.ledger.push(item as Ledger);
    else if (entity === "contra") this.contra.push(item as Contra);
    else if (entity === "transaction") this.transactions.push(item as Fields);
    else if (entity === "risk") {
      this.expectStored(this.risk, undefined);
      this.risk = item as Risk;
    } else {
      const table = this.tableOf(entity);
      const id = String((item as Fields)["id"]);
      this.expectStored(table.get(id), undefined);
      table.set(id, item as Fields);
    }
  }

  private update(entity: string, before: Fields, after: Fields): void {
    const more = Number(after["version"]) - Number(before["version"]);
    const fits = more === 1 || (entity === "account" && isStep(before, after));
    if (!fits) throw new Error(`A ${entity} skips a version.`);
    if (entity === "risk") {
      this.expectStored(this.risk, before);
      this.risk = after as unknown as Risk;
      return;
    }
    if (entity === "account") {
      this.expectStored(this.account, before);
      this.account = after as unknown as Account;
      return;
    }
    if (entity === "transaction") {
      const place = this.transactions.findIndex(({ id }) => id === before["id"]);
      this.expectStored(this.transactions[place], before);
      this.transactions[place] = after;
      return;
    }
    const table = this.tableOf(entity);
    const id = String(before["id"]);
    this.expectStored(table.get(id), before);
    table.set(id, after);
  }

  private adjust(change: Extract<TradingChange, { op: "adjust" }>): void {
    const failed = change.require.find((requirement) => !meets(this.balance as unknown as Fields, requirement));
    if (failed !== undefined) throw new Error(`The balance is no longer as it was decided on: ${failed.attribute}.`);
    const next: Record<string, unknown> = { ...this.balance, ...change.set };
    for (const [name, by] of Object.entries(change.add ?? {})) {
      next[name] = typeof by === "bigint" ? ((next[name] ?? 0n) as bigint) + by : (next[name] as number) + by;
    }
    const read = change.entity === "balance" && isDeepStrictEqual(change.before, this.balance);
    if (read && !isDeepStrictEqual(change.after, next))
      throw new Error("A change leaves another balance than it says.");
    this.balance = next as unknown as Balance;
  }

  private expectStored(stored: unknown, before: unknown): void {
    if (!isDeepStrictEqual(stored, before)) throw new Error("The item is no longer as it was decided on.");
  }
}
