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
  description: "What can be traded, by name. Whether a market is open follows from its sessions and from its feed.",
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
  summary: "Get one symbol",
  description: "Its contract, its costs and its sessions, and when its market opens or closes next.",
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
  summary: "Show the margin that lots of a symbol take",
  description:
    "For an account, or for a leverage and a currency, opened now, by themselves: positions of the account in the " +
    "same symbol may share margin with them.",
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
  summary: "Get the newest quote of a symbol",
  description:
    "With its age and whether the market is open. A symbol that was never quoted answers 503 `no_quote`. Counts " +
    "against the limit of quotes alone.",
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
  summary: "Get the newest quotes of several symbols",
  description:
    "As one request, which counts once against the limit of quotes. What has no quote is named in `missing`.",
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
  summary: "Show the rates that amounts are converted at now",
  description:
    "Between the currencies that symbols are made of and those that accounts have, each with its way. A pair without " +
    "a way is left out.",
  file: "market/conversion-rates",
  scope: "quotes:read",
  grants: ["query", "read:quotes"],
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
