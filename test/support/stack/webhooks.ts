import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { eventually } from "../wait.ts";
import type { ApiClient } from "./api-client.ts";
import type { Received, Receiver } from "./receiver.ts";

/** A webhook endpoint with the secret that was shown once. */
export interface Registered {
  readonly id: string;
  readonly secret: string;
}

/** Members of a body that a receiver reads. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: string;
  readonly synthetic?: true;
  readonly created_at: string;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

/** Registers an endpoint for all standard kinds, by default. */
export async function register(api: ApiClient, url: string, more: object = {}): Promise<Registered> {
  const body = { url, event_types: ["*"], ...more };
  const reply = await api.call<Registered>("POST", "/webhook_endpoints", { body });
  if (reply.status !== 201) throw new Error(`POST /webhook_endpoints answered ${reply.status}: ${reply.text}`);
  return reply.body;
}

/** The event in the body of a call. */
export function eventOf({ body }: Pick<Received, "body">): ReceivedEvent {
  return JSON.parse(body) as ReceivedEvent;
}

/** Calls to one path of a receiver, in order of arrival. */
export function callsTo({ received }: Receiver, path: string): Received[] {
  return received.filter((call) => call.path === path);
}

/** How long a call is waited for; a long form on a database that throttles waits for the sweep too. */
const patienceMs = Math.max(30_000, Number(process.env["EVENTUALLY_MS"] ?? 0));

/** Waits until so many calls have come to a path, and returns all that came. */
export function arrivals(receiver: Receiver, path: string, count: number, withinMs = patienceMs): Promise<Received[]> {
  return eventually(() => {
    const calls = callsTo(receiver, path);
    return calls.length >= count ? calls : undefined;
  }, withinMs);
}

/**
 * The event of a call as the packages of three vendors, unchanged, read it: the same event three times.
 * @throws their errors when the signature is not good under this secret
 */
export function verified({ headers, body }: Received, secret: string): readonly ReceivedEvent[] {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return [
    Stripe.webhooks.constructEvent(body, named["x-service-signature"] ?? "", secret) as unknown as ReceivedEvent,
    new StandardWebhook(secret).verify(body, named) as ReceivedEvent,
    new SvixWebhook(secret).verify(body, named) as ReceivedEvent,
  ];
}

/** The middle of some numbers, and the one that 99 of 100 do not exceed. */
export function quantiles(values: readonly number[]): { readonly median: number; readonly p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
  return { median: at(0.5), p99: at(0.99) };
}
