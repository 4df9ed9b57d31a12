import type { FeedSource } from "../records/feed-source.ts";

/** Claim of an operation of a source by the transaction that it made or was joined with. */
export function operationMarker(source: Pick<FeedSource, "id">, operationId: string): string {
  return JSON.stringify([source.id, operationId]);
}
