import type { Scope } from "../../schema/scope.ts";
import type { StreamChannel } from "../../schema/stream/client-messages.ts";

/** A subscription of a connection. */
export interface StreamSubscription {
  /** The client's own name of it, unique in the connection. */
  readonly id: string;
  /** One of each name at most. */
  readonly channels: readonly StreamChannel[];
  /** Revision of the connection that brought it: the same id may be subscribed again. */
  readonly revision: number;
  /**
   * Number of the last published event when it was stored. Where the channel `events` has no `after_sequence`, events
   * after this number are sent.
   */
  readonly head_sequence: number;
}

/** The scope that a channel requires: that of the endpoint whose resource it sends. */
export const channelScopes = {
  events: "events:read",
  accounts: "accounts:read",
  margin: "accounts:read",
  quotes: "quotes:read",
  commands: "feed:read",
} as const satisfies Readonly<Record<StreamChannel["name"], Scope>>;

/** Whether prices alone change what a channel sends. */
export function followsPrices({ name }: StreamChannel): boolean {
  return name === "quotes" || name === "accounts" || name === "margin";
}
