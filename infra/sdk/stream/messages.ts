/** A channel of a subscription, as the stream takes it; one of each name at most. */
export type Channel =
  | {
      readonly name: "events";
      readonly types?: readonly string[] | undefined;
      readonly account_id?: string | undefined;
      readonly after_sequence?: string | undefined;
    }
  | { readonly name: "accounts"; readonly ids: readonly string[] }
  | { readonly name: "margin" }
  | { readonly name: "quotes"; readonly symbols: readonly string[]; readonly max_per_second?: number | undefined }
  | { readonly name: "commands"; readonly source_id: string };

/** A subscription under a name of the client, 1 to 64 characters. */
export interface Subscription {
  readonly id: string;
  readonly channels: readonly Channel[];
  /** False to receive only events that are new when connecting again, for who reads the state then. */
  readonly resume?: false;
}

/** An event, with the subscriptions that it is new for. */
export interface EventMessage {
  readonly type: "event";
  readonly subscriptions: readonly string[];
  readonly sequence: string;
  /** As `GET /events/{id}` returns it; with `truncated` only its id, type, number and link. */
  readonly event: { readonly id: string; readonly type: string; readonly sequence: string };
  readonly truncated?: true | undefined;
}

/** A resource as its `GET` returns it. */
export type Resource = Readonly<Record<string, unknown>>;

/** An account as it is now. */
export interface AccountMessage {
  readonly type: "account";
  readonly subscriptions: readonly string[];
  /** As `GET /accounts/{id}` returns it; with `truncated` only its id and link. */
  readonly account: Resource;
  readonly truncated?: true | undefined;
}

/** The newest quote of a symbol. */
export interface QuoteMessage {
  readonly type: "quote";
  readonly subscriptions: readonly string[];
  readonly quote: Resource;
}

/** A command to a trading platform. */
export interface CommandMessage {
  readonly type: "command";
  readonly subscriptions: readonly string[];
  readonly command: Resource;
}

/** The replay or the snapshot of a channel is complete. */
export interface SyncEndMessage {
  readonly type: "sync_end";
  readonly subscription: string;
  readonly channel: Channel["name"];
  readonly sequence: string;
  /** Set when the snapshot holds less than there is: `GET` has the others. */
  readonly truncated?: true | undefined;
}

/** A refusal of a message of the client; the connection stays open. */
export interface ErrorMessage {
  readonly type: "error";
  /** The subscription that was refused. */
  readonly id?: string | undefined;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[] | undefined;
}

/** The last message of a connection that the service ends. */
export interface ClosingMessage {
  readonly type: "closing";
  readonly code: string;
  readonly detail: string;
}

/** Members of a batch. */
export type BatchMember =
  | EventMessage
  | AccountMessage
  | QuoteMessage
  | CommandMessage
  | SyncEndMessage
  | { readonly type: "expiring"; readonly expires_at: string };

/** Any message of the service. A client ignores types that it does not know: a later version may add some. */
export type ServerMessage =
  | { readonly type: "hello"; readonly connection_id: string; readonly head_sequence: string }
  | { readonly type: "subscribed" | "unsubscribed" | "pong"; readonly id?: string | undefined }
  | { readonly type: "heartbeat"; readonly sequence: string }
  | { readonly type: "batch"; readonly messages: readonly BatchMember[] }
  | ErrorMessage
  | ClosingMessage;
