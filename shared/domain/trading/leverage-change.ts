import type { Account } from "../account.ts";
import { later } from "../decision.ts";
import { type Holdings, marginRequirement, requiredMargin, usedMargin } from "./margin.ts";
import type { Position } from "./position.ts";
import type { Market } from "./pricing/quote.ts";
import type { TradingSymbol } from "./pricing/symbol.ts";

/** What the margin of a symbol's positions follows from under a new leverage, as it was when the leverage changed. */
interface SymbolTerms extends Pick<TradingSymbol, "symbol" | "contract_size" | "calc_mode"> {
  /** The part of the notional that is taken as margin, as `numerator/denominator`. */
  readonly requirement: string;
}

/**
 * A change of leverage that changed more positions than one transaction holds. It is stored with the account in the
 * transaction that changes the leverage and the used margin, so all margins change at that moment: a stored position
 * of before is read as {@link underChange} makes it. The evaluator then rewrites the positions step by step, which
 * changes nothing that is read, and at last removes this (ADR 0020).
 */
export interface LeverageChange {
  /** The version of the account that the change made: positions that carry it, or a later one, follow it already. */
  readonly version: number;
  readonly at: string;
  readonly symbols: readonly SymbolTerms[];
}

/**
 * Positions of an account as they are under its last change of leverage, whether or not they are rewritten already.
 * One whose margin the change moves counts one version more than its item, as its item will when it is rewritten.
 */
export function underChange(
  { leverage_change: change }: Pick<Account, "leverage_change">,
  positions: readonly Position[],
): readonly Position[] {
  if (change === undefined) return positions;
  const bySymbol = new Map(change.symbols.map((terms) => [terms.symbol, terms]));
  return positions.map((position) => {
    const terms = bySymbol.get(position.symbol);
    const follows = terms === undefined || (position.leverage_version ?? 0) >= change.version;
    return follows ? position : renewed(position, terms, change);
  });
}

function renewed(position: Position, terms: SymbolTerms, { version, at }: LeverageChange): Position {
  const { requirement: margin_requirement } = terms;
  const margin_minor = requiredMargin(terms, { ...position, margin_requirement });
  const followed = { ...position, leverage_version: version };
  if (margin_requirement === position.margin_requirement && margin_minor === position.margin_minor) return followed;
  const updated_at = later(position.updated_at, at);
  return { ...followed, margin_requirement, margin_minor, updated_at, version: position.version + 1 };
}

/**
 * The holdings of an account that is already amended under its leverage and today's terms of the symbols: the margin of
 * each position is computed again from its frozen rate. The account carries the change. Undefined when a symbol of a
 * position is not in the market.
 */
export function underLeverage(market: Market, holdings: Holdings, leverage: number): Holdings | undefined {
  const amended = { ...holdings.account, leverage };
  const names = [...new Set(holdings.positions.map(({ symbol }) => symbol))];
  const symbols = names.flatMap((name): SymbolTerms[] => {
    const symbol = market.symbols.get(name);
    if (symbol === undefined) return [];
    const { contract_size, calc_mode } = symbol;
    return [{ symbol: name, contract_size, calc_mode, requirement: marginRequirement(amended, symbol) }];
  });
  if (symbols.length < names.length) return undefined;
  const account = { ...amended, leverage_change: { version: amended.version, at: amended.updated_at, symbols } };
  const positions = underChange(account, holdings.positions);
  const used = usedMargin(account.margin_calculation, positions);
  return { account, balance: { ...holdings.balance, used_margin_minor: used }, positions };
}

/** The account without its change of leverage, once every position follows it. */
export function withoutChange({ leverage_change: _done, ...account }: Account): Account {
  return account;
}
