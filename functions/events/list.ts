import type { PublishedEvent } from "../../shared/data/entities.ts";
import { pageOfEvents } from "../../shared/data/list.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listEvents } from "../../shared/routes/events.ts";

/** `GET /events` */
export const handler = list(listEvents, async ({ caller, place, query }) => {
  const after = Number(query["after_sequence"] ?? 0);
  const page = await pageOfEvents<PublishedEvent>(caller.tenant_id, after, pageRequest(place, "sequence"));
  return pageReply(place, page, ({ payload }) => JSON.parse(payload));
});
