import type { TradingSymbol } from "../domain/records/symbol.ts";
import { HttpProblem } from "../http/problem.ts";
import { symbolPattern } from "../schema/symbol.ts";

const wholeName = new RegExp(`^${symbolPattern}$`, "u");

/**
 * The name of the symbol that a path names.
 * @throws HttpProblem `symbol_not_found` when no symbol can have it
 */
export function symbolName({ symbol }: { readonly symbol: string }): string {
  const name = symbol.normalize("NFC");
  if (!wholeName.test(name)) throw noSymbol();
  return name;
}

/** The symbol does not exist. */
export function noSymbol(): HttpProblem {
  return new HttpProblem("symbol_not_found", "The symbol does not exist.");
}

/** A symbol without a quote yet: its first price may come any moment. */
export function noQuote(symbol: TradingSymbol): HttpProblem {
  return new HttpProblem("no_quote", `${symbol.symbol} has no price yet.`, { headers: { "Retry-After": "1" } });
}
