import { draftTenant } from "../../shared/domain/access/tenant.ts";
import { updateAccount } from "../../shared/domain/feed/account-update.ts";
import { applyItem, type ItemLinks, type Made } from "../../shared/domain/feed/apply.ts";
import type { ReadItem } from "../../shared/domain/feed/batch.ts";
import { applyOperation } from "../../shared/domain/feed/join-operation.ts";
import type { Origin } from "../../shared/domain/feed/mirror-order.ts";
import { type DealUndo, undoOf } from "../../shared/domain/feed/undo.ts";
import type { Context } from "../../shared/domain/kernel/decision.ts";
import type { Account } from "../../shared/domain/records/account.ts";
import type { Ledger } from "../../shared/domain/records/ledger.ts";
import type { Position } from "../../shared/domain/records/position.ts";
import type { Trade } from "../../shared/domain/records/trade.ts";
import type { TradingDecision } from "../../shared/domain/records/trading-change.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import type { Market } from "../../shared/domain/trading/pricing/quote.ts";
import { decisionContext, someAccount } from "../support/builders/decisions.ts";
import { exampleCfds, examplePrices, someMarket, someSymbol } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";
import { numberText } from "../support/emulator/raw-items.ts";
import type { RawItem, RawValue } from "../support/emulator/raw-table.ts";

/** An item as a bridge sends it, without its number. */
export interface SentItem {
  readonly type: string;
  readonly at?: string;
  readonly data: unknown;
}

/** An account that a program trades on, by its place. */
export type Terms = Pick<Account, "currency" | "position_mode" | "leverage">;

/** Input of a bridge in one run: terms of its accounts, and items in order. */
export interface FeedProgram {
  readonly accounts: readonly (Terms & { readonly login: string })[];
  readonly items: readonly SentItem[];
  /** Items that are deals, sent for the first time. */
  readonly executions: number;
}

/** The symbols of a run, with a commission, so that every deal moves money. */
export const feedSymbols = [
  ...Object.keys(examplePrices).map((name) =>
    someSymbol(name, { commission: { type: "per_lot", amount: "3.50", currency: "USD" } }),
  ),
  ...exampleCfds,
];

const prices: Readonly<Record<string, readonly [string, string]>> = {
  ...examplePrices,
  XAUUSD: ["2400.40", "2400.50"],
  GER40: ["18499.5", "18500.0"],
};

/** Every price of a run; none of them moves, so that what a deal is worth does not depend on when it is applied. */
export const feedPrices = Object.entries(prices);

