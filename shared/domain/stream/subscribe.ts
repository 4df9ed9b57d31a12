import { isDeepStrictEqual } from "node:util";
import { limits } from "../../limits.ts";
import type { StreamChannel, SubscribeBody } from "../../schema/stream/client-messages.ts";
import { type FieldError, type Refusal, refuse, refuseFields } from "../kernel/decision.ts";
import type { StreamConnection } from "./connection.ts";
import { channelScopes, type StreamSubscription } from "./subscription.ts";

/** Facts on which a subscription depends, as they were read. */
export interface SubscriptionFacts {
  /** This moment, in epoch milliseconds. */
  readonly now_ms: number;
  /** Number of the last published event. */
  readonly head_sequence: number;
  /** Pointers to the accounts, symbols and sources of the message that the brokerage does not have. */
  readonly missing: readonly FieldError[];
}

/** The subscriptions of a connection after a message, or why it is refused. */
export type SubscriptionDecision =
  | {
      readonly ok: true;
      readonly subscriptions: readonly StreamSubscription[];
      readonly ended_names?: StreamConnection["ended_names"];
    }
  | { readonly ok: false; readonly refusal: Refusal };

/** Whether a connection has this very subscription: its message came twice, as after an answer that was lost. */
function isRepeated({ subscriptions }: Pick<StreamConnection, "subscriptions">, { id, channels }: SubscribeBody) {
  return subscriptions.some((each) => each.id === id && isDeepStrictEqual(each.channels, channels));
}

/**
 * Whether a connection may hold one more subscription, as far as the message and the connection alone tell.
 * @returns why it is refused; undefined when it may
 */
export function refuseSubscription(
  connection: Pick<StreamConnection, "scopes" | "source_ids" | "subscriptions" | "ended_names">,
  message: SubscribeBody,
  now_ms: number,
): Refusal | undefined {
  if (isRepeated(connection, message)) return undefined;
  const { scopes, source_ids, subscriptions } = connection;
  const { id, channels } = message;
  const lacking = channels.flatMap(({ name }, at) => {
    const scope = channelScopes[name];
    const detail = `requires the scope ${scope}`;
    return scopes.includes(scope) ? [] : [{ pointer: `#/channels/${at}/name`, code: "insufficient_scope", detail }];
  });
  if (lacking.length > 0) {
    const detail = "The connection lacks a scope that a channel requires.";
    return refuse("insufficient_scope", detail, { errors: lacking }).refusal;
  }
  const others = channels.flatMap((channel, at) =>
    channel.name === "commands" && source_ids?.includes(channel.source_id) === false
      ? [{ pointer: `#/channels/${at}/source_id`, code: "source_not_allowed", detail: "is of another feed source" }]
      : [],
  );
  if (others.length > 0) {
    const detail = "The application is bound to other feed sources.";
    return refuse("source_not_allowed", detail, { errors: others }).refusal;
  }
  const isUsed = subscriptions.some((each) => each.id === id);
  const rests = Object.hasOwn(restingNames(connection, now_ms), id);
  const seconds = limits.stream.name_rest_ms / 1000;
  const resting = `is the name of a subscription that ended less than ${seconds} seconds ago; use another name`;
  const faults: FieldError[] = [
    ...(rests ? [{ pointer: "#/id", code: "in_use", detail: resting }] : []),
    ...(isUsed ? [{ pointer: "#/id", code: "in_use", detail: "is the name of another subscription" }] : []),
    ...repeatedNames(channels),
    ...tooMany([...subscriptions.flatMap((each) => each.channels), ...channels], channels),
  ];
  return faults.length === 0 ? undefined : refuseFields(faults).refusal;
}

/**
 * Decides on a subscription. It starts after the number that the client names, which must be one that an event has, or
 * with the events after the last one. One that the connection has already stays as it is.
 */
export function decideSubscription(
  connection: Pick<StreamConnection, "scopes" | "source_ids" | "subscriptions" | "ended_names" | "revision">,
  message: SubscribeBody,
  { head_sequence, missing, now_ms }: SubscriptionFacts,
): SubscriptionDecision {
  const refusal = refuseSubscription(connection, message, now_ms);
  if (refusal !== undefined) return { ok: false, refusal };
  if (isRepeated(connection, message)) return { ok: true, subscriptions: connection.subscriptions };
  const ahead = message.channels.flatMap((channel, at) =>
    channel.name === "events" && Number(channel.after_sequence ?? 0) > head_sequence
      ? [{ pointer: `#/channels/${at}/after_sequence`, code: "too_big", detail: `must be at most ${head_sequence}` }]
      : [],
  );
  const faults = [...ahead, ...missing];
  if (faults.length > 0) return refuseFields(faults);
  const { id, channels } = message;
  const added = { id, channels, revision: connection.revision + 1, head_sequence };
  return { ok: true, subscriptions: [...connection.subscriptions, added] };
}

/**
 * Decides on the end of a subscription. Its name rests: messages of it may be on their way, and a client could not tell
 * them from those of another one with the same name.
 */
export function decideEnd(
  connection: Pick<StreamConnection, "subscriptions" | "ended_names">,
  id: string,
  now_ms: number,
): SubscriptionDecision {
  const { subscriptions } = connection;
  const left = subscriptions.filter((each) => each.id !== id);
  if (left.length === subscriptions.length)
    return refuse("not_found", "The connection has no subscription of this name.");
  return { ok: true, subscriptions: left, ended_names: { ...restingNames(connection, now_ms), [id]: now_ms } };
}

function restingNames({ ended_names }: Pick<StreamConnection, "ended_names">, now_ms: number): Record<string, number> {
  const resting = Object.entries(ended_names ?? {}).filter(([, at]) => now_ms - at < limits.stream.name_rest_ms);
  return Object.fromEntries(resting);
}

/** The replay and the end of it are named by the channel, so a subscription has each one once. */
function repeatedNames(channels: readonly StreamChannel[]): FieldError[] {
  const names = channels.map(({ name }) => name);
  return names.flatMap((name, at) => {
    const detail = "is given twice; use another subscription";
    return names.indexOf(name) === at ? [] : [{ pointer: `#/channels/${at}/name`, code: "repeated", detail }];
  });
}

/** Each limit counts what all subscriptions have together; one that the new channels exceed is named by the first. */
function tooMany(all: readonly StreamChannel[], channels: readonly StreamChannel[]): FieldError[] {
  const { channels_per_connection, accounts_per_connection, symbols_per_connection } = limits.stream;
  const accounts = all.flatMap((each) => (each.name === "accounts" ? each.ids : []));
  const symbols = all.flatMap((each) => (each.name === "quotes" ? each.symbols : []));
  const at = (name: StreamChannel["name"], member: string) => {
    const index = channels.findIndex((each) => each.name === name);
    return `#/channels/${index}/${member}`;
  };
  const bounds = [
    { noun: "channels", used: all.length, most: channels_per_connection, pointer: "#/channels" },
    { noun: "accounts", used: new Set(accounts).size, most: accounts_per_connection, pointer: at("accounts", "ids") },
    { noun: "symbols", used: new Set(symbols).size, most: symbols_per_connection, pointer: at("quotes", "symbols") },
  ];
  return bounds.flatMap(({ noun, used, most, pointer }) =>
    used <= most
      ? []
      : [{ pointer, code: `too_many_${noun}`, detail: `must not bring the connection above ${most} ${noun}` }],
  );
}
