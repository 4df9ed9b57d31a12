import type { CurrencyCode } from "../../currencies.ts";
import type { ConversionRateBody, ConversionRatesBody } from "../../schema/quote.ts";
import type { SideName, SymbolMarginBody } from "../../schema/trade.ts";
import type { Refusal } from "../kernel/decision.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { refuseTrading } from "./close-trade.ts";
import { effectiveLeverage, marginRatio, marginTermsOf, positionMargin } from "./margin.ts";
import { marginRate } from "./position.ts";
import { conversion, conversionBody, pairsOf } from "./pricing/convert.ts";
import { ageMs, isTooOld, type Market, openPrice } from "./pricing/quote.ts";
import { lotsFault, lotsText } from "./pricing/symbol.ts";

/** Every currency that something is traded in or margin is taken in, by name. */
function currenciesOf(symbols: Iterable<TradingSymbol>): string[] {
  const all = [...symbols].flatMap((symbol) => [symbol.base_currency, symbol.quote_currency, symbol.margin_currency]);
  return [...new Set(all)].toSorted();
}

/** The rates from each of the first currencies to each of the second, as far as there is a way. */
function ratesBetween(
  market: Market,
  from: readonly string[],
  to: readonly CurrencyCode[],
  now: string,
): ConversionRateBody[] {
  const pairs = from.flatMap((one) => to.map((other) => [one, other] as const));
  return pairs.flatMap(([one, other]) => {
    const path = one === other ? undefined : conversion(market, one, other);
    if (path === undefined) return [];
    const used = pairsOf(path).flatMap((symbol) => market.quotes.get(symbol) ?? []);
    return [{ ...conversionBody(path), ...freshness(market, used, now) }];
  });
}

/** The time of the oldest of some quotes, and whether one of them is too old to decide on. */
function freshness(market: Market, quotes: readonly Quote[], now: string) {
  const oldest = quotes.toSorted((a, b) => ageMs(b, now) - ageMs(a, now))[0];
  const stale = quotes.some((quote) => {
    const symbol = market.symbols.get(quote.symbol);
    return symbol === undefined || isTooOld(symbol, quote, now);
  });
  return { as_of: oldest?.time ?? null, stale };
}

/** For whom and how much margin is asked for; without an account it is that of its leverage and currency. */
export interface MarginQuestion {
  readonly account: Pick<Account, "leverage" | "currency"> & { readonly id?: string };
  readonly side: SideName;
  /** One lot when absent. */
  readonly lots?: string | undefined;
}

type Answer<T> = { readonly ok: true; readonly body: T } | { readonly ok: false; readonly refusal: Refusal };

/** The margin that lots of a symbol would take by themselves, opened at this quote. */
export function marginOfLots(
  market: Market,
  symbol: TradingSymbol,
  quote: Quote,
  { account, side, lots: wanted }: MarginQuestion,
  now: string,
): Answer<SymbolMarginBody> {
  const lots = lotsText(symbol, wanted ?? "1");
  const fault = lots === undefined ? `must be a multiple of ${symbol.lot_step}` : lotsFault(symbol, lots);
  if (lots === undefined || (wanted !== undefined && fault !== undefined)) {
    return refuseTrading("validation_failed", fault ?? "", "lots");
  }
  const { currency, id = null } = account;
  const price = openPrice(quote, side);
  const own = { symbol, price };
  const from = symbol.calc_mode === "forex" ? symbol.base_currency : symbol.quote_currency;
  const path = conversion(market, from, currency, own);
  const ratio = marginRatio(market, currency, symbol, price);
  if (path === undefined || ratio === undefined) {
    return refuseTrading("no_conversion_path", `${symbol.symbol} cannot be traded in ${currency}.`, "currency");
  }
  const used = [quote, ...pairsOf(path).flatMap((name) => market.quotes.get(name) ?? [])];
  const { stale } = freshness(market, used, now);
  const name = encodeURIComponent(symbol.symbol);
  const margin_terms = marginTermsOf(symbol, price, ratio);
  const body: SymbolMarginBody = {
    object: "symbol_margin",
    symbol: symbol.symbol,
    account_id: id,
    currency,
    leverage: effectiveLeverage(account, symbol),
    side,
    lots,
    price,
    quote_at: quote.time,
    stale,
    margin: formatAmount(positionMargin({ lots, margin_terms, currency }, account.leverage), currency),
    margin_rate: marginRate(ratio),
    conversion: conversionBody(path),
    _links: {
      self: { href: `/v2/symbols/${name}/margin` },
      symbol: { href: `/v2/symbols/${name}` },
      ...(id === null ? {} : { account: { href: `/v2/accounts/${id}` } }),
    },
  };
  return { ok: true, body };
}

/** The rates from one currency, or from all that symbols are made of, to these, as the API shows them. */
export function conversionRatesBody(
  market: Market,
  from: string | undefined,
  to: readonly string[],
  now: string,
): ConversionRatesBody {
  const sources = from === undefined ? currenciesOf(market.symbols.values()) : [from];
  return {
    object: "conversion_rates",
    data: ratesBetween(market, sources, to as readonly CurrencyCode[], now),
    _links: { self: { href: "/v2/conversion_rates" } },
  };
}