/** The market of a run. */
function feedMarket(): Market {
  return someMarket(prices, feedSymbols);
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface OpenLots {
  readonly position: string;
  readonly symbol: string;
  units: number;
}

/** State of one account of a program while it is written. */
class Writer {
  private readonly open: OpenLots[] = [];
  private readonly random: () => number;
  private readonly login: string;
  private readonly netting: boolean;

  constructor(random: () => number, { login, position_mode }: FeedProgram["accounts"][number]) {
    this.random = random;
    this.login = login;
    this.netting = position_mode === "netting";
  }

  /** The next deal: an opening, or a close of all or a part of what is open. */
  next(deal: string): object {
    const [held] = this.open.toSorted(() => this.random() - 0.5);
    if (this.netting || held === undefined || this.open.length < 4 ? this.random() < 0.6 || !held : false) {
      return this.opening(deal);
    }
    return held === undefined ? this.opening(deal) : this.closing(deal, held);
  }

  /** The next deal as an item, and what its platform changes right after it: the deal itself for one. */
  nextItems(count: number): SentItem[] {
    const at = new Date(Date.UTC(2026, 10, 20) + count).toISOString();
    const before = this.open.map((each) => ({ ...each }));
    const deal = { type: "execution", at, data: this.next(`D-${count}`) };
    const chance = this.random();
    if (chance < 0.08) {
      this.open.splice(0, this.open.length, ...before);
      const data = { reversal_id: `R-${count}`, platform_login: this.login, deal_id: `D-${count}` };
      return [deal, { type: "deal_reversal", at, data }];
    }
    const change = chance < 0.4 ? this.changed(count, chance) : undefined;
    return change === undefined ? [deal] : [deal, { ...change, at }];
  }

  /** Something that a platform changes without a deal. */
  private changed(count: number, chance: number): SentItem | undefined {
    const login = { platform_login: this.login };
    if (chance < 0.14) return { type: "account_update", data: { ...login, leverage: this.pick([50, 100, 200]) } };
    if (chance < 0.22) {
      const [kind = "", amount = ""] = this.pick([
        ["fee", "-3"],
        ["dividend", "7"],
        ["credit_in", "50"],
        ["correction", "-11"],
      ]);
      return { type: "balance_operation", data: { ...login, operation_id: `O-${count}`, kind, amount } };
    }
    const held = this.open[0];
    if (held === undefined) return undefined;
    const named = { position_id: held.position };
    if (chance < 0.32) {
      const for_date = new Date(Date.UTC(2020, 0, 1 + count)).toISOString().slice(0, 10);
      return { type: "swap", data: { ...named, amount: this.random() < 0.5 ? "-4" : "1", for_date } };
    }
    const [, [bid] = ["1"]] = feedPrices.find(([name]) => name === held.symbol) ?? [];
    return { type: "position_update", data: { ...named, stop_loss: this.random() < 0.5 ? bid : null } };
  }

  private opening(deal: string): object {
    const [symbol = "", [bid, ask] = ["1", "1"]] = this.pick(feedPrices);
    const units = 1 + Math.floor(this.random() * 30);
    const buy = this.random() < 0.5;
    const position = this.netting ? `N-${this.login}-${symbol}` : `P-${deal}`;
    if (!this.netting) this.open.push({ position, symbol, units });
    return {
      action: "open",
      platform_login: this.login,
      deal_id: deal,
      position_id: position,
      symbol,
      side: buy ? "buy" : "sell",
      lots: lotsOf(units),
      price: buy ? ask : bid,
      ...(this.random() < 0.5 ? { commission: "-1" } : {}),
    };
  }

  private closing(deal: string, held: OpenLots): object {
    const part = this.random() < 0.5 ? held.units : 1 + Math.floor(this.random() * held.units);
    held.units -= part;
    if (held.units === 0) this.open.splice(this.open.indexOf(held), 1);
    const [, [bid, ask] = ["1", "1"]] = feedPrices.find(([name]) => name === held.symbol) ?? [];
    return {
      action: "close",
      deal_id: deal,
      position_id: held.position,
      price: this.random() < 0.5 ? bid : ask,
      ...(held.units === 0 ? {} : { lots: lotsOf(part) }),
      ...(this.random() < 0.4 ? { profit: String(Math.floor(this.random() * 200) - 100), swap: "0" } : {}),
    };
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T;
  }
}

function lotsOf(units: number): string {
  return `${Math.floor(units / 100)}.${String(units % 100).padStart(2, "0")}`;
}

/** Items that cannot be applied: malformed, of a position that never was, of a price that is none, without a type. */
const poison: readonly SentItem[] = [
  { type: "execution", data: { action: "open", deal_id: "X-1", lots: 7 } },
  { type: "execution", data: { action: "close", deal_id: "X-2", position_id: "P-nowhere", price: "1.1" } },
  { type: "execution", data: null },
  { type: "riddle", data: {} },
];

/** Writes the items of a run: deals of random accounts, one in twenty of them sent again later, and some poison. */
export function feedProgram(seed: number, accountCount: number, executions: number): FeedProgram {
  const random = randomFrom(seed);
  const currencies = ["USD", "EUR", "JPY"] as const;
  const accounts = Array.from({ length: accountCount }, (_, place) => ({
    login: String(70_000_000 + place),
    currency: currencies[place % 3] ?? "USD",
    position_mode: place % 5 === 4 ? ("netting" as const) : ("hedging" as const),
    leverage: 100,
  }));
  const writers = accounts.map((account) => new Writer(random, account));
  const items: SentItem[] = accounts.map(({ login }, place) => ({
    type: "balance_operation",
    data: { operation_id: `B-${place}`, platform_login: login, amount: "100000000", kind: "deposit" },
  }));
  const sent: SentItem[] = [];
  for (let count = 0; count < executions; count += 1) {
    const writer = writers[Math.floor(random() * writers.length)] as Writer;
    const own = writer.nextItems(count);
    sent.push(...own);
    items.push(...own);
    if (random() < 0.05) items.push(sent[Math.floor(random() * sent.length)] as SentItem);
    if (count % Math.floor(executions / 4) === 7) items.push(poison[Math.floor((count * 4) / executions)] as SentItem);
  }
  return { accounts, items, executions };
}

/** Compared members of an account: everything that does not depend on when and under which identifier it was made. */
interface Outcome {
  readonly balance: string;
  readonly credit: string;
  readonly used_margin: string;
  readonly positions: readonly string[];
  readonly trades: readonly string[];
  readonly ledger: readonly string[];
}

/** Compared members of a position, as a text. */
function positionText(
  position: Pick<Position, "symbol" | "side" | "lots" | "open_price" | "margin_terms"> & Fields,
): string {
  const { symbol, side, lots, open_price, margin_ratio, swap_minor, source, stop_loss } = position;
  const terms = position.margin_terms.map(({ per_lot, max_leverage }) => `${per_lot} at ${max_leverage}`);
  return JSON.stringify([symbol, side, lots, open_price, terms, margin_ratio, String(swap_minor), source, stop_loss]);
}

/** Compared members of a trade, as a text. */
function tradeText(trade: Fields): string {
  const { source_trade_id, status, lots, initial_lots, open_price, open_at, close_price, close_reason } = trade;
  const money = ["gross_minor", "service_gross_minor", "commission_minor", "swap_minor"].map((name) =>
    trade[name] === null ? null : String(trade[name]),
  );
  const { pnl_source, margin_ratio } = trade;
  return JSON.stringify([
    ...[source_trade_id, status, lots, initial_lots, open_price, open_at, close_price, close_reason],
    ...[...money, pnl_source, margin_ratio],
  ]);
}

type Fields = Readonly<Record<string, unknown>>;

type ProgramItem = Extract<
  ReadItem,
  { type: "execution" | "swap" | "position_update" | "deal_reversal" | "account_update" | "balance_operation" }
>;

/** Result of the same items, each applied once and in order, in memory. */
export function modelOf(
  { accounts, items }: FeedProgram,
  sourceName: string,
): { outcomes: Outcome[]; events: string[] } {
  const market = feedMarket();
  const source = { id: "src_01JD000000000000000000000B", name: sourceName, authoritative: "service" } as const;
  const desks = new Map(
    accounts.map(({ login, ...terms }) => {
      const netting = terms.position_mode === "netting";
      return [login, new TradingDesk(someAccount({ ...terms, margin_calculation: netting ? "net" : "max" }))] as const;
    }),
  );
  const trades = new Map<string, { readonly desk: TradingDesk; trade_id: string }>();
  const undos = new Map<string, DealUndo>();
  for (const item of new Set(items)) {
    if (poison.includes(item)) continue;
    const read = { seq: "1", at: item.at, ...item } as ProgramItem;
    const position = "position_id" in read.data ? read.data.position_id : "";
    const login = "platform_login" in read.data ? (read.data.platform_login ?? "") : "";
    const desk = desks.get(login) ?? trades.get(position)?.desk;
    if (desk === undefined) throw new Error("An item of the program names no account.");
    const undo = read.type === "deal_reversal" ? undos.get(read.data.deal_id) : undefined;
    const links = { trade_id: trades.get(position)?.trade_id, order_id: null, undo };
    const context = decisionContext({ now: "2026-11-21T06:30:00.000Z" });
    const decision = decided(desk, market, read, links, { source, at: item.at ?? context.now }, context);
    if (!decision.ok) throw new Error(`${JSON.stringify(item)}: ${decision.refusal.detail}`);
    if (read.type === "execution") undos.set(read.data.deal_id, undoOf(decision.changes));
    for (const change of decision.changes) {
      if (change.op !== "claim" || change.kind !== "source_position") continue;
      trades.set(String(JSON.parse(change.value)[1]), { desk, trade_id: change.owner });
    }
    desk.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "claim") });
  }
  const all = [...desks.values()];
  return { outcomes: all.map(outcomeOf), events: all.flatMap(({ announced }) => announced) };
}

