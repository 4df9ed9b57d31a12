import { limits } from "../../../limits.ts";
import type { Liquidator, SourcePulse } from "../../records/feed-source.ts";
import type { Position } from "../../records/position.ts";
import type { Market } from "./quote.ts";

/** Source of what no platform brought. */
export const internalSource = "internal";

/** Whether a source has said nothing for so long that what we know of its accounts may be wrong. */
export function isSilent(pulse: SignOfLife | undefined, now: string): boolean {
  if (pulse === undefined) return true;
  return Date.parse(now) - Date.parse(pulse.heartbeat_at) > silentAfterMs(pulse);
}

type SignOfLife = Pick<SourcePulse, "heartbeat_at" | "silent_after_seconds">;

/** How long a source may say nothing, in milliseconds. */
export function silentAfterMs({ silent_after_seconds: seconds }: Pick<SourcePulse, "silent_after_seconds">): number {
  return (seconds ?? limits.feed.silent_after_seconds.default) * 1000;
}

/** Whether a position came from a source that is silent: then nothing is decided on it, whatever its price. */
export function isCutOff(market: Market, { source }: Pick<Position, "source">, now: string): boolean {
  return source !== internalSource && isSilent(market.sources?.get(source), now);
}

/**
 * Closes the positions of an account at its stop-out level: its platform, as soon as one position is of a source that
 * says so, or of one that is not known.
 */
export function liquidatorOf(market: Market, positions: readonly Pick<Position, "source">[]): Liquidator {
  const followed = positions.some(
    ({ source }) => source !== internalSource && market.sources?.get(source)?.authoritative !== "service",
  );
  return followed ? "platform" : "service";
}
