import { unitsOf } from "../units.ts";
import type { VenueQuote } from "../venue.ts";
import { decimalIn, entriesOf, mustBeSingle, Unreadable } from "./float.ts";
import type { FixFields, FixMessage } from "./parse.ts";

const tag = { symbol: 55, count: 268, side: 269, price: 270, id: 278, action: 279, refId: 280 } as const;
const booked = [tag.symbol, tag.side, tag.price, tag.id, tag.action, tag.refId];

/** MDEntryType (269): the sides of a book, and that it is empty. */
const sides = { "0": "bid", "1": "ask" } as const;
const emptyBook = "J";

type Side = (typeof sides)[keyof typeof sides];
/** MDUpdateAction (279). */
const actions = { add: "0", change: "1", remove: "2" } as const;

/** A price of one side, with the id under which the venue changes it. */
interface Level {
  readonly id: string | undefined;
  readonly price: string;
}

type Book = Record<Side, readonly Level[]>;

/** The books of a venue by symbol, from which the best prices become quotes. */
export class Prices {
  private readonly books = new Map<string, Book>();
  /** After a message that could not be read a book begins with the next full one. */
  private needsFull = false;

  /**
   * Applies a full (35=W) or incremental (35=X) refresh; returns the best prices of the symbols that it names and that
   * have both sides.
   * @throws Unreadable when an entry cannot be read: no book is right any more, and all of them are dropped
   */
  apply(message: FixMessage): readonly VenueQuote[] {
    try {
      const entries = entriesOf(message, tag.count);
      if (message.get(tag.count) === undefined) throw new Unreadable(tag.count, undefined, "names no entry");
      for (const entry of entries) mustBeSingle(entry, booked);
      const symbols = message.type === "W" ? [this.full(message, entries)] : this.changed(message, entries);
      return [...new Set(symbols)].flatMap((symbol) => this.quoteOf(symbol));
    } catch (error) {
      this.books.clear();
      this.needsFull = true;
      throw error;
    }
  }

  /** Replaces the sides that a full refresh names; one without entries says that there is no price. */
  private full(message: FixMessage, entries: readonly FixFields[]): string {
    const symbol = message.get(tag.symbol) ?? entries[0]?.get(tag.symbol);
    if (symbol === undefined) throw new Unreadable(tag.symbol, symbol, "names no symbol");
    const types = entries.map((entry) => entry.get(tag.side));
    const book = this.book(symbol);
    for (const [type, side] of Object.entries(sides) as ["0" | "1", Side][]) {
      if (entries.length > 0 && !types.includes(type) && !types.includes(emptyBook)) continue;
      const named = entries.filter((entry) => entry.get(tag.side) === type);
      book[side] = named.map((entry) => ({ id: entry.get(tag.id), price: priceIn(entry) }));
    }
    return symbol;
  }

  /** Applies the entries of an incremental refresh in their order; returns their symbols. */
  private changed(message: FixMessage, entries: readonly FixFields[]): string[] {
    let last = message.before(tag.count).get(tag.symbol);
    const symbols: string[] = [];
    for (const entry of entries) {
      const id = entry.get(tag.refId) ?? entry.get(tag.id);
      const known = this.sideOfLevel(id);
      const symbol = entry.get(tag.symbol) ?? known?.symbol ?? last;
      if (symbol === undefined) throw new Unreadable(tag.symbol, symbol, "names no symbol");
      last = symbol;
      if (this.needsFull && !this.books.has(symbol)) continue;
      symbols.push(symbol);
      const type = entry.get(tag.side);
      if (type === emptyBook) this.books.delete(symbol);
      const side = type === "0" || type === "1" ? sides[type] : type === undefined ? known?.side : undefined;
      if (side === undefined) continue;
      const book = this.book(symbol);
      book[side] = levelsAfter(book[side], entry, id);
    }
    return symbols;
  }

  private book(symbol: string): Book {
    const book = this.books.get(symbol) ?? { bid: [], ask: [] };
    this.books.set(symbol, book);
    return book;
  }

  /** Where the level of an id is. */
  private sideOfLevel(id: string | undefined): { symbol: string; side: Side } | undefined {
    if (id === undefined) return undefined;
    for (const [symbol, book] of this.books) {
      for (const side of Object.values(sides)) if (book[side].some((level) => level.id === id)) return { symbol, side };
    }
    return undefined;
  }

  private quoteOf(symbol: string): VenueQuote[] {
    const { bid: bids = [], ask: asks = [] } = this.books.get(symbol) ?? {};
    const bid = best(bids, (price, other) => price > other);
    const ask = best(asks, (price, other) => price < other);
    return bid === undefined || ask === undefined ? [] : [{ symbol, bid, ask }];
  }
}

/** The levels of a side after an entry. Where one of the two has no id, an entry means the level of its price. */
function levelsAfter(levels: readonly Level[], entry: FixFields, id: string | undefined): readonly Level[] {
  const action = entry.get(tag.action) ?? "";
  if (!Object.values<string>(actions).includes(action)) throw new Unreadable(tag.action, action, "is no action");
  const price = entry.get(tag.price) === undefined ? undefined : priceIn(entry);
  const hasId = levels.some((level) => id !== undefined && level.id === id);
  const isMeant = (level: Level) => {
    if (hasId || price === undefined) return hasId && level.id === id;
    return (id === undefined || level.id === undefined) && unitsOf(level.price) === unitsOf(price);
  };
  const found = levels.find(isMeant);
  const others = levels.filter((level) => !isMeant(level));
  if (action === actions.remove) {
    if (id === undefined && price === undefined) return [];
    return others;
  }
  const now = { id: entry.get(tag.id) ?? id, price: price ?? found?.price };
  if (now.price === undefined) throw new Unreadable(tag.price, now.price, "names no price");
  const level = { id: now.id, price: now.price };
  if (action === actions.add || found !== undefined || id !== undefined) return [...others, level];
  // A change without an id can be that of the only level. Of several, it names none.
  if (levels.length > 1) throw new Unreadable(tag.price, price, "changes no price of the book");
  return [level];
}

function priceIn(entry: FixFields): string {
  const text = entry.get(tag.price);
  if (text === undefined) throw new Unreadable(tag.price, text, "names no price");
  return decimalIn(tag.price, text);
}

function best(levels: readonly Level[], isBetter: (price: bigint, other: bigint) => boolean): string | undefined {
  let found: string | undefined;
  for (const { price } of levels) {
    if (found === undefined || isBetter(unitsOf(price), unitsOf(found))) found = price;
  }
  return found;
}
