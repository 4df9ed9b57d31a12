import type { Quote } from "../domain/records/quote.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import { heldQuote } from "../domain/sandbox/prices.ts";
import { draftWalk, nextStep, type PriceWalk } from "../domain/sandbox/walk.ts";
import { isMarketOpen } from "../domain/trading/pricing/symbol.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { forEachOf, isDue, type SweepResult, sweepKeys, type Task } from "../table/due.ts";
import { type Key, nameInKey, priceWalks } from "../table/entities.ts";
import { deleteItem, putItem } from "../table/items.ts";
import { findAll, readAll } from "../table/store.ts";
import { transact } from "../table/transact.ts";
import { updateItem } from "../table/write.ts";
import { readQuoted } from "../trading/market.ts";
import { replaceQuote } from "../trading/quotes.ts";

/**
 * Half a step from now: the schedule comes once a step, and a walk that was due a moment after it would wait for the
 * next one, so that each step took two.
 */
function nextWake(): string {
  return new Date(nowMs() + delayMs(limits.sandbox.walk_step_seconds) / 2).toISOString();
}

/** Ends the walks of these symbols; a request that sets a price does so first, so that no step comes after it. */
export async function endWalks(tenant: string, symbols: readonly string[]): Promise<void> {
  const keys = symbols.map((symbol) => priceWalks.key(tenant, symbol));
  const walking = await findAll(priceWalks, keys);
  await inParallel(limits.sandbox.parallel, walking, async (walk) => {
    await deleteItem(priceWalks.keyOf(walk));
  });
}

/** Lets the price of a symbol walk from this quote on. */
export async function beginWalk(symbol: TradingSymbol, quote: Quote, seed: string): Promise<void> {
  const walk = draftWalk(symbol, quote, seed, { now: nowIso(), wake_at: nextWake() });
  await putItem(priceWalks, walk);
}

/** Takes the next step of every walk that is due, as long as `hasTime` says so. */
export function stepWalks(hasTime: () => boolean): Promise<SweepResult> {
  const task: Task<Key> = {
    parallel: limits.feed.parallel,
    run: async (key) => {
      await step(key);
      return 1;
    },
    report: ({ sk }, error) =>
      log.error("The next price of a random walk could not be made.", { walk: sk, ...causeOf(error) }),
  };
  return sweepKeys("WALK", hasTime, (keys) => forEachOf(keys, task));
}

/**
 * Takes one step. The quote is read before the walk: who sets a price ends the walk first, so where the walk is still
 * there, a price that is set comes after the one that was read, and the step does not take its place.
 */
async function step(key: Key): Promise<void> {
  const [tenant = ""] = key.pk.split("|");
  const name = nameInKey(key.sk);
  const market = await readQuoted(tenant, [name]);
  const [walk] = await readAll(priceWalks, [key]);
  const symbol = market.symbols.get(name);
  if (!isDue(walk)) return;
  const now = nowIso();
  const over = symbol === undefined || walk.tick >= limits.sandbox.max_walk_steps;
  if (over) return put(walk, { ...walk, wake_at: null, version: walk.version + 1 });
  if (!isMarketOpen(symbol, now)) return put(walk, { ...walk, wake_at: nextWake(), version: walk.version + 1 });
  const { after, price } = nextStep(walk, symbol, now, nextWake());
  const before = market.quotes.get(name);
  const outcome = heldQuote(symbol, before, price, now);
  if (outcome.ok && !(await replaceQuote(tenant, before, outcome.quote))) return;
  await put(walk, after);
}

/** Writes a walk, unless it was ended or taken on meanwhile. */
async function put(before: PriceWalk, after: PriceWalk): Promise<void> {
  try {
    await transact([updateItem(priceWalks, before, after)]);
  } catch (error) {
    if ((error as Error).name !== "TransactionCanceledException") throw error;
  }
}
