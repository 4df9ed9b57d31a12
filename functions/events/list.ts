import { and, inRange, matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listEvents } from "../../shared/routes/events.ts";
import { events, type PublishedEvent } from "../../shared/table/entities.ts";
import { pageOfEvents } from "../../shared/table/event-pages.ts";
import { payloadText } from "../../shared/table/event-payload.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /events`: reads an index for a resource or an account, otherwise the events themselves. */
export const handler = await list(listEvents, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const { resource_id: resource, account_id: account, after_sequence: after = "0" } = query;
  const keep = and(matching(query, ["type", "resource_id", "account_id", "client_id"]), inRange(query, "created"));
  const request = { ...pageRequest(place, "sequence"), ...keep };
  const above = { ...request, floor: events.sortOf(Number(after) + 1) };
  const page =
    resource !== undefined
      ? await pageOfIndex<PublishedEvent>("state", [events.ofResource(tenant, resource)], above)
      : account !== undefined
        ? await pageOfIndex<PublishedEvent>("owner", [events.ofAccount(tenant, account)], above)
        : await pageOfEvents<PublishedEvent>(tenant, Number(after), request);
  return pageReply(place, page, (event) => JSON.parse(payloadText(event)));
});
