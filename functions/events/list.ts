import { and, inRange, matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listEvents } from "../../shared/routes/events.ts";
import { events, type PublishedEvent } from "../../shared/table/entities.ts";
import { pageOfEvents } from "../../shared/table/event-pages.ts";
import { payloadOf } from "../../shared/table/event-payload.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { accountIdsOf } from "../../shared/table/owners.ts";

/** `GET /events`: reads an index for a resource, an account or a client, otherwise the events themselves. */
export const handler = await list(listEvents, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const keep = and(matching(query, ["type", "resource_id", "account_id", "client_id"]), inRange(query, "created"));
  const request = { ...pageRequest(place, "sequence"), ...keep };
  const after = Number(query.after_sequence ?? 0);
  const { resource_id: resource, account_id: account, client_id: client } = query;
  const of = async (index: "state" | "owner", partitions: readonly string[]) =>
    pageOfIndex<PublishedEvent>(index, partitions, { ...request, floor: events.sortOf(after + 1) });
  const ofOwners = (ids: readonly string[]) =>
    of(
      "owner",
      ids.map((id) => events.ofOwner(tenant, id)),
    );
  const page =
    resource !== undefined
      ? of("state", [events.ofResource(tenant, resource)])
      : account !== undefined
        ? ofOwners([account])
        : client !== undefined
          ? ofOwners([client, ...(await accountIdsOf(tenant, client))])
          : pageOfEvents<PublishedEvent>(tenant, after, request);
  return pageReply(place, await page, (event) => payloadOf(event, tenant).body);
});
