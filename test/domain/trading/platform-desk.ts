import { takenCommand } from "../../../shared/domain/feed/command/command.ts";
import { closeDeal, openDeal } from "../../../shared/domain/feed/deals.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Change } from "../../../shared/domain/records/change.ts";
import type { LiquidateCommand, PlatformCommand } from "../../../shared/domain/records/command.ts";
import type { FeedSource } from "../../../shared/domain/records/feed-source.ts";
import type { StoredRisk } from "../../../shared/domain/records/risk.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import type { TradingChange } from "../../../shared/domain/records/trading-change.ts";
import { acknowledgeLiquidation, overdueLiquidation } from "../../../shared/domain/trading/liquidation/settle.ts";
import { standingOf } from "../../../shared/domain/trading/liquidation/standing.ts";
import { valuePositions } from "../../../shared/domain/trading/margin.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { evaluateMargin } from "../../../shared/domain/trading/stop-out.ts";
import { asking, liquidationOf } from "../../../shared/domain/trading/watch.ts";
import type { AckCommand } from "../../../shared/schema/feed/command.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const source: FeedSource = {
  id: "src_01JD0000000000000000000001",
  tenant_id: "ten_01JD0000000000000000000001",
  name: "mt5:live-1",
  platform: "mt5",
  authoritative: "service",
  first_seq: "1",
  next_seq: "1",
  quote_epoch: 1,
  paused: false,
  created_at: decisionTime,
  updated_at: decisionTime,
  version: 1,
};

interface Deal {
  readonly position_id: string;
  readonly deal_id: string;
  readonly lots: string;
  readonly price: string;
  readonly reason: "client" | "stop_out";
}

/** An account that is linked to a platform, which keeps its positions itself and closes them at prices of its own. */
export class PlatformDesk {
  readonly desk: TradingDesk;
  readonly commands = new Map<string, LiquidateCommand>();
  /** The positions of the platform, by its names, in lots. */
  readonly there = new Map<string, string>();
  /** Deals that the platform has made and its bridge has not reported. */
  readonly unreported: Deal[] = [];
  /** Trades that deals closed while a run was under way. */
  readonly closedInRuns: string[] = [];
  source = source;
  /** Symbols on other terms than those of the worked examples. */
  symbols: readonly TradingSymbol[] = [];
  private seconds = 0;
  private deals = 0;
  private price = "1.10000";

