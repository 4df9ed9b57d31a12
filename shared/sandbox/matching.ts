import type { DomainEvent } from "../domain/decision.ts";
import type { Quote } from "../domain/trading/pricing/quote.ts";
import { limits } from "../limits.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import type { SandboxEffectsBody } from "../schema/sandbox.ts";
import { systemContext } from "../table/context.ts";
import { positionTrade, type StoredQuote } from "../table/entities.ts";
import { type Attempted, type Committed, commitTrading, evaluateAccount } from "../trading/commit.ts";
import { exposedTo } from "../trading/exposed-accounts.ts";
import { readQuoted } from "../trading/market.ts";
import { orderMet, stopsMet } from "./trading.ts";
import { type Waiting, waitingFor } from "./waiting.ts";

/** What prices did to what waited for them. */
export interface Acted {
  readonly orders_filled: string[];
  /** Rejected when their price came, or at their end. */
  readonly orders_ended: string[];
  readonly trades_closed: string[];
  readonly accounts_evaluated: string[];
  readonly announced: DomainEvent[];
  /** Nothing is left to do now; what is left the stream of prices wakes somebody for. */
  complete: boolean;
}

/**
 * Lets the newest prices of symbols act, on up to so many things and as long as there is time: positions at their stop
 * loss or take profit are closed, orders are filled, and then accounts whose triggers are met are judged. Each is
 * decided from what is there then, so the same again, or by two at once, does nothing twice.
 */
export async function actOn(attempted: Attempted, quotes: readonly Quote[], most: number): Promise<Acted> {
  const acted = nothingYet();
  const met = await meetWaiting(attempted, quotes, most, acted);
  const exposed = await firstOf(exposedOf(attempted.tenant_id, quotes), most - met);
  await inParallel(limits.sandbox.parallel, exposed.items, (accountId) => judge(attempted, accountId, acted));
  if (exposed.more) acted.complete = false;
  return acted;
}

function nothingYet(): Acted {
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
  acted: Acted,
): Promise<number> {
  const { items: waiting, more } = await firstOf(waitingOf(attempted.tenant_id, quotes), most);
  const byAccount = new Map<string, Waiting[]>();
  for (const one of waiting) byAccount.set(one.account_id, [...(byAccount.get(one.account_id) ?? []), one]);
  await inParallel(limits.sandbox.parallel, [...byAccount.values()], async (ofAccount) => {
    for (const one of ofAccount) await meet(attempted, one, acted);
  });
  if (more) acted.complete = false;
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
    const acted = nothingYet();
    try {
      const names = own.map(({ quote }) => quote.symbol);
      const { quotes } = await readQuoted(tenant_id, names);
      await meetWaiting(attempted, [...quotes.values()], limits.sandbox.max_matched, acted);
    } catch (error) {
      const { name, message } = error as Error;
      log.error("Prices could not be matched.", { error: name, message });
      acted.complete = false;
    }
    if (!acted.complete) for (const { sequence } of own) failed.add(sequence);
  });
  return failed;
}

/** The part of it that the API shows. */
export function effectsBody({ announced: _announced, ...effects }: Acted): SandboxEffectsBody {
  return effects;
}

async function* waitingOf(tenant: string, quotes: readonly Quote[]): AsyncGenerator<Waiting> {
  for (const quote of quotes) yield* waitingFor(tenant, quote);
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
export async function judge(attempted: Attempted, accountId: string, acted: Acted): Promise<void> {
  const evaluation = await tried(attempted, accountId, acted, () => evaluateAccount(attempted, accountId));
  if (evaluation !== undefined) acted.accounts_evaluated.push(accountId);
}

/** Lets the newest price act on one thing that waits for it. */
async function meet(attempted: Attempted, { kind, account_id, id }: Waiting, acted: Acted): Promise<void> {
  if (kind === "stops") {
    const request = stopsMet(account_id, positionTrade(id));
    const trade = await tried(attempted, id, acted, () => commitTrading(attempted, request));
    if (trade !== undefined) acted.trades_closed.push(trade.id);
    return;
  }
  const request = orderMet(account_id, id);
  const order = await tried(attempted, id, acted, () => commitTrading(attempted, request));
  if (order?.status === "filled") acted.orders_filled.push(id);
  if (order?.status === "rejected" || order?.status === "expired") acted.orders_ended.push(id);
}

/**
 * What a decision came to. One that there is no time for, that others stand in the way of or that our code fails at is
 * left to whoever comes next, and holds up no other.
 */
async function tried<R>(
  { remainingMs }: Attempted,
  id: string,
  acted: Acted,
  commit: () => Promise<Committed<R>>,
): Promise<R | undefined> {
  let why = "no_time";
  if (remainingMs() > limits.sandbox.reserve_ms) {
    try {
      const outcome = await commit();
      if (outcome.kind === "done") {
        acted.announced.push(...outcome.events);
        return outcome.result;
      }
      why = outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
    } catch (error) {
      const { name, message, stack } = error as Error;
      log.error("A price could not act.", { id, error: name, message, stack });
      why = name;
    }
  }
  acted.complete = false;
  log.info("A price did not act yet.", { id, why });
  return undefined;
}
