import type { FeedSourceBody } from "../../schema/feed/source.ts";

/** A source of trades and prices as it is stored: a trading platform behind its bridge. */
export interface FeedSource {
  readonly id: string;
  readonly tenant_id: string;
  /** Name that it gives itself, unique in the tenant: `mt5:live-1`. It is the `source` of its trades and orders. */
  readonly name: string;
  /** Name for people; absent where it has no other name. */
  readonly display_name?: string;
  readonly platform: FeedSourceBody["platform"];
  /** Closes positions at the stop-out level of its accounts. */
  readonly authoritative: FeedSourceBody["authoritative"];
  /** A change of that which one person proposed, and another one has to agree to; absent where there is none. */
  readonly proposed_authoritative?: NonNullable<FeedSourceBody["proposed_authoritative"]>;
  /** How it reports swap: an item for each night, or the swap so far of a position. Absent: for each night. */
  readonly swap_reporting?: FeedSourceBody["swap_reporting"];
  /** After how many seconds without a batch it is silent; absent for the default. */
  readonly silent_after_seconds?: number;
  /** Seconds between two of its snapshots; absent for the default. */
  readonly snapshot_interval_seconds?: number;
  /** A bridge takes no commands of it. */
  readonly paused: boolean;
  /** When it ended for good, RFC 3339: it sends nothing more, and its accounts take no money; absent before. */
  readonly ended_at?: string;
  /** Since when it is announced as silent, RFC 3339; absent while it is not. */
  readonly stale_since?: string;
  /** Since when its snapshots are announced as late, RFC 3339; absent while they are not. */
  readonly snapshots_late_since?: string;
  /** Since when its items have times that are not believed, and the time that the first of them says; both RFC 3339. */
  readonly clock_off?: NonNullable<FeedSourceBody["clock_off"]>;
  /** From when its snapshots are waited for, RFC 3339; absent where that is since its creation. */
  readonly snapshots_from?: string;
  /** When it is looked at next for being silent, late or heard again, RFC 3339. */
  readonly watch_at?: string;
  /** The number that its first item has. */
  readonly first_seq: string;
  /** The number that its next item must have. */
  readonly next_seq: string;
  /** The epoch that the numbers of its prices belong to, from 1. */
  readonly quote_epoch: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** Whether a source has ended. */
export function isEnded({ ended_at }: Pick<FeedSource, "ended_at">): boolean {
  return ended_at !== undefined;
}

/** The last sign of life of a source. */
export interface SourcePulse {
  /** Name of the source: `mt5:live-1`. */
  readonly name: string;
  readonly authoritative: Liquidator;
  /** When its last batch came, an empty one too. */
  readonly heartbeat_at: string;
  /** After how many seconds without another one it is silent; absent for the default. */
  readonly silent_after_seconds?: number;
}

/** Liquidates the accounts of a source: its platform, which we only follow, or this service. */
export type Liquidator = "platform" | "service";
