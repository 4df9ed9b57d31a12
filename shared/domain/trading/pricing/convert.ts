import { type CurrencyCode, wholeOf } from "../../../currencies.ts";
import type { ConversionBody } from "../../../schema/trade.ts";
import { refuse, refuseField } from "../../kernel/decision.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { bridge, type Pair } from "./needs.ts";
import { type Market, midOf } from "./quote.ts";
import { decimalText, type Rational, rational, shortDecimalText } from "./rational.ts";

/** One step of a conversion, exact. */
export interface Step {
  /** A pair, or the cent currency of a fixed step. */
  readonly symbol: string;
  readonly op: "multiply" | "divide";
  readonly price: Rational;
  readonly digits: number;
  /** The mid of the quote, where the price is its bid or its ask. */
  readonly mid?: Rational;
  /** It leads between a cent currency and its parent, which no quote does. */
  readonly fixed?: true;
}

/** A way from one currency to another and its exact rate. */
export interface Conversion {
  readonly from: string;
  readonly to: string;
  readonly steps: readonly Step[];
  readonly rate: Rational;
}

/** The traded symbol with the price it is opened or closed at: where it is the pair itself, this price converts. */
export interface OwnPrice {
  readonly symbol: TradingSymbol;
  readonly price: string;
}

/**
 * How an amount is converted, or undefined when there is no way: nothing to do; the traded symbol's own price where it
 * is the pair; the pair `from/to` or `to/from` at mid; else two such steps over USD. A cent currency is converted as
 * its parent, by a hundredth of it.
 */
export function conversion(market: Market, from: string, to: string, own?: OwnPrice): Conversion | undefined {
  if (from === to) return pathOf(from, to, []);
  const [whole, target] = [wholeOf(from), wholeOf(to)];
  const steps = whole === target ? [] : quotedSteps(market, whole, target, own);
  return steps === undefined ? undefined : conversionBy(from, to, steps);
}

/** A conversion by steps that lead between the parents of its currencies. */
export function conversionBy(from: string, to: string, steps: readonly Step[]): Conversion {
  return pathOf(from, to, [...centSteps(from, "divide"), ...steps, ...centSteps(to, "multiply")]);
}

function centSteps(currency: string, op: Step["op"]): Step[] {
  if (wholeOf(currency) === currency) return [];
  return [{ symbol: currency, op, price: rational("100"), digits: 0, fixed: true }];
}

/** The pairs of a conversion, whose quotes it depends on. */
export function pairsOf({ steps }: Conversion): string[] {
  return steps.flatMap(({ symbol, fixed }) => (fixed ? [] : [symbol]));
}

function quotedSteps(market: Market, from: string, to: string, own?: OwnPrice): readonly Step[] | undefined {
  const step = own === undefined ? undefined : ownStep(own, from, to);
  const direct = step ?? pairStep(market, from, to);
  if (direct !== undefined) return [direct];
  if (from === bridge || to === bridge) return undefined;
  const first = pairStep(market, from, bridge);
  const second = pairStep(market, bridge, to);
  return first === undefined || second === undefined ? undefined : [first, second];
}

/** Whether pairs lead from one currency to another as {@link conversion} goes, whether or not they have a price yet. */
export function isConvertible(market: Market, one: string, other: string): boolean {
  const [from, to] = [wholeOf(one), wholeOf(other)];
  const leads = (a: string, b: string) => otherNames(market, a, b).length > 0;
  return from === to || leads(from, to) || (leads(from, bridge) && leads(bridge, to));
}

function charge({ commission }: TradingSymbol): string | undefined {
  return commission.type === "none" ? undefined : commission.currency;
}

/**
 * The refusal of what needs an amount of a symbol in a currency that cannot be had now: for good where no pair leads
 * there, and until its first price, which may come at any moment, where one does.
 */
export function refuseUnconverted(market: Market, symbol: TradingSymbol, currency: string, field?: string) {
  const needed = [symbol.calc_mode === "forex" && symbol.base_currency, symbol.quote_currency, charge(symbol)];
  if (needed.filter((each) => typeof each === "string").every((each) => isConvertible(market, each, currency))) {
    return refuse("no_quote", `A pair that converts ${symbol.symbol} to ${currency} has no price yet.`);
  }
  const detail = `${symbol.symbol} cannot be converted to ${currency}.`;
  return field === undefined ? refuse("no_conversion_path", detail) : refuseField("no_conversion_path", field, detail);
}

function pathOf(from: string, to: string, steps: readonly Step[]): Conversion {
  return { from, to, steps, rate: rateBy(steps) };
}

/** The rate of a conversion at the mid of the quotes whose bid or ask it uses. */
export function midRate({ steps }: Conversion): Rational {
  return rateBy(steps.map(({ mid, ...step }) => (mid === undefined ? step : { ...step, price: mid })));
}

function rateBy(steps: readonly Step[]): Rational {
  return steps.reduce(
    (product, { op, price }) => (op === "multiply" ? product.mul(price) : product.div(price)),
    rational(1n),
  );
}

/** How a symbol converts between two currencies; undefined where it does not. */
export function directionOf(symbol: Omit<Pair, "commission">, from: string, to: string): Step["op"] | undefined {
  if (symbol.calc_mode !== "forex") return undefined;
  if (symbol.base_currency === from && symbol.quote_currency === to) return "multiply";
  return symbol.base_currency === to && symbol.quote_currency === from ? "divide" : undefined;
}

function ownStep({ symbol, price }: OwnPrice, from: string, to: string): Step | undefined {
  const op = directionOf(symbol, from, to);
  return op === undefined ? undefined : { symbol: symbol.symbol, op, price: rational(price), digits: symbol.digits };
}

/** A step over a quoted pair: the one named after its currencies before one with another name, the first by name. */
function pairStep(market: Market, from: string, to: string): Step | undefined {
  const named = [from + to, to + from].flatMap((name) => market.symbols.get(name) ?? []);
  return firstStep(market, named, from, to) ?? firstStep(market, otherNames(market, from, to), from, to);
}

function otherNames(market: Market, from: string, to: string): TradingSymbol[] {
  return [...market.symbols.values()]
    .filter((symbol) => directionOf(symbol, from, to) !== undefined)
    .toSorted((a, b) => (a.symbol < b.symbol ? -1 : 1));
}

function firstStep(market: Market, candidates: readonly TradingSymbol[], from: string, to: string): Step | undefined {
  for (const wanted of ["multiply", "divide"] as const) {
    for (const symbol of candidates) {
      const quote = market.quotes.get(symbol.symbol);
      if (quote === undefined || directionOf(symbol, from, to) !== wanted) continue;
      return { symbol: symbol.symbol, op: wanted, price: midOf(quote), digits: symbol.digits };
    }
  }
  return undefined;
}

/** The conversion as the API shows it: prices exact, the rate with twelve digits for information. */
export function conversionBody(path: Conversion): ConversionBody {
  return {
    from: path.from,
    to: path.to as CurrencyCode,
    via: path.steps.map(({ symbol, op, price, digits, mid }) => ({
      symbol,
      op,
      price: shortDecimalText(price, digits, digits + 1),
      ...(mid === undefined ? {} : { mid: shortDecimalText(mid, digits, digits + 1) }),
    })),
    rate: decimalText(path.rate, 12),
  };
}