const unnamed = {
  tenant: draftTenant("brk_01JD0000000000000000000000", "2026-11-20T00:00:00.000Z"),
  named: undefined,
  candidates: [],
  said: undefined,
};

/** The decision about an item. */
function decided(
  { state }: TradingDesk,
  market: Market,
  item: ProgramItem,
  links: ItemLinks,
  origin: Origin,
  context: Context,
): TradingDecision<Made> {
  if (item.type === "account_update") return updateAccount(state as never, market, item.data, context);
  if (item.type !== "balance_operation") return applyItem(state, market, item, links, origin, context);
  const { floating_minor } = metricsAt(market, state, context.now);
  return applyOperation({ ...state, floating_minor }, item.data, unnamed, origin, context);
}

function outcomeOf(desk: TradingDesk): Outcome {
  return {
    balance: String(desk.balance.balance_minor),
    credit: String(desk.balance.credit_minor),
    used_margin: String(desk.balance.used_margin_minor),
    positions: [...desk.positions.values()].map((one) => positionText(one as never)).toSorted(),
    trades: [...desk.trades.values()].map((one: Trade) => tradeText(one as never)).toSorted(),
    ledger: desk.ledger.map(({ kind, amount_minor }: Ledger) => `${kind} ${amount_minor}`),
  };
}

