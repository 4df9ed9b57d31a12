import type { DomainEvent } from "../domain/kernel/decision.ts";
import type { Quote } from "../domain/records/quote.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import type { SandboxEffectsBody } from "../schema/sandbox.ts";
import { systemContext } from "../table/context.ts";
import { positionTrade, type StoredQuote } from "../table/entities.ts";
import { type Attempted, type Committed, commitTrading, evaluateAccount } from "../trading/commit.ts";
import { exposedTo } from "../trading/exposed-accounts.ts";
import { readQuoted } from "../trading/market.ts";
import { orderMet, stopsMet } from "./trading.ts";
import { markAgain, type Waiting, waitingFor } from "./waiting.ts";

/** Effects of new prices on orders, positions and accounts. */
export interface PriceEffects {
  readonly orders_filled: string[];
  /** Rejected when their price came, or at their end. */
  readonly orders_ended: string[];
  readonly trades_closed: string[];
  readonly accounts_evaluated: string[];
  readonly announced: DomainEvent[];
  /** Whether nothing is left to do now; a record of the stream of prices starts the rest. */
  complete: boolean;
}

/**
 * Applies the newest prices of symbols, to at most `most` items and as long as there is time: closes positions at their
 * stop loss or take profit, fills orders, and then evaluates accounts whose triggers are met. Each decision is made
 * from a new read, so a repetition or a concurrent run does nothing twice.
 */
export async function actOn(attempted: Attempted, quotes: readonly Quote[], most: number): Promise<PriceEffects> {
  const effects = noEffects();
  const met = await meetWaiting(attempted, quotes, most, effects);
  const exposed = await firstOf(exposedOf(attempted.tenant_id, quotes), most - met);
  await inParallel(limits.sandbox.parallel, exposed.items, (accountId) => judge(attempted, accountId, effects));
  if (exposed.more) effects.complete = false;
  return effects;
}

function noEffects(): PriceEffects {
  return {
    orders_filled: [],
    orders_ended: [],
    trades_closed: [],
    accounts_evaluated: [],
    announced: [],
    complete: true,
  };
}

/** Lets prices act on the positions with stops and the orders that wait for them; tells how many there were. */
async function meetWaiting(
  attempted: Attempted,
  quotes: readonly Quote[],
  most: number,
  effects: PriceEffects,
): Promise<number> {
  const { now } = attempted.newContext();
  const { items: waiting, more } = await firstOf(waitingOf(attempted.tenant_id, quotes, now), most);
  const byAccount = new Map<string, Waiting[]>();
  for (const one of waiting) byAccount.set(one.account_id, [...(byAccount.get(one.account_id) ?? []), one]);
  await inParallel(limits.sandbox.parallel, [...byAccount.values()], async (ofAccount) => {
    for (const one of ofAccount) await meet(attempted, one, effects);
  });
  if (more) effects.complete = false;
  return waiting.length;
}

/** A quote as the stream of its table brought it. */
export interface QuoteRecord {
  /** Its number in the stream. */
  readonly sequence: string;
  readonly quote: StoredQuote;
}

/**
 * Lets prices that came by the stream act on orders and stops: what a request left, what walks and feeds brought, and
 * what an index showed too late. Only the newest price of a symbol acts; accounts are judged by the margin watch.
 * Returns the numbers of the records whose prices left something, which are to come again.
 */
