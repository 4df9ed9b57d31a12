import { limits } from "../../limits.ts";
import type { EventType } from "../../schema/event-types.ts";
import type { FeedSourceBody } from "../../schema/feed/source.ts";
import { type Context, type DomainEvent, later } from "../kernel/decision.ts";
import { type FeedSource, isEnded } from "../records/feed-source.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { isSilent, silentAfterMs } from "../trading/pricing/source.ts";
import type { clockOf } from "./batch.ts";
import { type Seen, sourceBody } from "./source.ts";

/** A source with what is known of when it was heard of. */
export interface WatchedSource extends Seen {
  /** When the newest of its snapshots began to arrive, RFC 3339; undefined before the first one. */
  readonly snapshot_at: string | undefined;
}

type Now = Pick<Context, "now">;

/**
 * Decides what the silence of a source and of its snapshots comes to: each is announced once when it begins, and once
 * when it ends. A source that was never heard of is not silent. Snapshots are waited for where the source has an
 * interval of its own and is not paused. Undefined where nothing has changed, and for a source that has ended.
 */
export function watchSource(watched: WatchedSource, { now }: Now): TradingDecision<FeedSource> | undefined {
  const { source: before, pulse } = watched;
  if (isEnded(before)) return undefined;
  const { stale_since: since, snapshots_late_since: lateSince, ...rest } = before;
  const isStale = pulse === undefined ? since !== undefined : isSilent(pulse, now);
  const isLate = snapshotsAreLate(watched, now);
  const staleTurns = isStale !== (since !== undefined);
  const lateTurns = isLate !== (lateSince !== undefined);
  if (!staleTurns && !lateTurns) return undefined;
  const updated_at = later(before.updated_at, now);
  const state: FeedSource = {
    ...rest,
    ...(isStale ? { stale_since: since ?? updated_at } : {}),
    ...(isLate ? { snapshots_late_since: lateSince ?? updated_at } : {}),
    updated_at,
    version: before.version + 1,
  };
  const watch_at = quietUntil({ ...watched, source: state }, now);
  const after = watch_at === undefined ? state : { ...state, watch_at };
  const object = sourceBody(after, pulse, now);
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "feed_source", before, after }],
    events: [
      ...(staleTurns ? [announced(isStale ? "feed.stale" : "feed.recovered", object, { stale: !isStale })] : []),
      ...(lateTurns
        ? [
            announced(isLate ? "feed.snapshots_late" : "feed.snapshots_resumed", object, {
              snapshots_late_since: lateSince ?? null,
            }),
          ]
        : []),
    ],
  };
}

/**
 * Decides what a batch shows of the clock of its source. One that is off is announced once, until an item has the time
 * of now: each item says it too, by its `reported_at`. Undefined where nothing has changed.
 */
export function watchClock(
  { source: before, pulse }: Seen,
  shown: ReturnType<typeof clockOf>,
  { now }: Now,
): TradingDecision<FeedSource> | undefined {
  const { clock_off: known, ...rest } = before;
  const isOff = shown !== undefined && shown !== "right";
  if (shown === undefined || isOff === (known !== undefined) || isEnded(before)) return undefined;
  const updated_at = later(before.updated_at, now);
  const noted = isOff ? { clock_off: { since: updated_at, reported_at: shown.reported_at } } : {};
  const after: FeedSource = { ...rest, ...noted, updated_at, version: before.version + 1 };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "feed_source", before, after }],
    events: isOff ? [announced("feed.clock_off", sourceBody(after, pulse, now), { clock_off: null })] : [],
  };
}

/**
 * When a source has to be looked at again unless it is heard of before, RFC 3339; undefined for one that is announced
 * as silent or late, or was never heard of: it is looked at all the time.
 */
export function quietUntil({ source, pulse, snapshot_at }: WatchedSource, now: string): string | undefined {
  const announcedNow = source.stale_since !== undefined || source.snapshots_late_since !== undefined;
  if (announcedNow || pulse === undefined || isSilent(pulse, now)) return undefined;
  const silentMs = Date.parse(pulse.heartbeat_at) + silentAfterMs(pulse);
  const lateMs = snapshotsLateMs(source, snapshot_at) ?? silentMs;
  return new Date(Math.min(silentMs, lateMs)).toISOString();
}

function snapshotsAreLate({ source, snapshot_at }: WatchedSource, now: string): boolean {
  const lateMs = snapshotsLateMs(source, snapshot_at);
  return lateMs !== undefined && Date.parse(now) > lateMs;
}

/** When the next snapshot is late, epoch milliseconds; undefined where none is waited for. */
function snapshotsLateMs(source: FeedSource, snapshot_at: string | undefined): number | undefined {
  const { snapshot_interval_seconds: interval, paused, snapshots_from = source.created_at } = source;
  if (interval === undefined || paused) return undefined;
  const heard = snapshot_at === undefined ? snapshots_from : later(snapshots_from, snapshot_at);
  return Date.parse(heard) + limits.feed.snapshots_late_after_intervals * interval * 1000;
}

function announced(
  type: EventType,
  object: FeedSourceBody,
  previous: Readonly<Record<string, string | boolean | null>>,
): DomainEvent {
  const { id, version } = object;
  return {
    ...{ type, resource: { type: "feed_source", id, version }, client_id: null, account_id: null },
    ...{ object, previous },
  };
}
