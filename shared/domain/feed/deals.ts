import type { CurrencyCode } from "../../currencies.ts";
import type { FeedData } from "../../schema/feed.ts";
import type { Context } from "../kernel/decision.ts";
import { roundReported } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { accrueSwap } from "../trading/accrue-swap.ts";
import { closeTrade, type OpenTrade, type PlatformMoney, refuseTrading } from "../trading/close-trade.ts";
import { executeTrade, type TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { rational, ratioText } from "../trading/pricing/rational.ts";
import { reportedStop } from "../trading/pricing/symbol.ts";
import type { Origin } from "./mirror-order.ts";
import { withStopOut } from "./platform-stop-out.ts";

type Opening = Extract<FeedData["execution"], { action: "open" }>;
type Closing = Extract<FeedData["execution"], { action: "close" }>;

/** The trade that a position of a source stands for is found by this. */
export function positionMarker(source: Pick<FeedSource, "id">, positionId: string): string {
  return JSON.stringify([source.id, positionId]);
}

/** State of the position and the order that a deal names. */
export interface DealLinks {
  /** The trade that the position stands for. */
  readonly trade: Trade | undefined;
  readonly order_id: string | null;
  /** The trade that the name stands for which a close gives to what is left. */
  readonly remaining?: Trade | undefined;
}

/** Minor units of money with a sign, rounded to its currency; undefined when it is too large. */
export function signedMinor(text: string, currency: CurrencyCode): bigint | undefined {
  const minor = roundReported(text, currency);
  return typeof minor === "string" ? undefined : minor;
}

type Money = Pick<Opening, "profit" | "commission" | "swap"> & Partial<Pick<Opening, "margin_rate">>;

/**
 * Amount that a platform booked, or the member of its deal that is no money of the account. One that decides for its
 * accounts has charged no commission where its deal names none; swap is what its items and its deals say in any case.
 */
function platformMoney(
  currency: CurrencyCode,
  deal: Money,
  { authoritative }: Origin["source"],
): { readonly ok: true; readonly money: PlatformMoney } | { readonly ok: false; readonly member: string } {
  const members = { profit: "gross_minor", commission: "commission_minor", swap: "swap_minor" } as const;
  const charged = authoritative === "platform" ? { commission_minor: 0n } : {};
  const money: { -readonly [K in keyof PlatformMoney]: PlatformMoney[K] } = charged;
  for (const member of ["profit", "commission", "swap"] as const) {
    const given = deal[member] ?? null;
    if (given === null) continue;
    const minor = signedMinor(given, currency);
    if (minor === undefined) return { ok: false, member };
    money[members[member]] = minor;
  }
  const rate = deal.margin_rate ?? null;
  if (rate === null) return { ok: true, money };
  if (rational(rate).lte(0n)) return { ok: false, member: "margin_rate" };
  return { ok: true, money: { ...money, margin_ratio: ratioText(rational(rate)) } };
}

/** The refusal of a member that is more money than there can be, or no rate. */
export function refuseMoney(member: string, { currency }: Account) {
  return member === "margin_rate"
    ? refuseTrading("validation_failed", "must be above 0", member)
    : refuseTrading("amount_too_large", `is more than there can be of ${currency}`, member);
}

/**
 * Decides a deal that a platform opened lots with. It is booked as it happened there, whatever the account may do here:
 * only what cannot be booked is refused. Its position is remembered under the name that the platform gives it.
 */
export function openDeal(
  state: TradingState,
  market: Market,
  data: Opening,
  links: DealLinks,
  { source, at }: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  const { account } = state;
  if (account.status === "closed") return refuseTrading("account_closed", "The account is closed.");
  const { trade: known } = links;
  const isHeld = known?.status === "open" && (known.account_id !== account.id || account.position_mode === "hedging");
  if (isHeld) {
    return refuseTrading("position_known", "A position of this source has this id already.", "position_id");
  }
  const booked = platformMoney(account.currency, data, source);
  if (!booked.ok) return refuseMoney(booked.member, account);
  const { symbol, side, lots, price, position_id } = data;
  const stops = stopsOf(market, data);
  if (!stops.ok) return stops;
  const execution = {
    ...{ symbol, side, lots, price, ...stops.stops, at },
    order_id: links.order_id,
    source: source.name,
    source_trade_id: position_id,
    source_position_id: position_id,
    platform: booked.money,
  };
  const decision = executeTrade(state, market, execution, context);
  if (!decision.ok) return decision;
  const { trade, closed } = decision.result;
  const unbooked = closed.length > 0 ? undefined : realised(booked.money);
  if (unbooked !== undefined) {
    return refuseTrading("validation_failed", "must be 0 for a deal that closes nothing", unbooked);
  }
  if (trade === undefined || trade.id === known?.id) return { ...decision, result: trade };
  return {
    ...decision,
    result: trade,
    changes: [...decision.changes, claimPosition(source, position_id, trade, known)],
  };
}

/** The stops of an opening, or the refusal of one that is no price. */
function stopsOf(market: Market, data: Opening) {
  const symbol = market.symbols.get(data.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${data.symbol}.`);
  const [stop_loss, take_profit] = [reportedStop(symbol, data.stop_loss), reportedStop(symbol, data.take_profit)];
  if (stop_loss === undefined) return refuseTrading("invalid_price", `is no price of ${data.symbol}`, "stop_loss");
  if (take_profit === undefined) return refuseTrading("invalid_price", `is no price of ${data.symbol}`, "take_profit");
  return { ok: true, stops: { stop_loss, take_profit } } as const;
}

/** The member of a deal with money that only a close can realise; undefined when there is none. */
function realised({ gross_minor = 0n, swap_minor = 0n }: PlatformMoney): "profit" | "swap" | undefined {
  if (gross_minor !== 0n) return "profit";
  return swap_minor === 0n ? undefined : "swap";
}

/**
 * With netting a platform may name the position after a flip as the one before it: then the name moves along. So does
 * the name of a position that is closed, with a later opening.
 */
export function claimPosition(
  source: Origin["source"],
  positionId: string,
  trade: Trade,
  known: Pick<Trade, "id"> | undefined,
) {
  const claim: TradingChange = {
    op: "claim",
    kind: "source_position",
    value: positionMarker(source, positionId),
    owner: trade.id,
    refusal: { code: "position_known", detail: "A position of this source has this id already." },
    drawn: true,
    ...(known === undefined ? {} : { instead_of: known.id }),
  };
  return claim;
}

/** The open side of the trade that a position of a source stands for. */
export function openSide(state: TradingState, trade: Trade | undefined): OpenTrade | undefined {
  const position = state.positions.find(({ trade_id }) => trade_id === trade?.id);
  return trade === undefined || position === undefined ? undefined : { trade, position };
}

/** The refusal of an item about a position that is not open. */
export function refusePosition(trade: Trade | undefined) {
  const detail = trade === undefined ? "No position of this source has this id." : "The position is closed already.";
  return refuseTrading("unknown_position", detail, "position_id");
}

/**
 * Decides a deal that a platform closed lots with, at its price and with its money. The rest may go on under another
 * name: a platform may close a part of a position under its ticket, and give the rest a new one.
 */
export function closeDeal(
  state: TradingState,
  market: Market,
  data: Closing,
  links: DealLinks,
  { source, at }: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  const open = openSide(state, links.trade);
  if (open === undefined) return refusePosition(links.trade);
  const booked = platformMoney(state.account.currency, data, source);
  if (!booked.ok) return refuseMoney(booked.member, state.account);
  const { deal_id, position_id, lots = null, price, reason = "client", remaining_position_id: named = null } = data;
  const remaining_name = named === position_id ? null : named;
  if (remaining_name !== null && links.remaining?.status === "open") {
    return refuseTrading("position_known", "A position of this source has this id already.", "remaining_position_id");
  }
  const closing = {
    ...{ price, reason, at, source_trade_id: deal_id, platform: booked.money },
    ...(lots === null ? {} : { lots }),
    ...(remaining_name === null ? {} : { remaining_name }),
  };
  const decision = closeTrade(state, open, market, closing, context);
  if (!decision.ok) return decision;
  const { trade, position } = decision.result;
  if (named !== null && position === undefined) {
    return refuseTrading("validation_failed", "names what is left, and nothing is", "remaining_position_id");
  }
  const renamed =
    remaining_name === null ? [] : renamedPosition(source, open.trade, position_id, remaining_name, links.remaining);
  const { changes, ...done } = withStopOut(state, market, decision, { reason, position: open.position }, context);
  return { ...done, result: trade, changes: [...changes, ...renamed] };
}

/** The name of a position goes from one to another. The new one may be that of a position that is closed. */
export function renamedPosition(
  source: Origin["source"],
  trade: Trade,
  from: string,
  to: string,
  known?: Pick<Trade, "id">,
): TradingChange[] {
  const release = { kind: "source_position", value: positionMarker(source, from), owner: trade.id } as const;
  return [{ op: "release", ...release }, claimPosition(source, to, trade, known)];
}

/** Decides a night's swap that a platform charged or paid. */
export function accrueDeal(
  state: TradingState,
  data: FeedData["swap"],
  links: DealLinks,
  { source }: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  if (source.swap_reporting === "accrued") {
    return refuseTrading("validation_failed", "The source reports the swap so far of its positions.", "amount");
  }
  const open = openSide(state, links.trade);
  if (open === undefined) return refusePosition(links.trade);
  const minor = signedMinor(data.amount, state.account.currency);
  if (minor === undefined) return refuseMoney("amount", state.account);
  const decision = accrueSwap(state, open, minor, context);
  return decision.ok ? { ...decision, result: decision.result.trade } : decision;
}
