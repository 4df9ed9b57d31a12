import { quoteSetBody } from "../../shared/domain/trading/pricing/quote.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { read } from "../../shared/http/operations.ts";
import { listQuotes } from "../../shared/routes/market.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { readQuoted } from "../../shared/trading/market.ts";

/** `GET /quotes`: reads all of them from both tables at once. */
export const handler = await read(listQuotes, async ({ caller, query }) => {
  const names = listParameter(query, "symbols") ?? [];
  return quoteSetBody(await readQuoted(caller.tenant_id, names), names, nowIso());
});
