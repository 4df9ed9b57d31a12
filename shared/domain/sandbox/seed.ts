import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";

/** Source of the prices of the sandbox's own market; a feed's name has a colon, so none is called so. */
export const sandboxSource = "sandbox";

/** A symbol of the new sandbox: its terms, and the price that it holds until it gets another. */
interface Instrument extends Omit<TradingSymbol, "tenant_id" | "created_at" | "updated_at" | "version"> {
  readonly bid: string;
  readonly ask: string;
}

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday"] as const;

/** A market that never closes: who tries a stop-out on a Sunday shall see one. */
const always = ([...weekdays, "saturday", "sunday"] as const).map((day) => ({ day, open: "00:00", close: "24:00" }));

/** The hours of the New York exchange in winter, in UTC, so that a closed market can be tried too. */
const exchangeHours = weekdays.map((day) => ({ day, open: "14:30", close: "21:00" }));

type Preset = "max_deviation_percent" | "trading_mode" | "holidays" | "halted" | "margin_factor";
type Terms = Omit<Instrument, "point" | "margin_currency" | Preset>;

function instrument(terms: Terms): Instrument {
  const { calc_mode, digits, base_currency, quote_currency } = terms;
  return {
    ...terms,
    point: digits === 0 ? "1" : `0.${"1".padStart(digits, "0")}`,
    margin_currency: calc_mode === "forex" ? base_currency : quote_currency,
    margin_factor: "1",
    max_deviation_percent: null,
    trading_mode: "enabled",
    holidays: [],
    halted: false,
  };
}

const perLot = { type: "per_lot", amount: "3.50", currency: "USD" } as const;

type Pair = Pick<Terms, "symbol" | "description" | "bid" | "ask"> & {
  readonly swap: readonly [long: string, short: string];
  readonly max_leverage?: number | null;
};

/**
 * A currency pair: a hundred thousand of its base currency to the lot. A major one has its margin after the account's
 * leverage, which of a retail client is at most 30; ESMA caps each other kind of symbol below that.
 */
function pair({ swap: [long, short], max_leverage = null, ...names }: Pair): Instrument {
  const quote_currency = names.symbol.slice(3);
  const digits = quote_currency === "JPY" ? 3 : 5;
  return instrument({
    ...names,
    asset_class: "forex",
    calc_mode: "forex",
    base_currency: names.symbol.slice(0, 3),
    quote_currency,
    digits,
    pip_size: `0.${"1".padStart(digits - 1, "0")}`,
    contract_size: "100000",
    lot_min: "0.01",
    lot_max: "100.00",
    lot_step: "0.01",
    max_leverage,
    commission: perLot,
    swap: { type: "points", long, short, triple_day: "wednesday", rollover_time: "22:00" },
    stops_level: 10,
    sessions: always,
  });
}

const overnight = { type: "percent_annual", triple_day: "friday", rollover_time: "22:00" } as const;

/** Symbols that are counted in units of what they are called: their margin is a part of their price. */
const cfd = { calc_mode: "cfd", lot_min: "0.01", lot_max: "50.00", lot_step: "0.01", sessions: always } as const;
const inDollars = { base_currency: "USD", quote_currency: "USD" } as const;

const metals = [
  instrument({
    ...cfd,
    symbol: "XAUUSD",
    description: "Gold vs US Dollar",
    asset_class: "metal",
    base_currency: "XAU",
    quote_currency: "USD",
    digits: 2,
    pip_size: "0.1",
    contract_size: "100",
    max_leverage: 20,
    commission: perLot,
    swap: { ...overnight, long: "5.50", short: "1.50", triple_day: "wednesday" },
    stops_level: 20,
    bid: "2400.20",
    ask: "2400.50",
  }),
  instrument({
    ...cfd,
    symbol: "XAGUSD",
    description: "Silver vs US Dollar",
    asset_class: "metal",
    base_currency: "XAG",
    quote_currency: "USD",
    digits: 3,
    pip_size: "0.01",
    contract_size: "5000",
    max_leverage: 10,
    commission: perLot,
    swap: { ...overnight, long: "5.50", short: "1.50", triple_day: "wednesday" },
    stops_level: 20,
    bid: "28.500",
    ask: "28.530",
  }),
];

const oil = {
  ...{ ...cfd, ...inDollars },
  asset_class: "commodity",
  digits: 2,
  pip_size: "0.01",
  contract_size: "1000",
  max_leverage: 10,
  commission: { type: "none", amount: "0", currency: "USD" },
  swap: { ...overnight, long: "6.00", short: "-2.00" },
  stops_level: 5,
} as const;

const oils = [
  instrument({ ...oil, symbol: "UKOIL", description: "Brent Crude Oil", bid: "78.40", ask: "78.44" }),
  instrument({ ...oil, symbol: "USOIL", description: "WTI Crude Oil", bid: "74.20", ask: "74.24" }),
];

type Index = Pick<Terms, "symbol" | "description" | "bid" | "ask"> & {
  readonly currency: string;
  readonly max_leverage?: number;
};

/** An index, one unit of its currency to the point. ESMA caps one that is not major at 10. */
function index({ currency, max_leverage = 20, ...names }: Index): Instrument {
  return instrument({
    ...cfd,
    ...names,
    asset_class: "index",
    base_currency: currency,
    quote_currency: currency,
    digits: 1,
    pip_size: "1",
    contract_size: "1",
    lot_min: "0.1",
    lot_max: "500.0",
    lot_step: "0.1",
    max_leverage,
    commission: { type: "none", amount: "0", currency },
    swap: { ...overnight, long: "4.50", short: "1.50" },
    stops_level: 10,
  });
}

