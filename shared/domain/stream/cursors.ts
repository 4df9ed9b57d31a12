import { channelOf } from "./channels.ts";
import type { StreamSubscription } from "./subscription.ts";

/** How far a subscription is. */
export interface SubscriptionCursor {
  /** The number of the last event that was sent or passed over. */
  readonly at: number;
  /** Whether its replay and its snapshots are complete. */
  readonly synced: boolean;
}

/** The cursors of a connection by the revision of each subscription, which no later one of the same id has. */
export type ConnectionCursors = ReadonlyMap<number, SubscriptionCursor>;

/** Cursors as they are stored: the number by the revision, which ends with a plus while the replay goes on. */
export type StoredCursors = Readonly<Record<string, number>>;

/** Cursors as they were stored, those alone of subscriptions that are still there. */
export function readCursors(
  stored: StoredCursors | undefined,
  subscriptions: readonly StreamSubscription[],
): ConnectionCursors {
  const cursors = new Map<number, SubscriptionCursor>();
  for (const { revision } of subscriptions) {
    const [synced, replaying] = [stored?.[String(revision)], stored?.[`${revision}+`]];
    const at = synced ?? replaying;
    if (at !== undefined) cursors.set(revision, { at, synced: synced !== undefined });
  }
  return cursors;
}

/** Cursors as they are stored. */
export function storedCursors(cursors: ConnectionCursors): StoredCursors {
  return Object.fromEntries([...cursors].map(([revision, { at, synced }]) => [`${revision}${synced ? "" : "+"}`, at]));
}

/**
 * The cursors with those of new subscriptions, at the last published number `head`: before the first event that is to
 * be sent. States have no past, so a subscription to them alone begins at the head, as does one after a number that
 * does not exist yet.
 */
export function withNew(
  cursors: ConnectionCursors,
  subscriptions: readonly StreamSubscription[],
  head: number,
): ConnectionCursors {
  const all = subscriptions.map((each) => [each.revision, cursors.get(each.revision) ?? begun(each, head)] as const);
  return new Map(all);
}

function begun(subscription: StreamSubscription, head: number): SubscriptionCursor {
  const events = channelOf(subscription, "events");
  const after = events === undefined ? head : Number(events.after_sequence ?? subscription.head_sequence);
  return { at: Math.min(after, head), synced: false };
}

/** Events that are read and sent next: to the subscriptions of these revisions, after `from` and not beyond `to`. */
export interface Round {
  readonly revisions: ReadonlySet<number>;
  readonly from: number;
  readonly to: number;
}

/**
 * The next round of a connection: its subscriptions with the lowest cursor, up to the next higher one, where they are
 * joined, or to the head. Undefined when all are there.
 */
export function nextRound(cursors: ConnectionCursors, head: number): Round | undefined {
  const places = [...cursors.values()].map(({ at }) => at);
  const from = Math.min(head, ...places);
  if (from === head) return undefined;
  const to = Math.min(head, ...places.filter((at) => at > from));
  const revisions = new Set([...cursors].filter(([, { at }]) => at === from).map(([revision]) => revision));
  return { revisions, from, to };
}

/** The cursors after a round whose events were sent up to this number. */
export function advanced(cursors: ConnectionCursors, { revisions }: Round, to: number): ConnectionCursors {
  return new Map(
    [...cursors].map(([revision, cursor]) => [revision, revisions.has(revision) ? { ...cursor, at: to } : cursor]),
  );
}

/** The cursors once these subscriptions have their snapshots. */
export function withSynced(cursors: ConnectionCursors, revisions: ReadonlySet<number>): ConnectionCursors {
  return new Map(
    [...cursors].map(([revision, cursor]) => [
      revision,
      revisions.has(revision) ? { ...cursor, synced: true } : cursor,
    ]),
  );
}
