import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import type { StoredQuote } from "./entities.ts";
import { exposedTo } from "./exposed-accounts.ts";
import { sendAccounts } from "./margin-queue.ts";
import { inParallel } from "./parallel.ts";

/** A quote as the stream of its table brought it. */
export interface QuoteRecord {
  /** Its number in the stream. */
  readonly sequence: string;
  readonly quote: StoredQuote;
}

/**
 * Sends for evaluation the accounts whose triggers the newest quotes meet: of each symbol only its last one in the
 * batch counts, since an evaluation reads the newest anyway. Returns the numbers of the records whose symbol could not
 * be dealt with, which are to come again.
 */
export async function watchQuotes(records: readonly QuoteRecord[]): Promise<ReadonlySet<string>> {
  const bySymbol = new Map<string, QuoteRecord[]>();
  for (const record of records) {
    const { tenant_id, symbol } = record.quote;
    const name = `${tenant_id}|${symbol}`;
    bySymbol.set(name, [...(bySymbol.get(name) ?? []), record]);
  }
  const failed = new Set<string>();
  await inParallel(limits.margin.parallel_symbols, [...bySymbol.values()], async (own) => {
    const quote = own.at(-1)?.quote;
    if (quote === undefined) return;
    try {
      for await (const accountIds of exposedTo(quote)) await wakeAccounts(quote.tenant_id, accountIds);
    } catch (error) {
      for (const { sequence } of own) failed.add(sequence);
      const { name, message } = error as Error;
      log.error("A quote could not be watched.", { symbol: quote.symbol, error: name, message });
    }
  });
  return failed;
}

/** The last message of an account: nobody sees it before `seen_from`, and at that moment every price is read anew. */
interface Sent {
  readonly seen_from: number;
}

/** What this function has sent, oldest first. It only saves messages: what is forgotten is sent once more. */
const sent = new Map<string, Sent>();

/**
 * Asks for an evaluation of accounts, of each at once and then at most once in a window. A message that nobody has seen
 * yet covers every price until it is seen; one that may have been is followed by another at the end of the window, so
 * that the last price of a burst is judged too.
 */
async function wakeAccounts(tenant: string, accountIds: readonly string[]): Promise<void> {
  const windowMs = delayMs(limits.margin.window_seconds);
  const now = nowMs();
  const [first, later]: [string[], string[]] = [[], []];
  for (const id of new Set(accountIds)) {
    const last = sent.get(id)?.seen_from;
    if (last !== undefined && now < last) continue;
    const follows = last !== undefined && now < last + windowMs;
    (follows ? later : first).push(id);
    remember(id, { seen_from: follows ? now + windowMs : now });
  }
  await Promise.all([sendOrForget(tenant, first, 0), sendOrForget(tenant, later, limits.margin.window_seconds)]);
}

function remember(id: string, message: Sent): void {
  sent.delete(id);
  sent.set(id, message);
  if (sent.size <= limits.margin.remembered_accounts) return;
  const [oldest] = sent.keys();
  if (oldest !== undefined) sent.delete(oldest);
}

async function sendOrForget(tenant: string, ids: readonly string[], delaySeconds: number): Promise<void> {
  if (ids.length === 0) return;
  try {
    await sendAccounts(tenant, ids, delaySeconds);
  } catch (error) {
    for (const id of ids) sent.delete(id);
    throw error;
  }
}