const indices = [
  index({ symbol: "US500", description: "US 500 Index", currency: "USD", bid: "5450.0", ask: "5450.5" }),
  index({ symbol: "GER40", description: "Germany 40 Index", currency: "EUR", bid: "18500.0", ask: "18501.0" }),
  index({ symbol: "UK100", description: "UK 100 Index", currency: "GBP", bid: "8200.0", ask: "8201.0" }),
  index({
    symbol: "SWI20",
    description: "Switzerland 20 Index",
    currency: "CHF",
    max_leverage: 10,
    bid: "12000.0",
    ask: "12002.0",
  }),
];

const crypto = {
  ...cfd,
  asset_class: "crypto",
  quote_currency: "USD",
  digits: 2,
  pip_size: "1",
  contract_size: "1",
  lot_min: "0.001",
  lot_step: "0.001",
  max_leverage: 2,
  commission: { type: "percent", amount: "0.05", currency: "USD" },
  swap: { ...overnight, long: "15.00", short: "-5.00", triple_day: null },
  stops_level: 100,
} as const;

const coins = [
  instrument({
    ...crypto,
    symbol: "BTCUSD",
    description: "Bitcoin vs US Dollar",
    base_currency: "BTC",
    lot_max: "10.000",
    bid: "64000.00",
    ask: "64020.00",
  }),
  instrument({
    ...crypto,
    symbol: "ETHUSD",
    description: "Ether vs US Dollar",
    base_currency: "ETH",
    lot_max: "100.000",
    bid: "3200.00",
    ask: "3202.00",
  }),
];

const share = {
  ...{ ...cfd, ...inDollars },
  asset_class: "equity",
  digits: 2,
  pip_size: "0.01",
  contract_size: "1",
  lot_min: "1",
  lot_max: "10000",
  lot_step: "1",
  max_leverage: 5,
  commission: { type: "percent", amount: "0.02", currency: "USD" },
  swap: { ...overnight, long: "7.00", short: "-1.00" },
  stops_level: 5,
  sessions: exchangeHours,
} as const;

const shares = [
  instrument({ ...share, symbol: "AAPL", description: "Apple Inc.", bid: "226.40", ask: "226.45" }),
  instrument({ ...share, symbol: "MSFT", description: "Microsoft Corporation", bid: "415.20", ask: "415.28" }),
];

/** The market of a new tenant: eight currency pairs, and two or more of each other class of ESMA. */
const instruments: readonly Instrument[] = [
  pair({ symbol: "EURUSD", description: "Euro vs US Dollar", bid: "1.10000", ask: "1.10010", swap: ["-6.20", "1.10"] }),
  pair({
    symbol: "GBPUSD",
    description: "Pound Sterling vs US Dollar",
    bid: "1.27500",
    ask: "1.27520",
    swap: ["-2.40", "-1.30"],
  }),
  pair({
    symbol: "USDJPY",
    description: "US Dollar vs Japanese Yen",
    bid: "149.990",
    ask: "150.010",
    swap: ["9.80", "-21.40"],
  }),
  pair({
    symbol: "USDCHF",
    description: "US Dollar vs Swiss Franc",
    bid: "0.88000",
    ask: "0.88020",
    swap: ["5.10", "-10.70"],
  }),
  pair({
    symbol: "AUDUSD",
    description: "Australian Dollar vs US Dollar",
    bid: "0.66000",
    ask: "0.66020",
    max_leverage: 20,
    swap: ["-1.90", "-0.40"],
  }),
  pair({
    symbol: "NZDUSD",
    description: "New Zealand Dollar vs US Dollar",
    bid: "0.61000",
    ask: "0.61020",
    max_leverage: 20,
    swap: ["-1.60", "-0.70"],
  }),
  pair({
    symbol: "USDCAD",
    description: "US Dollar vs Canadian Dollar",
    bid: "1.36500",
    ask: "1.36520",
    swap: ["2.30", "-6.80"],
  }),
  pair({
    symbol: "EURGBP",
    description: "Euro vs Pound Sterling",
    bid: "0.86250",
    ask: "0.86270",
    swap: ["-5.30", "1.60"],
  }),
  ...metals,
  ...oils,
  ...indices,
  ...coins,
  ...shares,
];

/** The symbols that a tenant of the sandbox begins with, and that a reset brings back. */
export function seedSymbols(tenant: string, now: string): TradingSymbol[] {
  return instruments.map(({ bid: _bid, ask: _ask, ...terms }) => ({
    ...terms,
    tenant_id: tenant,
    created_at: now,
    updated_at: now,
    version: 1,
  }));
}

/** The prices that those symbols begin with; each is held until another one is set. */
export function seedQuotes(now: string): Quote[] {
  return instruments.map(({ symbol, bid, ask }) => ({
    symbol,
    bid,
    ask,
    time: now,
    received_at: now,
    sequence: "1",
    source: sandboxSource,
    held: true,
    marks: { [sandboxSource]: [1, "1"] },
    reference: bid,
    version: 1,
    session_open: bid,
    day_high: bid,
    day_low: bid,
  }));
}
