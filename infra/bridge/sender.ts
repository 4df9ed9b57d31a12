import { setTimeout as pause } from "node:timers/promises";
import { type ServiceClient, ServiceError } from "../tools/service-client.ts";
import type { Journal } from "./journal.ts";
import type { VenueQuote } from "./venue.ts";

/** Items of one batch, and prices of one request. */
const mostItems = 100;
const mostQuotes = 200;
/** A source without a batch for 60 s is stale; an empty batch is a heartbeat. */
const heartbeatMs = 15_000;
/** Wait before items are sent again that the service could not apply yet. */
const deferredMs = 250;
/** Prices are collected for so long: only the last price of a symbol counts. */
const quotesEveryMs = 200;

/** Answer to a batch, as far as a bridge reads it. */
interface Receipt {
  readonly expected_next_seq: string;
  readonly results: readonly { readonly seq: string; readonly status: string; readonly code?: string }[];
}

/** Shared by every part of a bridge. */
export interface BridgeContext {
  readonly client: ServiceClient;
  readonly journal: Journal;
  /** `/feed/sources/{id}` */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly say: (sentence: string) => void;
}

/** Sends items in order from where the service is, and heartbeats while there are none, until it is stopped. */
export async function sendItems({ client, journal, path, signal, say }: BridgeContext): Promise<void> {
  while (!signal.aborted) {
    const body = journal.unsent(mostItems);
    const receipt = await client.call<Receipt>("POST", `${path}/batches`, { body, signal }).catch(unlessGap);
    if (receipt === undefined) {
      const source = await client.call<{ expected_next_seq: string }>("GET", path, { signal });
      journal.accept(BigInt(source.body.expected_next_seq));
      continue;
    }
    const { expected_next_seq, results } = receipt.body;
    journal.accept(BigInt(expected_next_seq));
    for (const { seq, status, code } of results) {
      if (status === "rejected") say(`Item ${seq} was put aside (${code}): see GET ${path}/rejects.`);
    }
    if (results.some(({ status }) => status === "deferred")) await pause(deferredMs, undefined, { signal });
    else if (journal.unsent(1).items.length === 0) await newsOrHeartbeat(journal, signal);
  }
}

/** A gap is not an error of the bridge: the service says where it is. */
function unlessGap(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === "sequence_gap") return undefined;
  throw error;
}

async function newsOrHeartbeat(journal: Journal, signal: AbortSignal): Promise<void> {
  const due = new AbortController();
  const either = AbortSignal.any([signal, due.signal]);
  const heartbeat = pause(heartbeatMs, undefined, { signal: either }).catch(() => undefined);
  await Promise.race([journal.news(), heartbeat]);
  due.abort();
}

/** The last prices that a venue reported, until they are sent. */
export class Quotes {
  private readonly waiting = new Map<string, VenueQuote & { readonly time: string }>();
  private seq = 0;

  /** Keeps a price, with the time at which it came. */
  add(quote: VenueQuote): void {
    this.waiting.set(quote.symbol, { ...quote, time: new Date().toISOString() });
  }

  /**
   * Sends prices until it is stopped, in an epoch of its own, so that their numbers begin at 1 after every start. A
   * price that is replaced before it is sent is not sent.
   */
  async send({ client, path, signal, say }: BridgeContext): Promise<void> {
    const { body: source } = await client.call<{ quote_epoch: number }>("POST", `${path}/epochs`, { signal });
    const refused = new Set<string>();
    while (!signal.aborted) {
      await pause(quotesEveryMs, undefined, { signal });
      const quotes = [...this.waiting.values()].slice(0, mostQuotes).map(({ symbol, bid, ask, time }) => {
        this.waiting.delete(symbol);
        this.seq += 1;
        return { symbol, bid, ask, time, seq: String(this.seq) };
      });
      if (quotes.length === 0) continue;
      const send = (accepted: typeof quotes) =>
        client.call<QuoteReceipt>("POST", `${path}/quotes`, {
          body: { epoch: source.quote_epoch, quotes: accepted },
          signal,
        });
      for (const { symbol, code } of await withoutRefused(quotes, send)) {
        if (refused.has(`${symbol} ${code}`)) continue;
        refused.add(`${symbol} ${code}`);
        say(`A price of ${symbol} was not accepted (${code}).`);
      }
    }
  }
}

/** A price that was not accepted, and why. */
interface RefusedQuote {
  readonly symbol: string;
  readonly code: string;
}

/**
 * Sends quotes, without those that the service names as invalid: one that it cannot read refuses all of a request, and
 * must not keep the other prices back. Returns those that were not accepted.
 */
export async function withoutRefused<T extends { readonly symbol: string }>(
  quotes: readonly T[],
  send: (quotes: T[]) => Promise<{ readonly body: QuoteReceipt }>,
): Promise<RefusedQuote[]> {
  if (quotes.length === 0) return [];
  try {
    const { body } = await send([...quotes]);
    return body.results.flatMap(({ symbol, code }) => (code === undefined ? [] : [{ symbol, code }]));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const reasons = new Map<number, string>();
    for (const { pointer, detail } of error.errors) {
      const [, place, member = ""] = /^#\/quotes\/(\d+)(?:\/(\w+))?/.exec(pointer) ?? [];
      if (place !== undefined) reasons.set(Number(place), `${member} ${detail}`);
    }
    const dropped = quotes.flatMap(({ symbol }, place) => {
      const code = reasons.get(place);
      return code === undefined ? [] : [{ symbol, code }];
    });
    if (dropped.length === 0) throw error;
    const left = quotes.filter((_, place) => !reasons.has(place));
    return [...dropped, ...(await withoutRefused(left, send))];
  }
}

interface QuoteReceipt {
  readonly results: readonly { readonly symbol: string; readonly code?: string }[];
}
