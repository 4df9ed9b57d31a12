/** Counted members of a published event. */
export interface CountedEvent {
  readonly sequence: number;
  /** When it was published, RFC 3339 UTC. */
  readonly published_at: string;
  /** Its cause. */
  readonly actor_id: string;
  /** Endpoints that it went to. */
  readonly deliveries: number;
}

/** Events of one actor on one day, with the deliveries that were made of them. */
export interface DayEvents {
  readonly day: string;
  readonly actor_id: string;
  readonly events: number;
  readonly deliveries: number;
  /** The events by the number of endpoints that they went to: what one costs does not grow evenly with them. */
  readonly by_endpoints: ReadonlyMap<number, number>;
}

/**
 * Events by day and actor, from the first one on for as long as they are at most so many pairs of both: what one
 * transaction adds. `last` is the number of the last event that is in it; undefined where there are no events.
 */
export function countEvents(
  events: readonly CountedEvent[],
  most: number,
): { readonly last: number | undefined; readonly days: readonly DayEvents[] } {
  const days = new Map<string, DayEvents>();
  let last: number | undefined;
  for (const { sequence, published_at, actor_id, deliveries } of events) {
    const day = published_at.slice(0, 10);
    const name = `${day}|${actor_id}`;
    const known = days.get(name);
    if (known === undefined && days.size === most) break;
    days.set(name, {
      ...{ day, actor_id },
      events: (known?.events ?? 0) + 1,
      deliveries: (known?.deliveries ?? 0) + deliveries,
      by_endpoints: new Map(known?.by_endpoints).set(deliveries, (known?.by_endpoints.get(deliveries) ?? 0) + 1),
    });
    last = sequence;
  }
  return { last, days: [...days.values()] };
}
