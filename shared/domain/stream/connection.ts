import type { Scope } from "../../schema/scope.ts";
import type { StreamSubscription } from "./subscription.ts";

/** Holder of a ticket or a connection, and its scopes. */
export interface StreamPrincipal {
  readonly holder: {
    readonly type: "application" | "operator";
    readonly id: string;
  };
  readonly client_id: string;
  /** The family of the access token that asked for it; absent for operators. */
  readonly family_id?: string;
  /** The sign-in behind an operator's token. */
  readonly session?: string;
  readonly scopes: readonly Scope[];
  /** Feed sources that the application is bound to; absent where it is bound to none. */
  readonly source_ids?: readonly string[];
}

/** An open connection of the stream. */
export interface StreamConnection extends StreamPrincipal {
  /** As API Gateway assigns it: letters, digits, `_`, `-` and `=`. */
  readonly connection_id: string;
  readonly tenant_id: string;
  /** Number of the set that serves it. */
  readonly set: number;
  /** RFC 3339. */
  readonly connected_at: string;
  /** When it ends, in epoch seconds: API Gateway ends every connection after two hours. */
  readonly closes_at: number;
  /** Time to live of the item, in epoch seconds; later than `closes_at`. */
  readonly expires_at: number;
  readonly subscriptions: readonly StreamSubscription[];
  /** Names of subscriptions that ended in the last `limits.stream.name_rest_ms`, and when, in epoch milliseconds. */
  readonly ended_names?: Readonly<Record<string, number>>;
  /** Incremented whenever the subscriptions change; a write of them requires the revision that was read. */
  readonly revision: number;
  /** The epoch second that messages of the client were last counted in, and how many there were in it. */
  readonly rate_second: number;
  readonly rate_count: number;
  /** Set once the first message of the connection has been sent. */
  readonly hello_sent?: true;
  /** When its end was noted first, RFC 3339; it is about to be removed. */
  readonly ended_at?: string;
}

/** Connections that one worker serves together, `limits.stream.connections_per_set` at most. */
export interface StreamSet {
  readonly tenant_id: string;
  readonly set: number;
  /** `closes_at` of each member, by its connection id. */
  readonly members: Readonly<Record<string, number>>;
  /** Increases at each connect, disconnect, subscribe and unsubscribe, also across deletions of the item. */
  readonly revision: number;
  /** Time to live of the item, in epoch seconds; every connect puts it off. */
  readonly expires_at: number;
  /** By connection id: how far its subscriptions are, by their revisions; see `readCursors`. */
  readonly cursors?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Version of what the worker alone writes. */
  readonly cursor_version?: number;
  /** When the last run of the worker ended, in epoch milliseconds. */
  readonly last_run_at_ms?: number;
  /** How many runs in a row began right after the one before. */
  readonly quick_runs?: number;
  /** The set as the last run saw it at its end; absent while one runs or has not ended by itself. */
  readonly seen?: SeenSet;
  /** Versions of the quotes that all subscribers of their symbols have, by symbol. */
  readonly quotes?: Readonly<Record<string, number>>;
  /** Versions of the quotes that all accounts which connections follow were valued at, by symbol. */
  readonly valued?: Readonly<Record<string, number>>;
  /** When a quote was sent last, and when accounts were sent last because prices move, in epoch milliseconds. */
  readonly quotes_at_ms?: number;
  readonly accounts_at_ms?: number;
  /** Since when a connection takes nothing, in epoch milliseconds, by its id. */
  readonly stalled?: Readonly<Record<string, number>>;
}

/** State of the worker's run when it ended. */
export interface SeenSet {
  /** When its last look began, in epoch milliseconds. */
  readonly at_ms: number;
  /** Revision of the set. */
  readonly revision: number;
  /** Whether that look read the quotes. */
  readonly prices: boolean;
}

/** State of one set for the publisher and the margin watch. */
export interface StreamSetState {
  /** Members of the set, at the revision of it below. */
  readonly connections: number;
  readonly revision: number;
  /** Until then, in epoch milliseconds, a worker looks at the set by itself. Absent before the first run. */
  readonly hot_until_ms?: number;
  /**
   * When a subscription that prices move was last stored, in epoch milliseconds; absent if there is none. It may be
   * removed on the condition that it is what was read before the connections were read.
   */
  readonly prices?: number;
}

/** Says that sets of a brokerage have connections. */
export interface StreamFlag {
  readonly tenant_id: string;
  /** A publisher that began before this time, in epoch milliseconds, may have found no flag. */
  readonly created_at_ms: number;
  /** Increases with every change of the connections of a set. */
  readonly revision: number;
  /** By the number of the set. */
  readonly sets: Readonly<Record<string, StreamSetState>>;
}

/** The connections of one application or operator. */
export interface StreamHolder {
  readonly tenant_id: string;
  readonly holder_id: string;
  /** `closes_at` of each connection, by its id. */
  readonly connections: Readonly<Record<string, number>>;
  /** Time to live of the item, in epoch seconds; every connect puts it off. */
  readonly expires_at: number;
}

/** A brokerage that has a flag. */
export interface StreamBrokerage {
  readonly tenant_id: string;
  /** When a flag was last made, in epoch milliseconds: it is removed only as it was read. */
  readonly noted_at_ms: number;
}
