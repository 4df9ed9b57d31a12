import type { QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Channel, Resource, Subscription } from "../../../sdk/stream/messages.ts";
import { AccessEnded, StreamClient } from "../../../sdk/stream/stream-client.ts";
import { post } from "./client.ts";
import { affectedBy, Bursts, coveredBy } from "./live-events.ts";
import { ApiError } from "./problem.ts";
import { createStore } from "./store.ts";
import { pace } from "./transport.ts";
import type { Schemas } from "./types.ts";

/** Whether pages are updated by the stream; they poll at their usual pace while it is false. */
export const live = createStore(false);

/** Data without events is read as often as without a stream, and the rest so many times less often. */
const slowerWhenLive = 6;

let stream: StreamClient | undefined;
let count = 0;
const wanted = new Map<string, Subscription>();
const refused = new Set<string>();

/** Names of the channels that are followed and were not refused. */
function channelNames(): ReadonlySet<string> {
  const accepted = [...wanted.values()].filter(({ id }) => !refused.has(id));
  return new Set(accepted.flatMap(({ channels }) => channels.map(({ name }) => name)));
}

/** Whether the stream keeps what a path answered up to date. */
export function isFollowed(path: string): boolean {
  return live.get() && coveredBy(path, channelNames());
}

/** Milliseconds until what a path answered is read again: the stream says earlier when it has changed. */
export function pollingMs(path: string, nowMs: number): number {
  const usual = pace.next(nowMs);
  return isFollowed(path) ? usual * slowerWhenLive : usual;
}

/**
 * Keeps what pages show up to date by the stream, as far as the scopes allow. Returns what ends it. Without a
 * connection, pages poll.
 */
export function startLive(queries: QueryClient, scopes: readonly string[]): () => void {
  const bursts = new Bursts((types) => {
    const affects = (path: unknown) => types.some((type) => affectedBy(type, String(path)));
    void queries.invalidateQueries({ predicate: ({ queryKey }) => affects(queryKey[0]) });
  });
  const readCovered = () => {
    const channels = channelNames();
    void queries.invalidateQueries({ predicate: ({ queryKey }) => coveredBy(String(queryKey[0]), channels) });
  };
  const end = scopes.includes("events:read") ? follow([{ name: "events" }]) : () => undefined;
  const started = new StreamClient({
    address,
    subscriptions: [...wanted.values()],
    handlers: {
      event: ({ event }) => bursts.add(event.type),
      account: ({ account }) => showAccount(queries, account),
      quote: ({ quote }) => showQuote(queries, quote),
      // Nothing is replayed after a loss of the connection: what is shown is read again.
      synced: ({ channel }) => {
        if (channel === "events") readCovered();
      },
      refused: ({ id }) => void refused.add(id ?? ""),
      status: (status) => {
        const wasLive = live.get();
        live.set(status === "live");
        // Their next reading is far away: from here on they are read at the usual pace.
        if (wasLive && status !== "live") readCovered();
      },
    },
  });
  stream = started;
  const wakeUp = () => started.check();
  window.addEventListener("online", wakeUp);
  return () => {
    window.removeEventListener("online", wakeUp);
    end();
    bursts.end();
    stream = undefined;
    started.close();
  };
}

/** Follows channels while a component shows what they send. */
export function useChannels(channels: readonly Channel[]): void {
  const text = JSON.stringify(channels);
  useEffect(() => {
    const parsed = JSON.parse(text) as readonly Channel[];
    return parsed.length === 0 ? undefined : follow(parsed);
  }, [text]);
}

function follow(channels: readonly Channel[]): () => void {
  count += 1;
  const id = `page-${count}`;
  const subscription = { id, channels, resume: false } as const;
  wanted.set(id, subscription);
  stream?.subscribe(subscription);
  return () => {
    wanted.delete(id);
    refused.delete(id);
    stream?.unsubscribe(id);
  };
}

/** An address with a ticket. A service that asks for fewer requests is asked for none. */
async function address(): Promise<string> {
  if (pace.wait(Date.now()) > 0) throw new Error("The service asks for fewer requests.");
  try {
    return (await post<Schemas["StreamTicket"]>("/stream_tickets", {}, undefined)).url;
  } catch (error) {
    const status = error instanceof ApiError ? error.problem.status : 0;
    throw status === 401 || status === 403 ? new AccessEnded("The stream is not open to this person.") : error;
  }
}

function showAccount(queries: QueryClient, account: Resource): void {
  queries.setQueryData(["/accounts/{id}", { path: { id: account["id"] } }], account);
}

function showQuote(queries: QueryClient, quote: Resource): void {
  const { symbol } = quote;
  queries.setQueryData(["/quotes/{symbol}", { path: { symbol } }], quote);
  queries.setQueriesData<Schemas["QuoteSet"]>({ queryKey: ["/quotes"] }, (set) => {
    if (set === undefined || !Array.isArray(set.data)) return set;
    const data = set.data.map((each) => (each.symbol === symbol ? (quote as unknown as typeof each) : each));
    return { ...set, data };
  });
}
