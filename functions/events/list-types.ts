import { read } from "../../shared/http/operations.ts";
import { publishedKinds } from "../../shared/openapi/published-kinds.ts";
import { listEventTypes } from "../../shared/routes/events.ts";

/** `GET /event_types` */
export const handler = await read(listEventTypes, async () => ({ object: "list", data: publishedKinds }));
