import { decimalOf, product, unitsOf } from "./units.ts";
import type { Fill, VenueEvent } from "./venue.ts";

/** An item of the feed without its number (`POST /feed/sources/{id}/batches`). */
export interface FeedItem {
  readonly type: "execution" | "balance_operation" | "account_update";
  readonly at?: string;
  readonly data: Readonly<Record<string, string | number>>;
}

/** A position on the platform, as a snapshot shows it. */
export interface BookPosition {
  readonly position_id: string;
  readonly symbol: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly open_price: string;
}

interface BookAccount {
  /** Balance from the first item on, in 10^-12. */
  balance: bigint;
  /** Whether every deal carried its money. */
  exact: boolean;
  readonly positions: Map<string, BookPosition>;
}

/** An account of a snapshot (`POST /feed/sources/{id}/snapshots`). */
export interface BookAccountBody {
  readonly platform_login: string;
  readonly balance: string;
  readonly credit: string;
  readonly positions: readonly BookPosition[];
}

/** A book as it is kept in the log. */
export type StoredBook = readonly { readonly exact: boolean; readonly account: BookAccountBody }[];

/** The accounts of a platform with their positions, computed from the items that a bridge sends. */
export class Book {
  private readonly accounts = new Map<string, BookAccount>();

  constructor(stored: StoredBook = []) {
    for (const { exact, account } of stored) {
      const positions = new Map(account.positions.map((position) => [position.position_id, position]));
      this.accounts.set(account.platform_login, { exact, balance: unitsOf(account.balance), positions });
    }
  }

  /** The book as it is kept. */
  stored(): StoredBook {
    return [...this.accounts].map(([platform_login, { balance, exact, positions }]) => ({
      exact,
      account: { platform_login, balance: decimalOf(balance, 2), credit: "0.00", positions: [...positions.values()] },
    }));
  }

  /** The accounts whose balances are known, for a snapshot. */
  snapshot(): BookAccountBody[] {
    return this.stored().flatMap(({ exact, account }) => (exact ? [account] : []));
  }

  position(platform_login: string, position_id: string): BookPosition | undefined {
    return this.accounts.get(platform_login)?.positions.get(position_id);
  }

  /** The items that an event becomes. */
  itemsOf(event: Exclude<VenueEvent, { kind: "adjusted" }>): FeedItem[] {
    if (event.kind === "fill") return this.deals(event.fill);
    if (event.kind === "terms") {
      const { platform_login, at, terms } = event.change;
      return [{ type: "account_update", ...(at !== undefined && { at }), data: { platform_login, ...terms } }];
    }
    const { operation_id, platform_login, amount, at, reference } = event.money;
    const data = {
      ...{ operation_id, platform_login, amount: shortest(unsigned(amount)) },
      kind: amount.startsWith("-") ? "withdrawal" : "deposit",
      ...(reference !== undefined && { reference }),
    };
    return [{ type: "balance_operation", ...(at !== undefined && { at }), data }];
  }

  /**
   * A venue that names positions says what a deal closes. Without names a deal first closes positions of the other side
   * of its symbol, the oldest first, and the rest opens a position of its own: one fill may become several deals.
   */
  private deals(fill: Fill): FeedItem[] {
    const { platform_login, position_id } = fill;
    const known = position_id === undefined ? undefined : this.position(platform_login, position_id);
    if (position_id !== undefined) {
      const closes = fill.effect === "close" || (fill.effect === undefined && known && known.side !== fill.side);
      return [closes ? closing(fill, position_id, fill.lots) : opening(fill, position_id, fill.lots)];
    }
    const items: FeedItem[] = [];
    let left = unitsOf(fill.lots);
    const against = fill.effect === "open" ? [] : this.opposite(fill);
    for (const position of against) {
      if (left === 0n) break;
      const lots = unitsOf(position.lots) < left ? unitsOf(position.lots) : left;
      left -= lots;
      items.push(closing(numbered(fill, items.length), position.position_id, decimalOf(lots, 2)));
    }
    if (left > 0n) {
      const rest = numbered(fill, items.length);
      items.push(opening(rest, rest.deal_id, decimalOf(left, 2)));
    }
    return items;
  }

