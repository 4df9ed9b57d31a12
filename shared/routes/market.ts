import { page } from "../schema/fields.ts";
import { ConversionRates, ConversionRatesQuery, ListQuotesQuery, Quote, QuoteSet } from "../schema/quote.ts";
import { ListSymbolsQuery, SymbolMarginQuery, TradingSymbol } from "../schema/symbol.ts";
import { SymbolMargin } from "../schema/trade.ts";
import { route } from "./route.ts";

/** `GET /symbols` */
export const listSymbols = route({
  id: "list_symbols",
  method: "GET",
  path: "/symbols",
  tag: "Market",
  summary: "List symbols",
  description:
    "Tradable symbols, sorted by name. Whether a market is open depends on its sessions and on its price feed.",
  file: "market/list-symbols",
  scope: "trading:read",
  grants: ["query"],
  query: ListSymbolsQuery,
  reply: page(TradingSymbol),
  refusals: ["invalid_cursor"],
});

/** `GET /symbols/{symbol}` */
export const getSymbol = route({
  id: "get_symbol",
  method: "GET",
  path: "/symbols/{symbol}",
  tag: "Market",
  summary: "Get a symbol",
  description: "Contract terms, costs and trading sessions of the symbol, and when its market next opens or closes.",
  file: "market/get-symbol",
  scope: "trading:read",
  grants: ["read"],
  reply: TradingSymbol,
  refusals: ["symbol_not_found"],
});

/** `GET /symbols/{symbol}/margin` */
export const getSymbolMargin = route({
  id: "get_symbol_margin",
  method: "GET",
  path: "/symbols/{symbol}/margin",
  tag: "Market",
  summary: "Calculate the margin of a trade",
  description:
    "For an account, or for a leverage and a currency. Assumes that the lots are opened now and on their own: with " +
    "positions in the same symbol, the account may need less.",
  file: "market/symbol-margin",
  scope: "trading:read",
  grants: ["read", "read:quotes", "query"],
  query: SymbolMarginQuery,
  reply: SymbolMargin,
  refusals: ["symbol_not_found", "account_not_found", "no_conversion_path", "no_quote"],
});

/** `GET /quotes/{symbol}` */
export const getQuote = route({
  id: "get_quote",
  method: "GET",
  path: "/quotes/{symbol}",
  tag: "Market",
  summary: "Get the latest quote of a symbol",
  description:
    "Includes the age of the quote and whether the market is open. A symbol without any quote yet answers 503 " +
    "`no_quote`. Counts only against the rate limit for quotes.",
  file: "market/get-quote",
  scope: "quotes:read",
  rate: "quotes",
  grants: ["read", "read:quotes"],
  reply: Quote,
  refusals: ["symbol_not_found", "no_quote"],
});

/** `GET /quotes` */
export const listQuotes = route({
  id: "list_quotes",
  method: "GET",
  path: "/quotes",
  tag: "Market",
  summary: "Get the latest quotes of several symbols",
  description:
    "One request, which counts once against the rate limit for quotes. Symbols without a quote are listed in " +
    "`missing`.",
  file: "market/list-quotes",
  scope: "quotes:read",
  rate: "quotes",
  grants: ["read", "read:quotes"],
  query: ListQuotesQuery,
  reply: QuoteSet,
});

/** `GET /conversion_rates` */
export const listConversionRates = route({
  id: "list_conversion_rates",
  method: "GET",
  path: "/conversion_rates",
  tag: "Market",
  summary: "Get current conversion rates",
  description:
    "Rates from the currencies of symbols to those that the brokerage offers, unless `to` names others, each with " +
    "its conversion path. A pair without a conversion path is omitted.",
  file: "market/conversion-rates",
  scope: "quotes:read",
  grants: ["read", "query", "read:quotes"],
  query: ConversionRatesQuery,
  reply: ConversionRates,
});

/** Rows of symbols and prices. */
export const marketRoutes = [
  listSymbols,
  getSymbol,
  getSymbolMargin,
  getQuote,
  listQuotes,
  listConversionRates,
] as const;
