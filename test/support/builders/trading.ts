import { parseAmount } from "../../../shared/domain/kernel/money.ts";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import type { Order } from "../../../shared/domain/records/order.ts";
import type { Position } from "../../../shared/domain/records/position.ts";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { marginRatio, marginTermsOf } from "../../../shared/domain/trading/margin.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { decisionTime, someAccount, tenantId } from "./decisions.ts";

/** Sessions of a market that never closes. */
const always = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map((day) => ({
  day: day as TradingSymbol["sessions"][number]["day"],
  open: "00:00",
  close: "24:00",
}));

/** A symbol: a currency pair named after its currencies by default, always open, without costs. */
export function someSymbol(name: string, fields: Partial<TradingSymbol> = {}): TradingSymbol {
  const quote = fields.quote_currency ?? name.slice(3, 6);
  const digits = fields.digits ?? (quote === "JPY" ? 3 : 5);
  const base = fields.base_currency ?? name.slice(0, 3);
  return {
    symbol: name,
    tenant_id: tenantId,
    description: name,
    asset_class: "forex",
    base_currency: base,
    quote_currency: quote,
    margin_currency: fields.calc_mode === "cfd" ? quote : base,
    calc_mode: "forex",
    digits,
    point: `0.${"0".repeat(digits - 1)}1`,
    pip_size: `0.${"0".repeat(Math.max(0, digits - 2))}1`,
    contract_size: "100000",
    lot_min: "0.01",
    lot_max: "100.00",
    lot_step: "0.01",
    max_leverage: null,
    margin_factor: "1",
    commission: { type: "none", amount: "0", currency: "USD" },
    swap: { type: "none", long: "0", short: "0", triple_day: "wednesday", rollover_time: "22:00" },
    stops_level: 0,
    max_deviation_percent: null,
    trading_mode: "enabled",
    sessions: always,
    holidays: [],
    halted: false,
    created_at: decisionTime,
    updated_at: decisionTime,
    version: 1,
    ...fields,
  };
}

/** Bid and ask of the worked examples, by symbol. */
export const examplePrices: Readonly<Record<string, readonly [bid: string, ask: string]>> = {
  EURUSD: ["1.10000", "1.10010"],
  GBPUSD: ["1.27500", "1.27520"],
  USDJPY: ["149.990", "150.010"],
  EURGBP: ["0.86250", "0.86270"],
  GBPJPY: ["191.230", "191.270"],
  EURJPY: ["164.980", "165.020"],
  AUDUSD: ["0.66000", "0.66020"],
  NZDUSD: ["0.60490", "0.60510"],
  AUDNZD: ["1.09100", "1.09140"],
};

/** Gold in USD, an index in EUR: the two symbols of the worked examples that are no currency pairs. */
export const exampleCfds: readonly TradingSymbol[] = [
  someSymbol("XAUUSD", {
    calc_mode: "cfd",
    asset_class: "metal",
    base_currency: "XAU",
    quote_currency: "USD",
    contract_size: "100",
    digits: 2,
    max_leverage: 20,
  }),
  someSymbol("GER40", {
    calc_mode: "cfd",
    asset_class: "index",
    base_currency: "EUR",
    quote_currency: "EUR",
    contract_size: "1",
    digits: 1,
    point: "0.1",
    pip_size: "0.1",
    max_leverage: 20,
  }),
];

/** A quote that came at the moment of the decision. */
export function someQuote(symbol: string, [bid, ask]: readonly [string, string], fields: Partial<Quote> = {}): Quote {
  const { source = "sandbox", sequence = "1" } = fields;
  return {
    symbol,
    bid,
    ask,
    time: decisionTime,
    received_at: decisionTime,
    sequence,
    source,
    marks: { [source]: [1, sequence] },
    reference: fields.session_open ?? bid,
    version: 1,
    session_open: null,
    day_high: null,
    day_low: null,
    ...fields,
  };
}

/** A market of the worked examples with some prices changed and some symbols replaced. */
export function someMarket(
  prices: Readonly<Record<string, readonly [string, string] | undefined>> = {},
  symbols: readonly TradingSymbol[] = [],
): Market {
  const known = [...Object.keys(examplePrices).map((name) => someSymbol(name)), ...exampleCfds, ...symbols];
  const quoted = Object.entries({ ...examplePrices, ...prices });
  return {
    symbols: new Map(known.map((symbol) => [symbol.symbol, symbol])),
    quotes: new Map(
      quoted.flatMap(([name, price]) => (price === undefined ? [] : [[name, someQuote(name, price)] as const])),
    ),
  };
}

/** The market with one side of a symbol's price set: the other side follows a little apart. */
export function marketAt(prices: Readonly<Record<string, { bid: string } | { ask: string }>>): Market {
  const pairs = Object.entries(prices).map(([name, price]) => {
    const side = "bid" in price ? price.bid : price.ask;
    return [name, [side, side] as const] as const;
  });
  return someMarket(Object.fromEntries(pairs));
}

/** Minor units of an amount of USD. */
export function usd(text: string): bigint {
  const minor = parseAmount(text.replace("-", ""), "USD");
  if (typeof minor === "string") throw new Error(`${text} is no amount: ${minor}`);
  return text.startsWith("-") ? -minor : minor;
}

/** A limit order that waits, on an account of the examples. */
export function someOrder(fields: Partial<Order> = {}): Order {
  return {
    id: newId("ord"),
    tenant_id: tenantId,
    account_id: "acc_01JD0000000000000000000002",
    client_id: "cli_01JD0000000000000000000001",
    symbol: "EURUSD",
    side: "sell",
    type: "limit",
    lots: "0.50",
    price: "1.12000",
    stop_price: null,
    limit_price: null,
    stop_loss: null,
    take_profit: null,
    time_in_force: "gtc",
    expires_at: null,
    status: "pending",
    filled_at: null,
    trade_id: null,
    reject_reason: null,
    source: "internal",
    source_order_id: null,
    stop_reached: false,
    created_at: decisionTime,
    updated_at: decisionTime,
    version: 1,
    ...fields,
  };
}

let opened = 0;

/** An open position on an account, with its margin frozen from the market it was opened in. */
export function somePosition(
  account: Account,
  market: Market,
  fields: Pick<Position, "symbol" | "side" | "lots" | "open_price"> & Partial<Position>,
): Position {
  opened += 1;
  const ulid = `01JD${String(opened).padStart(22, "0")}`;
  const symbol = market.symbols.get(fields.symbol);
  const ratio = symbol && marginRatio(market, account.currency, symbol, fields.open_price);
  if (symbol === undefined || ratio === undefined) throw new Error(`${fields.symbol} cannot be opened.`);
  return {
    id: `pos_${ulid}`,
    tenant_id: tenantId,
    account_id: account.id,
    client_id: account.client_id,
    account_type: account.type,
    trade_id: `trd_${ulid}`,
    source: "internal",
    currency: account.currency,
    swap_minor: 0n,
    margin_ratio: ratio,
    margin_terms: marginTermsOf(symbol, fields.open_price, ratio),
    pos_version: 0,
    stop_loss: null,
    take_profit: null,
    opened_at: decisionTime,
    updated_at: decisionTime,
    version: 1,
    ...fields,
  };
}

/** An account of 1:100 with a balance, as the worked examples have it. */
export function tradingAccount(balance: string, fields: Partial<Account> = {}, money: Partial<Balance> = {}) {
  const { account, balance: item } = someAccount(
    { leverage: 100, ...fields },
    { balance_minor: usd(balance), ...money },
  );
  return { account, balance: item };
}
