import { limits } from "../../../limits.ts";
import { announcing } from "../../feed/command/announce.ts";
import { commandChanges, draftLiquidation, isExpired, isOpen, movedCommand } from "../../feed/command/command.ts";
import type { Context } from "../../kernel/decision.ts";
import type { Change } from "../../records/change.ts";
import type { LiquidateCommand } from "../../records/command.ts";
import { type FeedSource, isEnded } from "../../records/feed-source.ts";
import type { RequestedRun, Risk } from "../../records/risk.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";
import { openBook } from "../book.ts";
import { type Holdings, type Metrics, metricsOf } from "../margin.ts";
import { partialLots } from "../partial-lots.ts";
import type { Market } from "../pricing/quote.ts";
import { rational } from "../pricing/rational.ts";
import { lotsOf } from "../pricing/symbol.ts";
import { shareOf, type Valuation, valuePosition } from "../profit.ts";
import { metricsBody, stopOutEvent } from "../risk.ts";
import { isPast } from "./settle.ts";
import { closingOrder, standingOf } from "./standing.ts";

/** State of the platform that closes the positions of an account by commands. */
export interface Requested {
  /** The source that the account is linked to; undefined where it is linked to none. */
  readonly source: FeedSource | undefined;
  /** The commands of the run, as they are now. */
  readonly commands: readonly LiquidateCommand[];
}

/** An account on its way through one evaluation. */
export interface Judged extends Holdings {
  readonly risk: Risk;
  readonly metrics: Metrics;
  readonly values: readonly Valuation[];
}

type Evaluating = Judged & Requested;

/** Decides what the platform of an account is to close: {@link requestCloses}. */
export type AskPlatform = (judged: Judged) => Step;

/** The account as it is once what was asked for is closed, as far as this service can tell. */
interface Projection {
  readonly holdings: Holdings;
  readonly values: readonly Valuation[];
}

/** Further changes, and the risk after them. */
export type Step = Extract<TradingDecision<Risk>, { ok: true }>;

/** Codes of a bridge that closed nothing because the position had moved: its deal is on the way. */
const movedThere = ["lots_changed", "position_not_found"];

/**
 * Decides what the platform of an account is to close, and books nothing: its deals close the positions, at its prices.
 * Requested lots count as closed, so no more is asked for than the level demands. A command that waits is cancelled
 * when the level does not demand it any more. The run ends with one `stop.out` when the level is above and nothing that
 * was asked for can still happen.
 */
export function requestCloses(state: Evaluating, market: Market, context: Context): Step {
  const sorted = state.commands.map((command) => ({ command, fate: fateOf(command, state, context) }));
  const settled = sorted.flatMap(({ command, fate }) => (typeof fate === "object" ? [[command, fate] as const] : []));
  const kept = sorted.flatMap(({ command, fate }) => (fate === "counts" ? [command] : []));
  const refused = sorted.flatMap(({ command, fate }) => (fate === "refused" ? [command] : []));
  const left = sorted.flatMap(({ command, fate }) => (fate === "is_open" ? [command] : []));
  const begun = kept.filter(({ status }) => status !== "waiting");
  let projection = begun.reduce((now, command) => without(now, command, market, context), {
    holdings: state,
    values: state.values,
  } as Projection);
  const waiting: LiquidateCommand[] = [];
  const cancelled: (readonly [LiquidateCommand, LiquidateCommand])[] = [];
  for (const command of kept.filter(({ status }) => status === "waiting")) {
    const after = demands(projection, state, context.now) ? undefined : movedCommand(command, "cancel", context);
    if (after === undefined) {
      waiting.push(command);
      projection = without(projection, command, market, context);
    } else cancelled.push([command, after]);
  }
  const open = [...left, ...begun, ...waiting];
  const issued = issue(state, projection, [...open, ...refused], market, context);
  const known = [...open, ...refused, ...issued];
  const changes: Change[] = [
    ...[...settled, ...cancelled].flatMap(([before, after]) => commandChanges(before, after)),
    ...issued.map((item) => ({ op: "create", entity: "command", item }) as const),
  ];
  const demanded = standingOf(state, state.values, context.now).status === "stop_out" && canAsk(state);
  const run = runOf(state, known, context);
  if (run === undefined) return { ok: true, result: state.risk, changes: [], events: [] };
  const isOver = !demanded && open.length === 0;
  const { requested: _run, ...rest } = state.risk;
  const result = isOver ? rest : { ...rest, requested: run };
  const events = isOver ? stopOut(state, run, context.now) : [];
  return announcing({ ok: true as const, result, changes: changes as readonly TradingChange[], events });
}

/** The fate of a command: the command as it is from now on, or its meaning for the next requests. */
type Fate = "counts" | "is_open" | "refused" | "is_past" | LiquidateCommand;

