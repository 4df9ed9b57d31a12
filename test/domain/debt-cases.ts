import fc from "fast-check";
import { lotsOf } from "../../shared/domain/accounts/credit-lots.ts";
import { replayFrom } from "../../shared/domain/accounts/debt.ts";
import { withChangeOf, withoutAside } from "../../shared/domain/feed/aside-money.ts";
import { platformMoved } from "../../shared/domain/feed/command/money.ts";
import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import { formatAmount, least } from "../../shared/domain/kernel/money.ts";
import { requestCredit } from "../../shared/domain/money/credit.ts";
import { expireTransaction, moveTransaction } from "../../shared/domain/money/move.ts";
import { requestDeposit, requestWithdrawal } from "../../shared/domain/money/request.ts";
import { type AccountContext, returningFields, reversedFrom } from "../../shared/domain/money/transaction.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Balance } from "../../shared/domain/records/balance.ts";
import type { Change, Decision } from "../../shared/domain/records/change.ts";
import type { Ledger } from "../../shared/domain/records/ledger.ts";
import type { Tenant } from "../../shared/domain/records/tenant.ts";
import type { TradingDecision } from "../../shared/domain/records/trading-change.ts";
import type { Returning, Transaction } from "../../shared/domain/records/transaction.ts";
import { closeTrade } from "../../shared/domain/trading/close-trade.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../shared/domain/trading/pricing/quote.ts";
import { evaluateMargin } from "../../shared/domain/trading/stop-out.ts";
import type { UpdateTransaction } from "../../shared/schema/transaction.ts";
import { decisionContext, decisionTime, someAccount, someClient } from "../support/builders/decisions.ts";
import { marketAt, someMarket, tradingAccount, usd } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";
import type { JudgedCredit, JudgedEntry } from "../support/oracles/debt-oracle.ts";

export const { tenant } = someAccount();

export const context = decisionContext();

/** A client's account with its money and its trades, driven by the decisions of the service alone. */
export class Book {
  readonly desk: TradingDesk;
  market: Market;
  /** Numbers of the postings after which the account was left without a position, or followed by a platform. */
  readonly settles = new Map<number, "due" | "owed">();
  /** The part of the balance that open positions had lost again at each posting, by its place in the ledger. */
  readonly offsets: bigint[] = [];
  /** Numbers of the postings after which there was no position. */
  private readonly flats: number[] = [];

  /** Effect of withdrawals on credit from now on. */
  policy: Tenant["credit_on_withdrawal"];
  /** Own effect of entries that move credit, by their numbers. */
  private readonly credits = new Map<number, JudgedCredit>();
  /** How many entries there were after each decision. */
  private readonly ends: number[] = [];
  /** How many entries each one belongs behind that was reported late, by its number. */
  private readonly lates = new Map<number, number>();
  /** Operations of the platform that are put aside, with how many entries there were when they happened. */
  private readonly asides: { readonly minor: bigint; readonly behind: number }[] = [];
  /** Credit that each debit removed, by its number. */
  private readonly removes = new Map<number, JudgedEntry["removes"]>();

  constructor(fields: Partial<Account> = {}, money: Partial<Balance> = {}, market = someMarket()) {
    this.desk = new TradingDesk(tradingAccount("0.00", fields, money));
    this.market = market;
  }

  private get tenant(): Tenant {
    return this.policy === undefined ? tenant : { ...tenant, credit_on_withdrawal: this.policy };
  }

  get accountContext(): AccountContext {
    const { account, balance, state } = this.desk;
    const { tenant } = this;
    if (balance.positions === 0) return { tenant, account, balance };
    const metrics = metricsAt(this.market, state, decisionTime);
    const backed = metrics.equity_minor - metrics.credit_minor - metrics.used_margin_minor;
    const payable_minor = least(balance.balance_minor, backed);
    const { floating_minor, stale, free_margin_minor: free_minor } = metrics;
    return {
      tenant,
      account,
      balance,
      margin: { payable_minor, free_minor, floating_minor, stale, liquidating: false },
    };
  }

