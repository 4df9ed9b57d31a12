import { limits } from "../../limits.ts";
import { channelOf } from "./channels.ts";
import type { StreamSubscription } from "./subscription.ts";

/** When the quote of a symbol was sent last to a subscription, and which one. */
export interface SentQuote {
  /** Version of the quote; undefined before the first one. */
  readonly version: number | undefined;
  readonly at_ms: number;
}

/** A quote that is due to the subscriptions of a connection. */
export interface DueQuote {
  readonly symbol: string;
  readonly version: number;
  readonly subscriptions: readonly StreamSubscription[];
}

/** Quotes that were sent, by the revision of the subscription and the symbol. */
export type SentQuotes = ReadonlyMap<string, SentQuote>;

/** The key of {@link SentQuotes}. */
export function slotOf({ revision }: Pick<StreamSubscription, "revision">, symbol: string): string {
  return `${revision} ${symbol}`;
}

/** Milliseconds between two quotes of a symbol that a subscription is sent; undefined where it asks for no quotes. */
function intervalOf(subscription: StreamSubscription): number | undefined {
  const channel = channelOf(subscription, "quotes");
  return channel && Math.ceil(1000 / (channel.max_per_second ?? limits.stream.default_quotes_per_second));
}

/**
 * The quotes to send to a connection now: newer ones than the last that was sent to a subscription, unless that was
 * sent a moment ago. `waiting` tells whether one waits for its time: the last price of a burst is always sent.
 */
export function dueQuotes(
  subscriptions: readonly StreamSubscription[],
  versions: ReadonlyMap<string, number>,
  sent: SentQuotes,
  now: number,
): { readonly due: readonly DueQuote[]; readonly waiting: boolean } {
  const due = new Map<string, StreamSubscription[]>();
  let waiting = false;
  for (const subscription of subscriptions) {
    const interval = intervalOf(subscription);
    if (interval === undefined) continue;
    for (const symbol of channelOf(subscription, "quotes")?.symbols ?? []) {
      const last = sent.get(slotOf(subscription, symbol));
      const version = versions.get(symbol);
      if (version === undefined || version === last?.version) continue;
      if (last !== undefined && now < last.at_ms + interval) waiting = true;
      else due.set(symbol, [...(due.get(symbol) ?? []), subscription]);
    }
  }
  const found = [...due].map(([symbol, owed]) => ({ symbol, version: versions.get(symbol) ?? 0, subscriptions: owed }));
  return { due: found, waiting };
}

/** The sent quotes after these. */
export function withSent(sent: SentQuotes, quotes: readonly DueQuote[], now: number): SentQuotes {
  const slots = quotes.flatMap(({ symbol, version, subscriptions }) =>
    subscriptions.map((each) => [slotOf(each, symbol), { version, at_ms: now }] as const),
  );
  return new Map([...sent, ...slots]);
}
