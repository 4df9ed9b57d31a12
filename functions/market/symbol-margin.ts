import { marginOfLots } from "../../shared/domain/trading/rates.ts";
import { read } from "../../shared/http/operations.ts";
import { HttpProblem } from "../../shared/http/problem.ts";
import { getSymbolMargin } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { ref } from "../../shared/table/store.ts";
import { marginTerms, refusedParameter } from "../../shared/trading/margin-query.ts";
import { readMarket } from "../../shared/trading/market.ts";
import { noQuote, noSymbol, symbolName } from "../../shared/trading/symbol-path.ts";

/** `GET /symbols/{symbol}/margin` */
export const handler = await read(getSymbolMargin, async ({ path, query, caller, load }) => {
  const name = symbolName(path);
  const terms = marginTerms(query);
  const account = "account_id" in terms ? (await load({ found: ref.account(terms.account_id) })).found : terms;
  if (account === undefined) throw new HttpProblem("account_not_found", "The account does not exist.");
  const market = await readMarket(caller.tenant_id, [{ symbol: name, currency: account.currency }]);
  const symbol = market.symbols.get(name);
  if (symbol === undefined) throw noSymbol();
  const quote = market.quotes.get(name);
  if (quote === undefined) throw noQuote(symbol);
  const question = { account, side: query["side"] === "sell" ? "sell" : "buy", lots: query["lots"] } as const;
  const answer = marginOfLots(market, symbol, quote, question, nowIso());
  if (!answer.ok) throw refusedParameter(answer.refusal);
  return answer.body;
});