function fateOf(command: LiquidateCommand, { positions }: Holdings, context: Context): Fate {
  const { status, trade_id, payload, updated_at, error } = command;
  const position = positions.find((one) => one.trade_id === trade_id);
  if (position?.lots !== payload.lots_before) {
    const move = status === "waiting" ? "cancel" : "done";
    if (status === "taken") return "is_open";
    return (isOpen(command) && movedCommand(command, move, context)) || "is_past";
  }
  if (isExpired(command, context.now)) return movedCommand(command, "expire", context) ?? "is_past";
  if (isOpen(command)) return "counts";
  if (isPast(updated_at, context)) return "is_past";
  if (status === "done") return "counts";
  if (status !== "failed") return "is_past";
  return movedThere.includes(error?.code ?? "") ? "counts" : "refused";
}

function canAsk({ source, account }: Evaluating): boolean {
  const login = account.platform_login;
  return source !== undefined && !isEnded(source) && source.authoritative === "service" && login !== null;
}

function demands({ holdings, values }: Projection, state: Evaluating, now: string): boolean {
  return canAsk(state) && standingOf(holdings, values, now).status === "stop_out";
}

/** New commands, in the order of the account, until what they close is enough. */
function issue(
  state: Evaluating,
  begin: Projection,
  known: readonly LiquidateCommand[],
  market: Market,
  context: Context,
): readonly LiquidateCommand[] {
  const { account, source } = state;
  const busy = new Set(known.map(({ trade_id }) => trade_id));
  const most = limits.trading.closes_per_step - known.filter((command) => isOpen(command)).length;
  const issued: LiquidateCommand[] = [];
  let projection = begin;
  for (const value of closingOrder(begin.holdings, begin.values)) {
    const room = issued.length < most && known.length + issued.length < limits.commands.liquidations_kept;
    if (!(room && demands(projection, state, context.now)) || source === undefined) break;
    const { position } = value;
    const position_id = position.source_position_id;
    if (position.source !== source.name || position_id === undefined || busy.has(position.trade_id)) continue;
    const { symbol, side, lots: lots_before, trade_id } = position;
    const part = account.stop_out_mode === "full" ? undefined : partOf(projection, value, market, context.now);
    const payload = { position_id, symbol, side, lots: part ?? lots_before, lots_before };
    const link = { source_id: source.id, platform_login: account.platform_login ?? "" };
    const command = draftLiquidation(account, link, { trade_id, payload }, context);
    issued.push(command);
    projection = without(projection, command, market, context);
  }
  return issued;
}

function partOf({ holdings, values }: Projection, value: Valuation, market: Market, now: string): string | undefined {
  return partialLots(openBook(holdings), value, market, standingOf(holdings, values, now).equity);
}

/** The account without what a command closes: its value is in the balance, and its margin is free. */
function without(
  projection: Projection,
  { trade_id, payload }: LiquidateCommand,
  market: Market,
  context: Context,
): Projection {
  const { holdings, values } = projection;
  const closing = values.find(({ position }) => position.trade_id === trade_id);
  if (closing === undefined) return projection;
  const left = payload.lots === payload.lots_before ? undefined : rest(closing, payload.lots, market, context);
  const gained = closing.floating_minor - (left?.floating_minor ?? 0n);
  const balance = { ...holdings.balance, balance_minor: holdings.balance.balance_minor + gained };
  const after = values.flatMap((value) => (value !== closing ? [value] : left === undefined ? [] : [left]));
  return { holdings: { ...holdings, balance, positions: after.map(({ position }) => position) }, values: after };
}

/** The position that a partial close leaves, with its value. */
function rest({ position }: Valuation, closed: string, market: Market, { now }: Context): Valuation | undefined {
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined) return undefined;
  const lots = lotsOf(symbol, rational(position.lots).sub(rational(closed)));
  const swap_minor = position.swap_minor - shareOf(position.swap_minor, closed, position.lots);
  return valuePosition(market, { ...position, lots, swap_minor }, now);
}

/** The run with the commands that it goes on with; undefined where none has begun. */
function runOf(
  { risk, account, balance, metrics }: Evaluating,
  known: readonly LiquidateCommand[],
  { now }: Context,
): RequestedRun | undefined {
  const before = risk.requested;
  if (before === undefined && known.length === 0) return undefined;
  return {
    started_at: before?.started_at ?? now,
    before: before?.before ?? metricsBody(metrics, account.currency, balance.updated_at),
    closed_trade_ids: before?.closed_trade_ids ?? [],
    command_ids: known.map(({ id }) => id),
    asked_trade_ids: [...new Set([...(before?.asked_trade_ids ?? []), ...known.map(({ trade_id }) => trade_id)])],
  };
}

/** The end of a run in which the platform has closed something. */
function stopOut(state: Evaluating, run: RequestedRun, now: string) {
  if (run.closed_trade_ids.length === 0) return [];
  const { account, balance, values } = state;
  const metrics = { ...metricsOf(account, balance, values, now), margin_status: standingOf(state, values, now).status };
  return [stopOutEvent({ account, balance }, metrics, run)];
}