  constructor(balance: string, openings: number, fields: Partial<Account> = {}) {
    const link = { source_id: source.id, platform_login: "50012345" };
    this.desk = new TradingDesk(tradingAccount(balance, { ...link, ...fields }));
    for (let place = 1; place <= openings; place += 1) {
      const position_id = `P-${place}`;
      const deal = { action: "open", platform_login: "50012345", deal_id: `D-${place}`, position_id } as const;
      const data = { ...deal, symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10000" } as const;
      const links = { trade: undefined, order_id: null };
      const origin = { source, at: this.context.now };
      this.desk.apply(openDeal(this.desk.state, this.market, data as never, links, origin, this.context));
      this.there.set(position_id, "1.00");
      this.pass(1);
    }
    this.desk.events.length = 0;
  }

  get context() {
    const at = (more: number) => new Date(Date.parse(decisionTime) + (this.seconds + more) * 1000).toISOString();
    return decisionContext({ now: at(0), in: at });
  }

  get market(): Market {
    const { now } = this.context;
    const market = someMarket({ EURUSD: [this.price, this.price] }, this.symbols);
    const quotes = new Map(
      [...market.quotes].map(([name, quote]) => [name, { ...quote, time: now, received_at: now }]),
    );
    const { name, authoritative } = this.source;
    return { ...market, quotes, sources: new Map([[name, { name, authoritative, heartbeat_at: now }]]) };
  }

  get status() {
    const { state } = this.desk;
    const { now } = this.context;
    return standingOf(state, valuePositions(this.market, state.positions, now), now).status;
  }

  get open(): readonly LiquidateCommand[] {
    return [...this.commands.values()].filter(({ status }) => ["waiting", "taken", "unknown"].includes(status));
  }

  pass(seconds: number): void {
    this.seconds += seconds;
  }

  quote(price: string): void {
    this.price = price;
  }

  /** Evaluates the account; an evaluation of a linked account books nothing. */
  evaluate(): void {
    const booked = [this.desk.balance.seq, this.desk.ledger.length, this.desk.closed.length];
    const ids = this.desk.risk?.requested?.command_ids ?? [];
    const commands = ids.flatMap((id) => this.commands.get(id) ?? []);
    const { state } = this.desk;
    const liquidated_by = liquidationOf(state, this.market);
    const requests = { source: this.source, commands };
    const decision = evaluateMargin(
      { ...state, liquidated_by, ...asking({ requests, risk: state.risk }, this.market, this.context) },
      this.market,
      new Map(),
      this.context,
    );
    this.apply(decision);
    const after = [this.desk.balance.seq, this.desk.ledger.length, this.desk.closed.length];
    if (String(booked) !== String(after)) throw new Error("An evaluation booked something.");
  }

  /** The bridge takes the oldest waiting command, if no other is taken. */
  take(): LiquidateCommand | undefined {
    const first = this.open.find(({ status }) => status === "waiting");
    if (first === undefined || this.open.some(({ status }) => status === "taken")) return undefined;
    const taken = takenCommand(first, { seconds: 60, in: this.context.in }, this.context);
    if (taken !== undefined) this.commands.set(taken.id, taken);
    return taken;
  }

  /** The platform carries out a command, as a bridge does: not where the lots differ. */
  carryOut({ payload }: LiquidateCommand, price: string): AckCommand["error"] | undefined {
    const { position_id, lots, lots_before } = payload;
    if (this.there.get(position_id) !== lots_before) return { code: "lots_changed" };
    this.deal(position_id, lots, price, "stop_out");
    return undefined;
  }

  /** The platform closes lots of a position, and will report it. */
  deal(position_id: string, lots: string, price: string, reason: Deal["reason"]): void {
    const before = this.there.get(position_id);
    if (before === undefined) return;
    const left = decimalText(rational(before).sub(rational(lots)), 2);
    if (rational(left).lt(0n)) throw new Error("The platform closed more lots than there were.");
    if (rational(left).equals(0n)) this.there.delete(position_id);
    else this.there.set(position_id, left);
    this.deals += 1;
    this.unreported.push({ position_id, deal_id: `C-${this.deals}`, lots, price, reason });
  }

  acknowledge(id: string, ack: AckCommand): void {
    const command = this.commands.get(id);
    if (command === undefined) throw new Error("There is no such command.");
    const risk = this.desk.risk as StoredRisk | undefined;
    this.apply(acknowledgeLiquidation(command, risk, ack, this.context));
  }

  /** The bridge reports the oldest deal that it has not reported. */
  report(): void {
    const deal = this.unreported.shift();
    if (deal === undefined) return;
    const { state } = this.desk;
    const trade = [...this.desk.trades.values()].find(
      ({ source_trade_id, status }) => source_trade_id === deal.position_id && status === "open",
    );
    const data = { action: "close", ...deal } as const;
    const origin = { source: this.source, at: this.context.now };
    const running = this.desk.risk?.requested !== undefined;
    const decision = closeDeal(state, this.market, data as never, { trade, order_id: null }, origin, this.context);
    this.apply(decision);
    if (running && decision.ok && decision.result !== undefined) this.closedInRuns.push(decision.result.id);
  }

  sweep(): void {
    for (const command of this.open) {
      const decision = overdueLiquidation(command, this.context);
      if (decision !== undefined) this.apply(decision);
    }
  }

  private apply(decision: Parameters<TradingDesk["apply"]>[0]): void {
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const own = decision.changes.filter((change) => !isOfCommands(change));
    for (const change of decision.changes) this.write(change);
    this.desk.apply({ ...decision, changes: own });
  }

  private write(change: TradingChange | Change): void {
    if (change.op === "create" && change.entity === "command") {
      this.put(undefined, change.item as PlatformCommand);
    } else if (change.op === "update" && change.entity === "command") {
      this.put(change.before as PlatformCommand, change.after as unknown as PlatformCommand);
    }
  }

  private put(before: PlatformCommand | undefined, after: PlatformCommand): void {
    if (after.type !== "liquidate") throw new Error("The command is about money.");
    if (before?.version !== this.commands.get(after.id)?.version) throw new Error("The command is not as it was.");
    this.commands.set(after.id, after);
  }
}

function isOfCommands(change: TradingChange): boolean {
  if (change.op === "create" || change.op === "update") return change.entity === "command";
  return (change.op === "claim" || change.op === "release") && change.kind === "command_lane";
}
