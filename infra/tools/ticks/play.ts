import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../../shared/limits.ts";
import type { ServiceClient } from "../service-client.ts";
import type { Tick } from "./tick-file.ts";

/** Results of the prices of a file. */
export interface Played {
  /** Prices that were sent. */
  sent: number;
  accepted: number;
  /** Prices that a later one took the place of before they were sent; always 0 unless prices are conflated. */
  conflated: number;
  /** Other results by their code, and how many there were of each. */
  readonly others: Map<string, number>;
  /** How far the playback is behind the file, in milliseconds. */
  behind_ms: number;
  /** Time in the file of the last price that was sent; undefined before the first. */
  at: number | undefined;
}

/** How ticks are played. */
export interface Playback {
  readonly client: ServiceClient;
  readonly source_id: string;
  /** How many seconds of the file pass in one second. */
  readonly speed: number;
  /** Longest wait between two ticks, in milliseconds: a weekend need not be waited for. */
  readonly longest_pause_ms: number;
  /** Sends only the newest price of a symbol when several are due, as market data feeds do; without it, each one. */
  readonly conflate?: boolean;
  /** Receives the counts after each request. */
  readonly onProgress?: (played: Played) => void;
}

/** Between two requests of a conflated playback: four fifths of what an application may send. */
const leastIntervalMs = 1250 / limits.rate.feed_per_second;

/** Prices of one request (`POST /feed/sources/{id}/quotes`). */
const mostQuotes = 200;

interface QuoteReceipt {
  readonly results: readonly { readonly status: string; readonly code?: string }[];
}

/**
 * Plays ticks as the prices of a source, in an epoch of their own, with the times at which they are sent: the service
 * refuses prices of the past. A request holds each symbol once, so each price becomes the quote and none is skipped:
 * when the service is slower than the file, the playback falls behind. A conflated one skips prices and keeps its time.
 */
export async function playTicks(ticks: AsyncIterable<Tick>, playback: Playback): Promise<Played> {
  const { client, source_id, speed, longest_pause_ms, conflate = false, onProgress } = playback;
  const path = `/feed/sources/${source_id}`;
  const { body: source } = await client.call<{ quote_epoch: number }>("POST", `${path}/epochs`);
  const played: Played = { sent: 0, accepted: 0, conflated: 0, others: new Map(), behind_ms: 0, at: undefined };
  const batch = new Map<string, Tick>();
  let next = 0;

  async function send(): Promise<void> {
    if (batch.size === 0) return;
    if (conflate) await pause(Math.max(0, next - performance.now()));
    next = performance.now() + leastIntervalMs;
    const time = new Date().toISOString();
    const quotes = [...batch.values()].map(({ symbol, bid, ask }, place) => {
      return { symbol, bid, ask, time, seq: String(played.sent + place + 1) };
    });
    played.sent += batch.size;
    played.at = [...batch.values()].at(-1)?.time;
    batch.clear();
    const { body } = await client.call<QuoteReceipt>("POST", `${path}/quotes`, {
      body: { epoch: source.quote_epoch, quotes },
    });
    for (const { status, code } of body.results) {
      if (status === "accepted") played.accepted += 1;
      else played.others.set(code ?? status, (played.others.get(code ?? status) ?? 0) + 1);
    }
    onProgress?.(played);
  }

  let due = performance.now();
  let last: number | undefined;
  for await (const tick of ticks) {
    due += Math.min((tick.time - (last ?? tick.time)) / speed, longest_pause_ms);
    last = tick.time;
    const early = due - performance.now();
    if (conflate && early <= 0 && batch.has(tick.symbol)) played.conflated += 1;
    else if (batch.has(tick.symbol) || batch.size === mostQuotes || early > 0) await send();
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    played.behind_ms = Math.max(0, performance.now() - due);
    batch.set(tick.symbol, tick);
  }
  await send();
  return played;
}
