import { read } from "../../shared/http/operations.ts";
import { getEvent } from "../../shared/routes/events.ts";
import { sequenceOfEvent } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /events/{id}` */
export const handler = await read(getEvent, async ({ path, load }) => {
  const { id } = path;
  const { event } = await load({ event: ref.event(sequenceOfEvent(id)) });
  return event?.id === id ? JSON.parse(event.payload) : undefined;
});
