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
    commission: { type: "per_lot", amount: "3.50", currency: "USD" },
    swap: { type: "points", long, short, triple_day: "wednesday", rollover_time: "22:00" },
    stops_level: 10,
    sessions: always,
  });
}

const overnight = { type: "percent_annual", triple_day: "friday", rollover_time: "22:00" } as const;

const metal = instrument({
  symbol: "XAUUSD",
  description: "Gold vs US Dollar",
  asset_class: "metal",
  calc_mode: "cfd",
  base_currency: "XAU",
  quote_currency: "USD",
  digits: 2,
  pip_size: "0.1",
  contract_size: "100",
  lot_min: "0.01",
  lot_max: "50.00",
  lot_step: "0.01",
  max_leverage: 20,
  commission: { type: "per_lot", amount: "3.50", currency: "USD" },
  swap: { ...overnight, long: "5.50", short: "1.50", triple_day: "wednesday" },
  stops_level: 20,
  sessions: always,
  bid: "2400.20",
  ask: "2400.50",
});

const oil = instrument({
  symbol: "UKOIL",
  description: "Brent Crude Oil",
  asset_class: "commodity",
  calc_mode: "cfd",
  base_currency: "USD",
  quote_currency: "USD",
  digits: 2,
  pip_size: "0.01",
  contract_size: "1000",
  lot_min: "0.01",
  lot_max: "50.00",
  lot_step: "0.01",
  max_leverage: 10,
  commission: { type: "none", amount: "0", currency: "USD" },
  swap: { ...overnight, long: "6.00", short: "-2.00" },
  stops_level: 5,
  sessions: always,
  bid: "78.40",
  ask: "78.44",
});

const index = {
  asset_class: "index",
  calc_mode: "cfd",
  digits: 1,
  pip_size: "1",
  contract_size: "1",
  lot_min: "0.1",
  lot_max: "500.0",
  lot_step: "0.1",
  max_leverage: 20,
  swap: { ...overnight, long: "4.50", short: "1.50" },
  stops_level: 10,
  sessions: always,
} as const;

const indices = [
  instrument({
    ...index,
    symbol: "US500",
    description: "US 500 Index",
    base_currency: "USD",
    quote_currency: "USD",
    commission: { type: "none", amount: "0", currency: "USD" },
    bid: "5450.0",
    ask: "5450.5",
  }),
  instrument({
    ...index,
    symbol: "GER40",
    description: "Germany 40 Index",
    base_currency: "EUR",
    quote_currency: "EUR",
    commission: { type: "none", amount: "0", currency: "EUR" },
    bid: "18500.0",
    ask: "18501.0",
  }),
];

const crypto = instrument({
  symbol: "BTCUSD",
  description: "Bitcoin vs US Dollar",
  asset_class: "crypto",
  calc_mode: "cfd",
  base_currency: "BTC",
  quote_currency: "USD",
  digits: 2,
  pip_size: "1",
  contract_size: "1",
  lot_min: "0.001",
  lot_max: "10.000",
  lot_step: "0.001",
  max_leverage: 2,
  commission: { type: "percent", amount: "0.05", currency: "USD" },
  swap: { ...overnight, long: "15.00", short: "-5.00", triple_day: null },
  stops_level: 100,
  sessions: always,
  bid: "64000.00",
  ask: "64020.00",
});

const share = instrument({
  symbol: "AAPL",
  description: "Apple Inc.",
  asset_class: "equity",
  calc_mode: "cfd",
  base_currency: "USD",
  quote_currency: "USD",
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
  bid: "226.40",
  ask: "226.45",
});

/** The market of a new tenant: five majors, a cross, gold, oil, two indices, a crypto currency and a share. */
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
    symbol: "EURGBP",
    description: "Euro vs Pound Sterling",
    bid: "0.86250",
    ask: "0.86270",
    swap: ["-5.30", "1.60"],
  }),
  metal,
  oil,
  ...indices,
  crypto,
  share,
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