  /** Applies a decision about money; undefined when it was refused. */
  private take(decision: Decision<Transaction>): Transaction | undefined {
    const { floating_minor } = metricsAt(this.market, this.desk.state, decisionTime);
    const profit = this.realised > 0n ? this.realised : 0n;
    const lost = floating_minor < 0n ? -floating_minor : 0n;
    const known = this.desk.ledger.length;
    const taken = decision.ok ? this.desk.apply(decision) : undefined;
    const policy = this.policy === "keep" ? undefined : this.policy;
    for (const { kind, amount_minor, balance_version } of this.desk.ledger.slice(known)) {
      if (kind === "withdrawal" && amount_minor < 0n) this.removes.set(balance_version, policy);
    }
    while (this.offsets.length < this.desk.ledger.length) this.offsets.push(profit < lost ? profit : lost);
    this.ends.push(this.desk.ledger.length);
    return taken;
  }

  deposit(amount: string): Transaction | undefined {
    const request = { account_id: this.desk.account.id, amount, status: "completed" } as const;
    return this.take(requestDeposit(this.accountContext, request, context));
  }

  withdraw(amount: string, status: "processing" | "completed", fee = "0"): Transaction | undefined {
    const request = { account_id: this.desk.account.id, amount, fee };
    const asked = this.take(requestWithdrawal(someClient(), this.accountContext, request, context));
    return asked && this.move(asked, { status });
  }

  /** Money that the platform of the account moved before the last so many postings, and reports now. */
  reportLate(amount: string, postings: number): void {
    // The entries of a decision have one time: nothing happens between them.
    this.report(usd(amount), this.ends.at(-1 - postings) ?? 0);
  }

  /** An operation of the platform that could be money of a transaction, and is put aside. */
  putAside(amount: string, sign: 1n | -1n): void {
    const aside = { minor: sign * usd(amount), behind: this.desk.ledger.length };
    const changes = withChangeOf([], this.desk.balance, 0n, aside.minor, context);
    this.desk.apply({ ok: true, result: undefined, changes, events: [] });
    this.asides.push(aside);
  }

  /** An operation that was put aside is decided: it is new money, or was money of a transaction. */
  decideAside(nth: number, isNew: boolean): void {
    const [aside] = this.asides.splice(nth % Math.max(1, this.asides.length), 1);
    if (aside === undefined) return;
    if (isNew && this.report(aside.minor, aside.behind, aside.minor)) return;
    const changes = withChangeOf([], this.desk.balance, aside.minor, 0n, context);
    this.desk.apply({ ok: true, result: undefined, changes, events: [] });
  }

  /** Amounts put aside of each sign: the hold for it, and the amount against a stop-out. */
  get aside(): { readonly held: bigint; readonly counted: bigint } {
    const sum = (sign: bigint) =>
      this.asides.reduce((total, { minor }) => (minor * sign > 0n ? total + minor * sign : total), 0n);
    return { held: sum(-1n), counted: sum(1n) };
  }

  /**
   * Money that the platform of the account moved when it had so many entries, and reports now.
   * @param aside what it did to the money of the account until now; 0 where it was not put aside
   * @returns whether it was booked
   */
  private report(minor: bigint, behind: number, aside = 0n): boolean {
    const { state, balance, ledger } = this.desk;
    const kind = minor < 0n ? "adjustment" : "deposit";
    const amount = formatAmount(minor, "USD");
    const operation = { operation_id: `B-${ledger.length}`, platform_login: "5001", kind, amount } as const;
    const { floating_minor } = metricsAt(this.market, state, decisionTime);
    const source = { id: "src_01JD0000000000000000000001", name: "mt5:live-1", authoritative: "service" } as const;
    const place = behind + 1;
    const matters = minor > 0n && (balance.below_zero_seq ?? 0) >= place && place <= balance.seq;
    const late = matters ? { seq: place, entries: this.since(place) } : undefined;
    const links = { tenant: this.tenant, named: undefined, candidates: [], said: undefined, late };
    const origin = { source, at: decisionTime };
    const applied = applyOperation({ ...state, floating_minor }, operation, links, origin, context);
    const decision = withoutAside(applied, { aside_minor: aside }, balance, context);
    if (!decision.ok) return false;
    if (minor > 0n) this.lates.set(ledger.length + 1, behind);
    this.take(decision as never);
    return true;
  }

