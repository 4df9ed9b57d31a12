import type { Context } from "../../domain/kernel/decision.ts";
import type { Account } from "../../domain/records/account.ts";
import type { Position } from "../../domain/records/position.ts";
import { type Rollovers, rolloverName, rolloversNeeded } from "../../domain/trading/nights/accrue.ts";
import { draftRollover, type Rollover } from "../../domain/trading/nights/rollover.ts";
import type { Market } from "../../domain/trading/pricing/quote.ts";
import { type Key, rollovers } from "../../table/entities.ts";
import { putOnce } from "../../table/items.ts";
import { readKeys } from "../../table/store.ts";

const none: Rollovers = new Map();

/**
 * The rollovers that the due nights of an account's positions need. The first that needs one writes it, on the terms
 * and prices of its moment. Nothing is read where no night is due, and one that cannot be converted yet is left out.
 */
export async function readRollovers(
  context: Context,
  { account, positions }: { readonly account: Account; readonly positions: readonly Position[] },
  market: Market,
  read: (keys: readonly Key[]) => Promise<readonly unknown[]> = readKeys,
  keep: (draft: Rollover) => Promise<Rollover> = keepOnce,
): Promise<Rollovers> {
  const needed = rolloversNeeded(account, positions, market, context.now);
  if (needed.length === 0) return none;
  const { tenant_id } = context;
  const found = await read(
    needed.map(({ symbol, date, currency }) => rollovers.key(tenant_id, symbol, date, currency)),
  );
  const known = new Map<string, Rollover>();
  for (const [place, each] of needed.entries()) {
    const rollover = (found[place] as Rollover | undefined) ?? (await drafted(context, market, each, keep));
    if (rollover !== undefined) known.set(rolloverName(each), rollover);
  }
  return known;
}

/** A rollover on what is known now, unless another one was kept; undefined where it cannot be converted yet. */
async function drafted(
  context: Context,
  market: Market,
  { symbol: name, ...night }: Pick<Rollover, "symbol" | "date" | "currency">,
  keep: (draft: Rollover) => Promise<Rollover>,
): Promise<Rollover | undefined> {
  const symbol = market.symbols.get(name);
  const draft = symbol && draftRollover(market, symbol, night, context);
  return draft && (await keep(draft));
}

/** Writes a rollover unless there is one. */
async function keepOnce(draft: Rollover): Promise<Rollover> {
  return (await putOnce(rollovers, draft)) ?? draft;
}
