import { limits } from "../../limits.ts";
import type { ExposureBody } from "../../schema/exposure.ts";
import type { SideName } from "../../schema/trade.ts";
import type { Position } from "../records/position.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { closePrice, type Market, triggerUnits } from "./pricing/quote.ts";
import { quotient, type Rational, rational, shortDecimalText } from "./pricing/rational.ts";
import { lotsOf } from "./pricing/symbol.ts";

/** Members of a position that its sum needs: the list index carries them. */
export type SummedPosition = Pick<Position, "account_type" | "symbol" | "side" | "lots" | "open_price">;

/** Open positions of one symbol and side: their number, their lots, and the sum of lots times opening price. */
type Row = readonly [symbol: string, side: SideName, positions: number, lots: string, cost: string];

/** The sums of a tenant's open positions of one account type, by symbol and side. */
export interface StoredOpenInterest {
  readonly tenant_id: string;
  readonly account_type: Position["account_type"];
  /** When the reading of the positions began, RFC 3339. */
  readonly as_of: string;
  readonly rows: readonly Row[];
}

interface Sum {
  readonly symbol: string;
  readonly side: SideName;
  positions: number;
  /** In units of 10^-12. */
  lots: bigint;
  /** In units of 10^-24. */
  cost: bigint;
}

const unit = 10n ** BigInt(limits.trading.trigger_digits);

/** Sums of open positions, exact: a decimal of the wire has at most twelve decimals. */
export class OpenInterest {
  private readonly sums = { live: new Map<string, Sum>(), demo: new Map<string, Sum>() };

  /** @throws Error for an entry without the members that are summed: a sum without it would be wrong */
  add({ account_type, symbol, side, lots, open_price }: SummedPosition): void {
    const own = this.sums[account_type];
    if (own === undefined || symbol === undefined || (side !== "buy" && side !== "sell")) {
      throw new Error("An entry of the list of positions has not the members that are summed.");
    }
    const units = triggerUnits(lots);
    const cost = units * triggerUnits(open_price);
    const name = `${symbol}\n${side}`;
    const sum = own.get(name);
    if (sum === undefined) own.set(name, { symbol, side, positions: 1, lots: units, cost });
    else {
      sum.positions += 1;
      sum.lots += units;
      sum.cost += cost;
    }
  }

  /** The rows of an account type, by symbol and side. */
  rowsOf(accountType: Position["account_type"]): Row[] {
    const sums = [...this.sums[accountType]].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sums.map(([, { symbol, side, positions, lots, cost }]) => [
      symbol,
      side,
      positions,
      shortDecimalText(quotient(lots, unit), 0, limits.trading.trigger_digits),
      shortDecimalText(quotient(cost, unit * unit), 0, 2 * limits.trading.trigger_digits),
    ]);
  }
}

/** The exposure as the API shows it, at the newest closing prices. */
export function exposureBody(sums: StoredOpenInterest, market: Market, now: string): ExposureBody {
  const { account_type, as_of, rows } = sums;
  const net = new Map<TradingSymbol, Rational>();
  const data = rows.flatMap((row) => {
    const [name, side, , lots] = row;
    const symbol = market.symbols.get(name);
    // A reset of the sandbox removes a symbol with its positions.
    if (symbol === undefined) return [];
    const signed = side === "buy" ? rational(lots) : rational(lots).neg();
    net.set(symbol, signed.add(net.get(symbol) ?? 0n));
    return [shown(row, symbol, market.quotes.get(name))];
  });
  return {
    object: "exposure",
    account_type,
    as_of,
    age_seconds: Math.max(0, Math.floor((Date.parse(now) - Date.parse(as_of)) / 1000)),
    data,
    net: [...net].map(([symbol, lots]) => ({ symbol: symbol.symbol, lots: lotsOf(symbol, lots) })),
    _links: { self: { href: `/v2/exposure?account_type=${account_type}` } },
  };
}

function shown(row: Row, symbol: TradingSymbol, quote: Quote | undefined): ExposureBody["data"][number] {
  const [, side, positions, lots, cost] = row;
  const price = quote === undefined ? null : closePrice(quote, side);
  const decimals = (value: Rational, least: number) => shortDecimalText(value, least, limits.trading.rate_digits);
  const risen = price === null ? undefined : rational(price).mul(lots).sub(cost).mul(symbol.contract_size);
  return {
    symbol: symbol.symbol,
    side,
    lots: lotsOf(symbol, rational(lots)),
    positions,
    average_price: decimals(rational(cost).div(lots), symbol.digits),
    price,
    floating_pnl: risen === undefined ? null : decimals(side === "buy" ? risen : risen.neg(), 2),
    currency: symbol.quote_currency,
  };
}
