import { eventRef } from "../../shared/events/event-ref.ts";
import { read } from "../../shared/http/operations.ts";
import { getEvent } from "../../shared/routes/events.ts";
import { sequenceOfEvent } from "../../shared/table/entities.ts";

/** `GET /events/{id}` */
export const handler = await read(getEvent, async ({ path, load }) => {
  const { id } = path;
  const { event } = await load({ event: eventRef.bySequence(sequenceOfEvent(id)) });
  return event?.id === id ? JSON.parse(event.payload) : undefined;
});