/** Values as the domain has them, but for numbers, which are their digits. */
function plain(item: RawItem): Record<string, unknown> {
  return Object.fromEntries(Object.entries(item).map(([name, raw]) => [name, plainValue(raw)]));
}

function plainValue(raw: RawValue | undefined): unknown {
  if (isList(raw)) return raw.map(plainValue);
  if (typeof raw === "object" && raw !== null && "map" in raw) return plain(raw.map);
  return numberText(raw) ?? raw;
}

function isList(raw: RawValue | undefined): raw is readonly RawValue[] {
  return Array.isArray(raw);
}

/** Result of the items of a table for these accounts. */
export function outcomesOf(all: readonly RawItem[], ids: readonly string[]): Outcome[] {
  const byAccount = new Map<string, Record<string, unknown>[]>();
  for (const item of all.map(plain)) {
    const id = String(item["account_id"]);
    byAccount.set(id, [...(byAccount.get(id) ?? []), item]);
  }
  return ids.map((id) => {
    const own = byAccount.get(id) ?? [];
    const of = (type: string) => own.filter(({ et }) => et === type);
    const [balance] = of("BALANCE");
    const ledger = of("LEDGER").toSorted((a, b) => Number(a["balance_version"]) - Number(b["balance_version"]));
    return {
      balance: String(balance?.["balance_minor"]),
      credit: String(balance?.["credit_minor"]),
      used_margin: String(balance?.["used_margin_minor"]),
      positions: of("POSITION")
        .map((one) => positionText(one as never))
        .toSorted(),
      trades: of("TRADE").map(tradeText).toSorted(),
      ledger: ledger.map(({ kind, amount_minor }) => `${kind} ${amount_minor}`),
    };
  });
}
