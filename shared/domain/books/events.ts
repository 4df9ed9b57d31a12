import type { Difference } from "./difference.ts";

/** An event as far as its number and its expiry go. */
export interface NumberedEvent {
  readonly sequence: number;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** The event before the next one that is looked at. */
export type EventPlace = NumberedEvent;

/** Where the events of a brokerage begin: what expires then may be gone. */
export function eventsBegin(createdMs: number, keptSeconds: number): EventPlace {
  return { sequence: 0, expires_at: Math.floor(createdMs / 1000) + keptSeconds };
}

/** Result of reading a part of the events. */
export interface EventReading {
  readonly place: EventPlace;
  /** Numbers that must have an event and have none. */
  readonly missing: readonly number[];
}

/**
 * Reads events up to a number, in the order of their numbers, which have no gaps. Events are deleted after their time,
 * late and in any order: what comes after one that has not expired must be there.
 */
export function readEvents(
  from: EventPlace,
  events: readonly NumberedEvent[],
  end: number,
  nowSeconds: number,
): EventReading {
  const missing: number[] = [];
  let place = from;
  for (const event of [...events, { sequence: end + 1, expires_at: 0 }]) {
    const kept = place.expires_at > nowSeconds;
    for (let number = place.sequence + 1; kept && number < event.sequence; number += 1) missing.push(number);
    if (event.sequence <= end) place = event;
  }
  // The next part follows the end, whether or not it had an event.
  return { place: { sequence: end, expires_at: place.expires_at }, missing };
}

/** An event that is not there. */
export function missingEvent(sequence: number): Difference {
  const id = String(sequence);
  return { object_type: "event", object_id: id, account_id: null, field: "sequence", expected: id, found: null };
}
