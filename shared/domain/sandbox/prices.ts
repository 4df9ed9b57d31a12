import type { SandboxPriceBody, SetSandboxPricesBody } from "../../schema/sandbox.ts";
import { type FieldError, type Refusal, refuse, refuseFields } from "../kernel/decision.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { priceBounds } from "../trading/pricing/bounds.ts";
import { type Price, pointsOf, priceAt } from "../trading/pricing/points.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { roundToward, unitsText } from "../trading/pricing/rational.ts";
import { isMarketOpen, isPair, priceText } from "../trading/pricing/symbol.ts";
import { acceptTick, markOf } from "../trading/pricing/tick.ts";
import { sandboxSource } from "./seed.ts";

/** A price as it is asked for. */
export type PriceChange = SetSandboxPricesBody["prices"][number];

type Checked = { readonly ok: true; readonly quote: Quote } | { readonly ok: false; readonly errors: FieldError[] };

/** The quote that holds a price: the next one, whatever was there before. `side` is to blame for an impossible one. */
export function heldQuote(
  symbol: TradingSymbol,
  before: Quote | undefined,
  price: Price,
  now: string,
  side: "/bid" | "/ask" = "/bid",
): Checked {
  const [epoch, last] = markOf(before, sandboxSource) ?? [1, "0"];
  const sequence = String(BigInt(last) + 1n);
  const tick = { ...price, time: now, sequence, source: sandboxSource, epoch, held: true } as const;
  const outcome = acceptTick(symbol, before, tick, now);
  if (outcome.ok) return outcome;
  const detail = {
    crossed: () => "must not be above the ask",
    price_out_of_bounds: () => `must be ${boundsText(symbol, before, now)}`,
  }[outcome.reason as string];
  const otherwise = `must be a price of ${symbol.symbol} above 0`;
  return { ok: false, errors: [{ pointer: side, code: "invalid_price", detail: detail?.() ?? otherwise }] };
}

function boundsText(symbol: TradingSymbol, before: Quote | undefined, now: string): string {
  const { lowest, highest } = pointBounds(symbol, before, now);
  return `between ${unitsText(lowest, symbol.digits)} and ${unitsText(highest, symbol.digits)} today`;
}

/** The lowest and the highest price that may follow a quote, in points. */
export function pointBounds(symbol: TradingSymbol, before: Quote | undefined, now: string) {
  const { lowest, highest } = priceBounds(symbol, before, now);
  const least = roundToward(lowest, symbol.digits, "up");
  return { lowest: least < 1n && isPair(symbol) ? 1n : least, highest: roundToward(highest, symbol.digits, "down") };
}

/** The price that a change asks for: a side that it does not name follows with the spread of the price before. */
export function quoteOf(symbol: TradingSymbol, before: Quote | undefined, change: PriceChange, now: string): Checked {
  const errors = (["bid", "ask"] as const).flatMap((side) => {
    const given = change[side];
    if (given === undefined || priceText(symbol, given) !== undefined) return [];
    const detail = `must be above 0 with at most ${symbol.digits} decimals`;
    return [{ pointer: `/${side}`, code: "invalid_price", detail }];
  });
  if (errors.length > 0) return { ok: false, errors };
  if (change.seed !== undefined && change.mode !== "walk") {
    return { ok: false, errors: [{ pointer: "/seed", code: "unknown_field", detail: "is for a price that walks" }] };
  }
  const price = withSpread(symbol, before, change);
  if (price === undefined) {
    return { ok: false, errors: [{ pointer: "", code: "required", detail: "needs a price or a mode" }] };
  }
  return heldQuote(symbol, before, price, now, change.bid === undefined ? "/ask" : "/bid");
}

function withSpread(
  symbol: TradingSymbol,
  before: Quote | undefined,
  { bid, ask, mode }: PriceChange,
): Price | undefined {
  if (bid !== undefined && ask !== undefined) return { bid, ask };
  const spread = before === undefined ? 0n : pointsOf(symbol, before.ask) - pointsOf(symbol, before.bid);
  if (bid !== undefined) return priceAt(symbol, pointsOf(symbol, bid), spread);
  if (ask !== undefined) return priceAt(symbol, pointsOf(symbol, ask) - spread, spread);
  return mode === undefined ? undefined : before;
}

/**
 * Refuses prices that cannot all be set: of symbols that there are none of, twice of one, impossible ones, and those of
 * a market that is closed, since an exchange quotes nothing then. Undefined when every one can.
 */
export function refusePrices(market: Market, changes: readonly PriceChange[], now: string): Refusal | undefined {
  const at = (place: number, { pointer, ...error }: FieldError) => ({
    pointer: `#/prices/${place}${pointer}`,
    ...error,
  });
  const unknown = changes.flatMap(({ symbol }, place) =>
    market.symbols.has(symbol)
      ? []
      : [at(place, { pointer: "/symbol", code: "symbol_not_found", detail: "does not exist" })],
  );
  if (unknown.length > 0) {
    return refuse("symbol_not_found", "A symbol of the prices does not exist.", { errors: unknown }).refusal;
  }
  const errors = changes.flatMap((change, place) => {
    const symbol = market.symbols.get(change.symbol);
    if (symbol === undefined) return [];
    const twice = changes.findIndex((other) => other.symbol === change.symbol) < place;
    if (twice) return [at(place, { pointer: "/symbol", code: "duplicate", detail: "is named before" })];
    const outcome = quoteOf(symbol, market.quotes.get(change.symbol), change, now);
    return outcome.ok ? [] : outcome.errors.map((error) => at(place, error));
  });
  if (errors.length > 0) return refuseFields(errors).refusal;
  const closed = changes.find(({ symbol: name }) => {
    const symbol = market.symbols.get(name);
    return symbol !== undefined && !isMarketOpen(symbol, now);
  });
  if (closed === undefined) return undefined;
  return refuse("market_closed", `The market of ${closed.symbol} is closed, so it has no prices now.`).refusal;
}

/** The seed of a walk that names none. */
const firstSeed = "1";

/** The seed of the walk that a change asks for; null for a price that stands. */
export function seedOf({ mode, seed = firstSeed }: PriceChange): string | null {
  return mode === "walk" ? seed : null;
}

/** A price as the API shows it. */
export function priceBody({ symbol, bid, ask, time, sequence }: Quote, seed: string | null): SandboxPriceBody {
  return { symbol, bid, ask, time, sequence, mode: seed === null ? "frozen" : "walk", seed };
}
