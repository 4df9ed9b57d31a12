/** Who closes positions at the stop-out level of an account: the platform that its deals come from, or this service. */
export type Authority = "platform" | "service";

/** A source of executions and quotes: a trading platform behind its bridge. */
export interface FeedSource {
  readonly id: string;
  readonly tenant_id: string;
  /** What the source calls itself, unique in the tenant: `mt5:live-1`. It is the `source` of its trades and orders. */
  readonly name: string;
  readonly platform: string;
  readonly authoritative: Authority;
  /** The number that its next item must have. */
  readonly next_seq: string;
  /** When it was last heard of; an empty batch counts. */
  readonly heard_at: string | null;
  /** It has been silent for too long: nothing is decided on its prices. */
  readonly stale: boolean;
  /** When the sweep looks whether it has fallen silent. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** An item of a feed that could not be applied, kept until somebody retries it. */
export interface FeedReject {
  readonly tenant_id: string;
  readonly source_id: string;
  /** Its number in the feed. */
  readonly seq: string;
  /** The item as it came, as JSON. */
  readonly item: string;
  readonly code: string;
  readonly detail: string;
  readonly tries: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** That an item of a feed was applied, under the name its source gives it, and what it made. */
export interface Dedup {
  readonly tenant_id: string;
  readonly source_id: string;
  readonly kind: "deal" | "order" | "operation" | "swap";
  /** The second key of the item: its deal id for one. */
  readonly name: string;
  readonly seq: string;
  /** Identifiers of what it made, such as `trade_id`. */
  readonly made: Readonly<Record<string, string>>;
  readonly created_at: string;
  /** Epoch seconds. */
  readonly expires_at: number;
}