export async function matchQuotes(
  records: readonly QuoteRecord[],
  remainingMs: () => number,
): Promise<ReadonlySet<string>> {
  const byTenant = new Map<string, QuoteRecord[]>();
  for (const record of records) {
    const { tenant_id } = record.quote;
    byTenant.set(tenant_id, [...(byTenant.get(tenant_id) ?? []), record]);
  }
  const failed = new Set<string>();
  await inParallel(limits.sandbox.parallel, [...byTenant], async ([tenant_id, own]) => {
    const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "sandbox_market"), remainingMs };
    const effects = noEffects();
    try {
      const names = own.map(({ quote }) => quote.symbol);
      const { quotes } = await readQuoted(tenant_id, names);
      await meetWaiting(attempted, [...quotes.values()], limits.sandbox.max_matched, effects);
    } catch (error) {
      log.error("Waiting orders could not be matched with prices.", { tenant_id, ...causeOf(error) });
      // The same prices again would meet the same item; the next ones act when it is well.
      effects.complete = error instanceof UnreadableItem;
    }
    if (!effects.complete) for (const { sequence } of own) failed.add(sequence);
  });
  return failed;
}

/** The effects as the API shows them. */
export function effectsBody({ announced: _announced, ...effects }: PriceEffects): SandboxEffectsBody {
  return effects;
}

async function* waitingOf(tenant: string, quotes: readonly Quote[], now: string): AsyncGenerator<Waiting> {
  for (const quote of quotes) yield* waitingFor(tenant, quote, now);
}

/** Each account once, however many of the prices it waits for. */
async function* exposedOf(tenant: string, quotes: readonly Quote[]): AsyncGenerator<string> {
  const seen = new Set<string>();
  for (const quote of quotes) {
    for await (const ids of exposedTo({ ...quote, tenant_id: tenant })) {
      for (const id of ids) {
        if (seen.has(id)) continue;
        seen.add(id);
        yield id;
      }
    }
  }
}

async function firstOf<T>(all: AsyncGenerator<T>, most: number): Promise<{ items: readonly T[]; more: boolean }> {
  const items: T[] = [];
  for await (const item of all) {
    if (items.length >= most) return { items, more: true };
    items.push(item);
  }
  return { items, more: false };
}

/** Judges the margin of an account at the newest prices, with every step of a liquidation. */
export async function judge(attempted: Attempted, accountId: string, effects: PriceEffects): Promise<void> {
  const evaluation = await tried(attempted, accountId, effects, () => evaluateAccount(attempted, accountId));
  if (evaluation !== undefined) effects.accounts_evaluated.push(accountId);
}

/** Lets the newest price act on one thing that waits for it. */
async function meet(attempted: Attempted, waiting: Waiting, effects: PriceEffects): Promise<void> {
  const { kind, account_id, id, mark } = waiting;
  if (kind === "stops") {
    const request = stopsMet(account_id, positionTrade(id));
    const trade = await tried(attempted, id, effects, () => commitTrading(attempted, request));
    if (trade === undefined) return;
    effects.trades_closed.push(trade.id);
    if (mark !== undefined) await markAgain(mark, undefined, attempted.newContext());
    return;
  }
  const request = orderMet(account_id, id);
  const order = await tried(attempted, id, effects, () => commitTrading(attempted, request));
  if (order?.status === "filled") effects.orders_filled.push(id);
  if (order?.status === "rejected" || order?.status === "expired") effects.orders_ended.push(id);
  if (order !== undefined) await markAgain(mark, order, attempted.newContext());
}

/**
 * The result of a decision; undefined for one that has no time left, is contended, refused or throws: a later record of
 * the stream of prices starts it again, and the others go on.
 */
async function tried<R>(
  { remainingMs }: Attempted,
  id: string,
  effects: PriceEffects,
  commit: () => Promise<Committed<R>>,
): Promise<R | undefined> {
  let why = "no_time";
  if (remainingMs() > limits.sandbox.reserve_ms) {
    try {
      const outcome = await commit();
      if (outcome.kind === "done") {
        effects.announced.push(...outcome.events);
        return outcome.result;
      }
      why = outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
    } catch (error) {
      const { name, stack } = error as Error;
      log.error("A price could not be applied to an order or position.", { id, ...causeOf(error), stack });
      why = name;
    }
  }
  effects.complete = false;
  log.info("A price was not applied to an order or position; it is retried.", { id, why });
  return undefined;
}
