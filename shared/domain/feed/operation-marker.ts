import type { FeedSource } from "./source.ts";

/** Who owns an operation of a source is found by this: the transaction that it made or was joined with. */
export function operationMarker(source: Pick<FeedSource, "id">, operationId: string): string {
  return JSON.stringify([source.id, operationId]);
}