  /** A payout that the platform of the account brought back before the last so many postings, and reports now. */
  bringBackLate(payout: Transaction, postings: number): void {
    const { accountContext } = this;
    const { balance } = accountContext;
    const place = (this.ends.at(-1 - postings) ?? 0) + 1;
    const matters = (balance.below_zero_seq ?? 0) >= place && place <= balance.seq;
    const late = matters ? { seq: place, entries: this.since(place) } : undefined;
    const source = { id: "src_01JD0000000000000000000001", authoritative: "service" } as const;
    const evidence = { source, operation_id: "B-1", at: decisionTime, confirmed: true, late };
    const returning = { minor: payout.amount_minor, to: "failed", reason: null, held_minor: 0n, kept_fee_minor: 0n };
    const asked = { ...payout, ...returningFields(returning as Returning) };
    const from = reversedFrom(payout, balance);
    const found = from === undefined ? accountContext : { ...accountContext, since_debit: this.since(from) };
    const decision = platformMoved(asked, "reverse", found, evidence, context);
    if (!decision.ok) return;
    const changes = decision.changes.map((each): Change => {
      return each.op === "update" && each.entity === "transaction" ? { ...each, before: payout } : each;
    });
    this.take({ ...decision, changes });
  }

  /** Grants credit, which ends after so many days where they are given. */
  grant(amount: string, days?: number): Transaction | undefined {
    const ends = days === undefined ? undefined : new Date(Date.parse(decisionTime) + days * 86_400_000).toISOString();
    const asked = this.credit("in", amount, ends);
    const granted = asked && this.move(asked, { status: "completed" });
    if (granted) this.credits.set(this.desk.ledger.length, { does: "grant", lot: granted.id, ends: ends ?? null });
    return granted;
  }

  /** Takes credit back, as far as it is there and open positions do not need it. */
  takeBack(amount: string): void {
    const asked = this.credit("out", amount);
    if (asked && this.move(asked, { status: "completed" })) this.credits.set(this.desk.ledger.length, { does: "take" });
  }

  private credit(direction: "in" | "out", amount: string, expires_at?: string): Transaction | undefined {
    const ends = expires_at === undefined ? {} : { expires_at };
    const request = { account_id: this.desk.account.id, direction, amount, reason: { code: "bonus" }, ...ends };
    return this.take(requestCredit(this.accountContext, request, context));
  }

  /** The end of credit that was granted, at its time. */
  endCredit(granted: Transaction): void {
    const now = granted.credit?.expires_at ?? decisionTime;
    const later = (seconds: number) => new Date(Date.parse(now) + seconds * 1000).toISOString();
    const decision = expireTransaction(granted, this.accountContext, decisionContext({ now, in: later }));
    if (decision === undefined) return;
    this.take(decision);
    this.credits.set(this.desk.ledger.length, { does: "end", lot: granted.id });
  }

  move(transaction: Transaction, request: UpdateTransaction): Transaction | undefined {
    const { accountContext } = this;
    const from = reversedFrom(transaction, accountContext.balance);
    const since_debit = from === undefined ? undefined : this.since(from);
    const found = since_debit === undefined ? accountContext : { ...accountContext, since_debit };
    const moved = this.take(moveTransaction(transaction, found, request, context));
    return moved;
  }

  private since(from: number): readonly Ledger[] {
    const entries = this.desk.ledger.filter(({ balance_version }) => balance_version >= from);
    const first = replayFrom(entries, from);
    return first === from ? entries : this.since(first);
  }

  giveBack(transaction: Transaction): Transaction | undefined {
    const reason = { code: "bank_rejected" };
    const status = transaction.status === "processing" ? "failed" : "returned";
    return this.move(transaction, { status, reason });
  }

