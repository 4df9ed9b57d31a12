import type { Context } from "../domain/kernel/decision.ts";
import type { Holdings } from "../domain/trading/margin.ts";
import { type Previewed, previewMargin } from "../domain/trading/preview/preview.ts";
import type { PreviewMargin } from "../schema/margin-preview.ts";
import { type Load, ref } from "../table/store.ts";
import { readSeen } from "./commit.ts";
import { readsOf } from "./holdings.ts";
import { linkOf } from "./items.ts";

/**
 * Tries operations on an account: it reads as the operations do and writes nothing, not even nights that are due.
 * Undefined when there is no such account.
 */
export async function previewOf(
  load: Load,
  context: Context,
  accountId: string,
  request: PreviewMargin,
): Promise<Previewed | undefined> {
  const read = await readSeen(
    readsOf(load),
    context,
    {
      account_id: accountId,
      refs: { tenant: ref.tenant() },
      needs: (state) => ({
        symbols: [...(request.prices ?? []), ...(request.opens ?? [])].map(({ symbol }) => symbol),
        trades: tradesNeeded(state, request),
      }),
    },
    async (draft) => draft,
  );
  if (!read.ok || read.found.tenant === undefined) return undefined;
  const { source } = await linkOf(load, read.stored);
  const state = { ...read.seen, tenant: read.found.tenant, source };
  return previewMargin(read.stored, state, read.market, request, context);
}

/** The trades that the request closes, and with netting those that an opening may change. */
function tradesNeeded({ account, positions }: Holdings, { closes = [], opens = [] }: PreviewMargin): readonly string[] {
  const closed = new Set(closes.map(({ position_id }) => position_id));
  const opened = new Set(account.position_mode === "netting" ? opens.map(({ symbol }) => symbol) : []);
  return positions.filter(({ id, symbol }) => closed.has(id) || opened.has(symbol)).map(({ trade_id }) => trade_id);
}
