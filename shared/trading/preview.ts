import type { Context } from "../domain/kernel/decision.ts";
import type { Client } from "../domain/records/client.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Trade } from "../domain/records/trade.ts";
import type { Holdings } from "../domain/trading/margin.ts";
import { tradesWithNights, withNights } from "../domain/trading/nights/accrue.ts";
import { type Previewed, previewMargin } from "../domain/trading/preview/preview.ts";
import type { PreviewMargin } from "../schema/margin-preview.ts";
import { clients, feedSources, trades } from "../table/entities.ts";
import { type Load, ref } from "../table/store.ts";
import { byId, untilOpened } from "./commit.ts";
import { readHolder, readsOf } from "./holdings.ts";
import { readMarketWith } from "./market.ts";
import { readRollovers } from "./nights/rollovers.ts";

/**
 * Tries operations on an account: two rounds of reads, and nothing is written, nights that are due included. Undefined
 * when there is no such account.
 */
export async function previewOf(
  load: Load,
  context: Context,
  accountId: string,
  request: PreviewMargin,
): Promise<Previewed | undefined> {
  const { tenant_id } = context;
  const read = await readHolder(readsOf(load), tenant_id, accountId, { tenant: ref.tenant() });
  const tenant = read?.found.tenant;
  if (read === undefined || tenant === undefined) return undefined;
  const { account, positions } = read.state;
  untilOpened(account);
  const { currency, client_id, source_id } = account;
  const named = [...(request.prices ?? []), ...(request.opens ?? [])].map(({ symbol }) => ({ symbol, currency }));
  const ids = tradesNeeded(read.state, request);
  const { market, items } = await readMarketWith(
    tenant_id,
    [...positions, ...named],
    [
      clients.key(tenant_id, client_id),
      ...ids.map((id) => trades.key(tenant_id, id)),
      ...(source_id === undefined || source_id === null ? [] : [feedSources.key(tenant_id, source_id)]),
    ],
  );
  const [client, ...found] = items as [Client | undefined, ...unknown[]];
  if (client === undefined) return undefined;
  const rollovers = await readRollovers(context, read.state, market, undefined, async (draft) => draft);
  const state = withNights(read.state, market, rollovers, context.now);
  const known = byId(found.slice(0, ids.length) as (Trade | undefined)[]);
  const source = found[ids.length] as FeedSource | undefined;
  const seen = { ...state, tenant, client, source, trades: tradesWithNights(known, state.positions) };
  return previewMargin(read.state, seen, market, request, context);
}

/** The trades that the request closes, and with netting those that an opening may change. */
function tradesNeeded({ account, positions }: Holdings, { closes = [], opens = [] }: PreviewMargin): readonly string[] {
  const closed = new Set(closes.map(({ position_id }) => position_id));
  const opened = new Set(account.position_mode === "netting" ? opens.map(({ symbol }) => symbol) : []);
  return positions.filter(({ id, symbol }) => closed.has(id) || opened.has(symbol)).map(({ trade_id }) => trade_id);
}