  private opposite({ platform_login, symbol, side }: Fill): BookPosition[] {
    const positions = [...(this.accounts.get(platform_login)?.positions.values() ?? [])];
    return positions.filter((position) => position.symbol === symbol && position.side !== side);
  }

  /** Changes the book by an item. */
  apply({ type, data: reported }: FeedItem): void {
    if (type === "account_update") return;
    const data = reported as Readonly<Record<string, string>>;
    const account = this.accountOf(data["platform_login"] ?? "");
    if (type === "balance_operation") {
      const amount = unitsOf(data["amount"] ?? "0");
      account.balance += data["kind"] === "withdrawal" ? -amount : amount;
      return;
    }
    for (const member of ["profit", "commission", "swap"]) account.balance += unitsOf(data[member] ?? "0");
    if (data["action"] === "open") {
      this.raise(account, data as unknown as Opened);
      return;
    }
    if (data["profit"] === undefined) account.exact = false;
    const position = account.positions.get(data["position_id"] ?? "");
    if (position === undefined) return;
    const left = unitsOf(position.lots) - unitsOf(data["lots"] ?? position.lots);
    if (left > 0n) account.positions.set(position.position_id, { ...position, lots: decimalOf(left, 2) });
    else account.positions.delete(position.position_id);
  }

  /** Changes a balance for which there is no item. */
  adjust(platform_login: string, amount: string): void {
    this.accountOf(platform_login).balance += unitsOf(amount);
  }

  private raise(account: BookAccount, { position_id, symbol, side, lots, price }: Opened): void {
    const position = account.positions.get(position_id);
    const before = position === undefined ? 0n : unitsOf(position.lots);
    const added = unitsOf(lots);
    const value = before * unitsOf(position?.open_price ?? "0") + added * unitsOf(price);
    const open_price = position === undefined ? price : decimalOf(value / (before + added));
    account.positions.set(position_id, { position_id, symbol, side, lots: decimalOf(before + added, 2), open_price });
  }

  private accountOf(login: string): BookAccount {
    const found = this.accounts.get(login) ?? { balance: 0n, exact: true, positions: new Map() };
    this.accounts.set(login, found);
    return found;
  }
}

interface Opened extends BookPosition {
  readonly price: string;
}

function unsigned(amount: string): string {
  return amount.replace(/^-/, "");
}

/** An amount without zeros at its end: the service refuses 100.00 in a currency without decimals. */
function shortest(amount: string): string {
  return decimalOf(unitsOf(amount));
}

/** One of several deals of a fill: the first keeps its name and the money, the others get a number. */
function numbered(fill: Fill, before: number): Fill {
  if (before === 0) return fill;
  const { profit: _profit, commission: _commission, ...rest } = fill;
  return { ...rest, deal_id: `${fill.deal_id}#${before + 1}` };
}

function opening(fill: Fill, position_id: string, lots: string): FeedItem {
  const { deal_id, platform_login, symbol, side, price, commission, at } = fill;
  const deal = { action: "open", platform_login, deal_id, position_id, symbol, side, lots, price };
  const data = { ...deal, ...(commission !== undefined && { commission: shortest(commission) }) };
  return { type: "execution", ...(at !== undefined && { at }), data };
}

function closing(fill: Fill, position_id: string, lots: string): FeedItem {
  const { deal_id, platform_login, price, commission, profit, reason, at } = fill;
  const data = {
    ...{ action: "close", platform_login, deal_id, position_id, lots, price },
    ...(profit !== undefined && { profit: shortest(profit) }),
    ...(commission !== undefined && { commission: shortest(commission) }),
    ...(reason !== undefined && { reason }),
  };
  return { type: "execution", ...(at !== undefined && { at }), data };
}

/** Profit of closing lots of a position, in the currency of the symbol's quotes; not rounded to its digits. */
export function grossProfit(position: BookPosition, lots: string, price: string, contractSize: string): bigint {
  const move = unitsOf(price) - unitsOf(position.open_price);
  const value = product(product(unitsOf(lots), unitsOf(contractSize)), move);
  return position.side === "buy" ? value : -value;
}
