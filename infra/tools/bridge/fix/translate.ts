import { decimalOf, exactProduct, exactQuotient, mostDecimals, unitsOf } from "../units.ts";
import type { Fill, VenueEvent, VenueQuote } from "../venue.ts";
import { decimalIn, Unreadable } from "./float.ts";

/** A message of FIX, as far as it is translated. */
export interface FixMessage {
  /** MsgType (35). */
  readonly type: string;
  /** The first value of a tag. */
  get(tag: number): string | undefined;
  /** Components and groups by their names. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How the messages of a venue are read. */
export interface TranslateConfig {
  /** Quantity of one lot by symbol; `default` for the others. Without it quantities are lots. */
  readonly lot_size?: Readonly<Record<string, string>>;
  /** Login of messages without an Account (1). */
  readonly account?: string;
  /** Tags that a venue uses for what FIX 4.4 has no field for. */
  readonly tags?: Readonly<Partial<Record<"position_id" | "profit" | "commission", number>>>;
  /** Ids (17, 571) of deals that cannot be read and that a person books: they are passed over. */
  readonly by_hand?: readonly string[];
}

/** What a message becomes. */
export interface Translated {
  readonly events: readonly VenueEvent[];
  readonly quotes: readonly VenueQuote[];
  /** What a person should know of the message. */
  readonly note?: string;
}

const tag = {
  account: 1,
  avgPx: 6,
  execId: 17,
  execTransType: 20,
  lastPx: 31,
  lastQty: 32,
  orderId: 37,
  side: 54,
  symbol: 55,
  transactTime: 60,
  positionEffect: 77,
  execType: 150,
  noSides: 552,
  tradeReportTransType: 487,
  tradeReportId: 571,
} as const;

const nothing: Translated = { events: [], quotes: [] };

/**
 * Translates an execution report (35=8), a trade capture report (35=AE) and market data (35=W, 35=X). Other messages
 * become nothing.
 * @throws Unreadable when a deal cannot be read and is not left to a person: to pass it over would lose it
 */
export function translate(message: FixMessage, config: TranslateConfig): Translated {
  try {
    return translated(message, config);
  } catch (error) {
    const id = message.get(tag.execId) ?? message.get(tag.tradeReportId) ?? "";
    if (!(error instanceof Unreadable) || !config.by_hand?.includes(id)) throw error;
    return { ...nothing, note: `The deal ${id} is left to a person, as fix.by_hand says: ${error.message}.` };
  }
}

function translated(message: FixMessage, config: TranslateConfig): Translated {
  if (message.type === "8") return executionReport(message, config);
  if (message.type === "AE") return tradeCapture(message, config);
  if (message.type === "W" || message.type === "X") return { events: [], quotes: quotesOf(message) };
  return nothing;
}

function executionReport(message: FixMessage, config: TranslateConfig): Translated {
  const type = message.get(tag.execType) ?? "";
  const id = message.get(tag.execId);
  // FIX 4.2 has no trade type: there 1 and 2 are fills, unless ExecTransType says cancel, correct or status.
  const transaction = message.get(tag.execTransType) ?? "0";
  if (type === "G" || type === "H" || transaction === "1" || transaction === "2") {
    return { ...nothing, note: `The venue took back or changed the deal ${id}: correct it by hand.` };
  }
  const isFill = type === "F" || ((type === "1" || type === "2") && transaction === "0");
  if (!isFill) return nothing;
  if (id === undefined) throw new Unreadable(tag.execId, id, "names no deal");
  return filled([{ ...common(message, config), deal_id: id, ...sideOf(message, config) }]);
}

function tradeCapture(message: FixMessage, config: TranslateConfig): Translated {
  const id = message.get(tag.execId) ?? message.get(tag.tradeReportId);
  if ((message.get(tag.tradeReportTransType) ?? "0") !== "0") {
    return { ...nothing, note: `The venue took back or changed the trade report ${id}: correct it by hand.` };
  }
  if (id === undefined) throw new Unreadable(tag.tradeReportId, id, "names no deal");
  const sides = groupOf(message.fields, "NoSides");
  if (sides.length === 0) throw new Unreadable(tag.noSides, message.get(tag.noSides), "names no side");
  const fills = sides.map((side, place) => ({
    ...common(message, config),
    deal_id: place === 0 ? id : `${id}/${place + 1}`,
    platform_login: text(side["Account"]) ?? config.account,
    side: buysOrSells(text(side["Side"])),
    effect: effectOf(text(side["PositionEffect"])),
  }));
  return filled(fills);
}

type Draft = Omit<Fill, "platform_login"> & { readonly platform_login: string | undefined };

/** The fills of accounts. A side without one is that of a counterparty, where another side has one. */
function filled(drafts: readonly Draft[]): Translated {
  const events = drafts.flatMap(({ platform_login, ...rest }): VenueEvent[] =>
    platform_login === undefined ? [] : [{ kind: "fill", fill: { ...rest, platform_login } }],
  );
  if (events.length === 0) throw new Unreadable(tag.account, undefined, "names no account; fix.account is one for all");
  const [first] = drafts;
  if (first === undefined || unitsOf(first.lots) !== 0n) return { events, quotes: [] };
  return { ...nothing, note: `The deal ${first.deal_id} has the quantity 0, and changes nothing.` };
}

function common(message: FixMessage, config: TranslateConfig) {
  const symbol = message.get(tag.symbol) ?? "";
  const { position_id, profit, commission } = config.tags ?? {};
  const money = (number: number | undefined) => {
    const given = number === undefined ? undefined : message.get(number);
    return number === undefined || given === undefined ? undefined : decimalIn(number, given);
  };
  const price = money(tag.lastPx) ?? money(tag.avgPx);
  if (price === undefined) throw new Unreadable(tag.lastPx, price, "names no price");
  return {
    symbol,
    lots: lotsOf(message.get(tag.lastQty), symbol, config),
    price,
    at: timeOf(message.get(tag.transactTime)),
    position_id: position_id === undefined ? undefined : message.get(position_id),
    profit: money(profit),
    commission: money(commission),
  };
}

function sideOf(message: FixMessage, config: TranslateConfig) {
  return {
    platform_login: message.get(tag.account) ?? config.account,
    side: buysOrSells(message.get(tag.side)),
    effect: effectOf(message.get(tag.positionEffect)),
  };
}

/** Sides that sell: sell, sell plus, sell short, sell short exempt. */
const sells = ["2", "4", "5", "6"];

function buysOrSells(side: string | undefined): "buy" | "sell" {
  if (side === "1" || side === "3") return "buy";
  if (side !== undefined && sells.includes(side)) return "sell";
  throw new Unreadable(tag.side, side, "neither buys nor sells");
}

function effectOf(effect: string | undefined): "open" | "close" | undefined {
  return effect === "O" ? "open" : effect === "C" ? "close" : undefined;
}

/** Lots of a quantity, exactly. */
function lotsOf(quantity: string | undefined, symbol: string, { lot_size }: TranslateConfig): string {
  if (quantity === undefined) throw new Unreadable(tag.lastQty, quantity, "names no quantity");
  const size = lot_size?.[symbol] ?? lot_size?.["default"] ?? "1";
  const units = unitsOf(decimalIn(tag.lastQty, quantity));
  if (units < 0n) throw new Unreadable(tag.lastQty, quantity, "is below 0");
  const lots = exactQuotient(units, unitsOf(size));
  if (lots === undefined)
    throw new Unreadable(tag.lastQty, quantity, `is no plain number of lots of ${size} ${symbol}`);
  return decimalOf(lots, 2);
}

/** Digits that a number of the engine keeps exactly, and that FIX asks every reader of a float to keep. */
const exactDigits = 15;

/** Quantity of lots; undefined where a number of FIX would not be exactly that. */
export function quantityOf(lots: string, symbol: string, { lot_size }: TranslateConfig): number | undefined {
  const size = unitsOf(lot_size?.[symbol] ?? lot_size?.["default"] ?? "1");
  const quantity = exactProduct(unitsOf(lots), size);
  if (quantity === undefined) return undefined;
  const text = decimalOf(quantity);
  return text.replace(/\D/g, "").length > exactDigits ? undefined : Number(text);
}

/** UTCTimestamp of FIX as RFC 3339: 20261120-09:00:00.120 */
function timeOf(stamp: string | undefined): string | undefined {
  const [, year, month, day, time] = /^(\d{4})(\d\d)(\d\d)-(\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/.exec(stamp ?? "") ?? [];
  return time === undefined ? undefined : `${year}-${month}-${day}T${time}Z`;
}

function text(value: unknown): string | undefined {
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

/** The entries of a group, wherever the dictionary puts it. */
function groupOf(fields: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>>[] {
  const here = fields[name];
  if (Array.isArray(here)) return here as Record<string, unknown>[];
  for (const value of Object.values(fields)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const found = groupOf(value as Record<string, unknown>, name);
    if (found.length > 0) return found;
  }
  return [];
}

/** The best bid and ask of each symbol, where a message has both. */
function quotesOf(message: FixMessage): VenueQuote[] {
  const prices = new Map<string, { bid?: string; ask?: string }>();
  for (const entry of groupOf(message.fields, "NoMDEntries")) {
    const instrument = entry["Instrument"] as Readonly<Record<string, unknown>> | undefined;
    const symbol = text(entry["Symbol"] ?? instrument?.["Symbol"]) ?? message.get(tag.symbol);
    const price = text(entry["MDEntryPx"]);
    if (symbol === undefined || price === undefined) continue;
    const found = prices.get(symbol) ?? {};
    if (entry["MDEntryType"] === "0") found.bid = plain(price);
    if (entry["MDEntryType"] === "1") found.ask = plain(price);
    prices.set(symbol, found);
  }
  return [...prices].flatMap(([symbol, { bid, ask }]) =>
    bid === undefined || ask === undefined ? [] : [{ symbol, bid, ask }],
  );
}

/** The engine reads prices as numbers, and a small one prints with an exponent. */
function plain(price: string): string {
  return price.includes("e") ? Number(price).toFixed(mostDecimals) : price;
}