  private trade(decide: () => TradingDecision<unknown>, source = "internal"): void {
    const { desk } = this;
    const [before, entries] = [desk.positions.size, desk.ledger.length];
    const followed = [source, ...[...desk.positions.values()].map((each) => each.source)];
    const platform = followed.some((name) => name !== "internal");
    const decision = decide();
    if (!decision.ok) return;
    desk.apply(decision);
    this.ends.push(desk.ledger.length);
    while (this.offsets.length < desk.ledger.length) this.offsets.push(0n);
    const posted = desk.ledger
      .slice(entries)
      .filter(({ kind }) => ["realised_pnl", "swap", "commission"].includes(kind));
    const last = posted.at(-1);
    const flat = before > 0 && desk.positions.size === 0;
    if (flat) this.flats.push(desk.ledger.length);
    if (last === undefined || !(flat || platform)) return;
    const forgiven = !platform && desk.account.negative_balance_protection;
    this.settles.set(last.balance_version, forgiven ? "due" : "owed");
  }

  open(side: "buy" | "sell", lots: string, source = "internal", symbol = "EURUSD"): void {
    const quote = this.market.quotes.get(symbol);
    const price = (side === "buy" ? quote?.ask : quote?.bid) ?? "0";
    const execution = { symbol, side, lots, price, source };
    this.trade(() => executeTrade(this.desk.state, this.market, execution, context), source);
  }

  close(nth = 0, lots?: string): void {
    const position = [...this.desk.positions.values()][nth % Math.max(1, this.desk.positions.size)];
    if (position === undefined) return;
    const quote = this.market.quotes.get(position.symbol);
    const price = (position.side === "buy" ? quote?.bid : quote?.ask) ?? "0";
    const closing = { price, reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
    const open = this.desk.open(position.id);
    this.trade(() => closeTrade(this.desk.state, open, this.market, closing, context));
  }

  /** Sets a price and lets everything happen that it leads to. */
  price(at: string, symbol = "EURUSD"): void {
    const moved = marketAt({ [symbol]: { bid: at } }).quotes.get(symbol);
    const quotes = new Map([...this.market.quotes, ...(moved === undefined ? [] : [[symbol, moved] as const])]);
    this.market = { ...this.market, quotes };
    for (let running = true; running; ) {
      this.trade(() => {
        const decision = evaluateMargin(this.desk.state, this.market, this.desk.trades, context);
        running = decision.ok && decision.result.running;
        return decision;
      });
    }
  }

  /** The result of trading since the account last had no position, from the ledger. */
  private get realised(): bigint {
    const flat = this.flats.at(-1) ?? 0;
    const since = this.desk.ledger.filter(({ balance_version }) => balance_version > flat);
    const own = since.filter(({ kind }) => ["realised_pnl", "swap", "commission"].includes(kind));
    return own.reduce((sum, { amount_minor }) => sum + amount_minor, 0n);
  }

  /** The ledger for the oracle, which sees nothing that the service has decided. */
  get judged(): JudgedEntry[] {
    return this.desk.ledger.map((entry) => ({
      kind: entry.kind,
      amount: entry.amount_minor,
      transaction: entry.transaction_id ?? "",
      offset: this.offsets[entry.balance_version - 1] ?? 0n,
      settles: this.settles.get(entry.balance_version),
      credit: this.credits.get(entry.balance_version),
      behind: this.lates.get(entry.balance_version),
      removes: this.removes.get(entry.balance_version),
    }));
  }

  /** The rest of each lot of credit, by the transaction that granted it. */
  get lots(): Readonly<Record<string, bigint>> {
    const lots = lotsOf(this.desk.balance).map(({ transaction_id: id, minor }) => [id ?? "", minor] as const);
    return Object.fromEntries(lots);
  }

  get balance(): bigint {
    return this.desk.balance.balance_minor;
  }
}

export function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("It was refused.");
  return value;
}

export const amount = fc.integer({ min: 1, max: 60 }).map((tens) => `${tens * 10}.00`);

export const lots = fc.constantFrom("0.10", "0.20", "0.30");

export const nth = fc.nat({ max: 9 });
