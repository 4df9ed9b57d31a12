import { eventTypes, optInEventTypes } from "../schema/event-types.ts";
import type { JsonObject, OpenApi } from "./document.ts";
import { type EventKind, eventKinds } from "./event-kinds.ts";
import { exampleBaseUrl } from "./examples/identifiers.ts";
import document from "./openapi.json" with { type: "json" };

/**
 * Every event type with its schema and a sample. Bundles contain this result, not the document that it is built from.
 */
export const publishedKinds: readonly EventKind[] = eventKinds(
  document as unknown as OpenApi,
  [...eventTypes, ...optInEventTypes],
  new Set(optInEventTypes),
);

/** The sample of each event type. Its links are paths; the sender prefixes them with its own URL. */
export const samples: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  publishedKinds.map(({ type, sample }) => [type, withPaths(sample)]),
);

function withPaths(sample: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(sample).replaceAll(`"${exampleBaseUrl}/`, '"/v2/'));
}
