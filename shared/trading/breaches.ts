import type { Breach } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { keepLast } from "../runtime/keep-last.ts";
import { breaches } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { deleteItem, putItem } from "../table/items.ts";

/** Until when each symbol need not be recorded again, by tenant and symbol. */
const noted = new Map<string, number>();

/**
 * Records that a symbol's price met triggers, before any account is enqueued: if the messages are lost, and the price
 * stays where it is, the sweep finds the symbol. A record of a moment ago is still there: no sweep is due before it.
 */
export async function recordBreach(tenant: string, symbol: string): Promise<void> {
  const name = `${tenant}|${symbol}`;
  const now = nowMs();
  if (now < (noted.get(name) ?? 0)) return;
  const wake_at = wakeAfter(now);
  await putItem(breaches, { tenant_id: tenant, symbol, wake_at, checks: 0 });
  keepLast(noted, name, now + delayMs(limits.margin.noted_again_seconds), limits.trading.max_symbols);
}

/** When accounts that are enqueued at a moment are checked again, after so many checks that changed nothing. */
export function wakeAfter(ms: number, checks = 0): string {
  const { looked_again_seconds: first, looked_again_max_seconds: most } = limits.margin;
  return new Date(ms + delayMs(Math.min(first * 2 ** checks, most))).toISOString();
}

/** Deletes the record of a symbol that no account is left beyond, unless it was recorded again meanwhile. */
export async function endBreach(breach: Breach): Promise<void> {
  await deleteItem(breaches.keyOf(breach), isStill({ wake_at: breach.wake_at }));
}
