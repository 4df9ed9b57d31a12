import { read } from "../../shared/http/operations.ts";
import type { OpenApi } from "../../shared/openapi/document.ts";
import { eventKinds } from "../../shared/openapi/event-kinds.ts";
import document from "../../shared/openapi/openapi.json" with { type: "json" };
import { listEventTypes } from "../../shared/routes/events.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";

const types = [...eventTypes, ...optInEventTypes];
const data = eventKinds(document as unknown as OpenApi, types, new Set(optInEventTypes));

/** `GET /event_types` */
export const handler = read(listEventTypes, async () => ({ object: "list", data }));
