import { eventRef } from "../../shared/events/event-ref.ts";
import { read } from "../../shared/http/operations.ts";
import { getEvent } from "../../shared/routes/events.ts";
import { payloadOf } from "../../shared/table/event-payload.ts";

/** `GET /events/{id}` */
export const handler = await read(getEvent, async ({ path, load, caller }) => {
  const { id } = path;
  const { event } = await load({ event: eventRef.byId(id) });
  return event?.id === id ? payloadOf(event, caller.tenant_id).body : undefined;
});
