import { decimalOf, exactProduct, exactQuotient, unitsOf } from "../units.ts";
import type { Fill, VenueEvent } from "../venue.ts";
import { decimalIn, entriesOf, mustBeSingle, Unreadable } from "./float.ts";
import { type FixFields, type FixMessage, timeIn } from "./parse.ts";

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

/** Translation of a message. */
export interface Translated {
  readonly events: readonly VenueEvent[];
  /** Note on the message for a person. */
  readonly note?: string;
}

const tag = {
  account: 1,
  avgPx: 6,
  clOrdId: 11,
  cumQty: 14,
  execId: 17,
  execTransType: 20,
  lastPx: 31,
  lastQty: 32,
  status: 39,
  origClOrdId: 41,
  side: 54,
  symbol: 55,
  transactTime: 60,
  positionEffect: 77,
  execType: 150,
  leaves: 151,
  noSides: 552,
  tradeReportTransType: 487,
  tradeReportId: 571,
  matchId: 880,
} as const;

/** Tags that are read of both kinds of report, of an execution report, and of a side of a trade report. */
const ofReport = [tag.execId, tag.lastPx, tag.lastQty, tag.symbol, tag.transactTime, tag.tradeReportId, tag.matchId];
const ofExecution = [
  ...[tag.account, tag.avgPx, tag.clOrdId, tag.cumQty, tag.execTransType, tag.status, tag.origClOrdId, tag.side],
  ...[tag.positionEffect, tag.execType, tag.leaves],
];
const ofSide = [tag.account, tag.clOrdId, tag.side, tag.positionEffect];

const nothing: Translated = { events: [] };

/**
 * Translates an execution report (35=8) and a trade capture report (35=AE). Other messages become nothing.
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
  return nothing;
}

function executionReport(message: FixMessage, config: TranslateConfig): Translated {
  mustBeSingle(message, [...ofReport, ...ofExecution, ...Object.values(config.tags ?? {})]);
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
  return filled([{ deal_id: id, ...reported(message, config), ...sideOf(message, message, config) }]);
}

function tradeCapture(message: FixMessage, config: TranslateConfig): Translated {
  mustBeSingle(message, [...ofReport, tag.tradeReportTransType]);
  const id = message.get(tag.execId) ?? message.get(tag.tradeReportId);
  if ((message.get(tag.tradeReportTransType) ?? "0") !== "0") {
    return { ...nothing, note: `The venue took back or changed the trade report ${id}: correct it by hand.` };
  }
  if (id === undefined) throw new Unreadable(tag.tradeReportId, id, "names no deal");
  const sides = entriesOf(message, tag.noSides);
  if (sides.length === 0) throw new Unreadable(tag.noSides, message.get(tag.noSides), "names no side");
  const report = reported(message, config);
  const head = message.before(tag.noSides);
  const fills = sides.map((side, place) => {
    mustBeSingle(side, [...ofSide, ...Object.values(config.tags ?? {})]);
    return { ...report, deal_id: place === 0 ? id : `${id}/${place + 1}`, ...sideOf(side, head, config) };
  });
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
  if (first === undefined || unitsOf(first.lots) !== 0n) return { events };
  return { ...nothing, note: `The deal ${first.deal_id} has the quantity 0, and changes nothing.` };
}

/** The members of a deal that a report gives for all of its sides. */
function reported(message: FixMessage, config: TranslateConfig) {
  const symbol = message.get(tag.symbol);
  if (symbol === undefined) throw new Unreadable(tag.symbol, symbol, "names no symbol");
  const number = message.get(tag.lastPx) === undefined ? tag.avgPx : tag.lastPx;
  const price = decimalOfTag(message, number);
  if (price === undefined) throw new Unreadable(tag.lastPx, price, "names no price");
  const stamp = message.get(tag.transactTime);
  const at = stamp === undefined ? undefined : timeIn(stamp);
  if (at === undefined && stamp !== undefined) throw new Unreadable(tag.transactTime, stamp, "is no time", 6);
  const ids = [tag.tradeReportId, tag.matchId].flatMap((each) => {
    const value = message.get(each);
    return value === undefined ? [] : [`${each}=${value}`];
  });
  const lots = lotsOf(message.get(tag.lastQty), symbol, config);
  const form = message.type === "8" ? ("execution" as const) : ("capture" as const);
  return { symbol, lots, price, at, ...(ids.length > 0 && { trade: { form, ids } }) };
}

/** The members of a side; a venue's own tags may be there for the whole report. */
function sideOf(side: FixFields, report: FixFields, config: TranslateConfig) {
  const { position_id, profit, commission } = config.tags ?? {};
  const holder = (number: number) => (side.get(number) === undefined ? report : side);
  const money = (number: number | undefined) =>
    number === undefined ? undefined : decimalOfTag(holder(number), number);
  return {
    platform_login: side.get(tag.account) ?? config.account,
    side: buysOrSells(side.get(tag.side)),
    effect: effectOf(side.get(tag.positionEffect)),
    orders: [side.get(tag.clOrdId) ?? [], side.get(tag.origClOrdId) ?? []].flat(),
    position_id: position_id === undefined ? undefined : holder(position_id).get(position_id),
    profit: money(profit),
    commission: money(commission),
  };
}

function decimalOfTag(fields: FixFields, number: number): string | undefined {
  const text = fields.get(number);
  return text === undefined ? undefined : decimalIn(number, text);
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

/** Digits of a float that FIX asks every reader to keep. */
const exactDigits = 15;

/** Quantity of lots; undefined where not every reader of FIX would keep it exactly. */
export function quantityOf(lots: string, symbol: string, { lot_size }: TranslateConfig): string | undefined {
  const size = unitsOf(lot_size?.[symbol] ?? lot_size?.["default"] ?? "1");
  const quantity = exactProduct(unitsOf(lots), size);
  if (quantity === undefined) return undefined;
  const text = decimalOf(quantity);
  return text.replace(/\D/g, "").length > exactDigits ? undefined : text;
}
