import type { Schemas } from "../../api/types.ts";

/** The state of a feed in one word. */
export function feedState({ status, paused, stale }: Schemas["FeedSource"]): string {
  if (status === "ended") return "ended";
  return paused ? "paused" : stale ? "stale" : "live";
}
