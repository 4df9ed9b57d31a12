import { eventRef } from "../../shared/events/event-ref.ts";
import { read } from "../../shared/http/operations.ts";
import { getEvent } from "../../shared/routes/events.ts";
import { payloadText } from "../../shared/table/event-payload.ts";

/** `GET /events/{id}` */
export const handler = await read(getEvent, async ({ path, load }) => {
  const { id } = path;
  const { event } = await load({ event: eventRef.byId(id) });
  return event?.id === id ? JSON.parse(payloadText(event)) : undefined;
});
