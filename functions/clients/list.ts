import { clientBody } from "../../shared/domain/accounts/client.ts";
import type { Client } from "../../shared/domain/records/client.ts";
import { clientFilters, partitionsOf, resourcePage, searchIn } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClients } from "../../shared/routes/clients.ts";
import { clientStatuses, verificationStatuses } from "../../shared/schema/client.ts";
import { pageOfSearch } from "../../shared/table/clients/search.ts";
import { clients } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { pageOfOwners } from "../../shared/table/owners.ts";

const facets = [
  { name: "verification_status", values: verificationStatuses },
  { name: "status", values: clientStatuses },
] as const;

/** `GET /clients`: by an external id or an email address reads the claim of the value, and searches, not the list. */
export const handler = await list(listClients, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const search = searchIn(query);
  if (search !== undefined) return pageReply(place, await pageOfSearch(tenant, search), clientBody);
  const request = resourcePage(place, clientFilters);
  const { external_id, email } = query;
  const states = partitionsOf(query, clientFilters, facets, (...pair) => clients.inState(tenant, ...pair));
  const page =
    external_id !== undefined
      ? pageOfOwners(clients, tenant, { kind: "client_external_id", values: [external_id] }, request)
      : email !== undefined
        ? pageOfOwners(clients, tenant, { kind: "client_email", values: [email] }, request, {
            index: "owner",
            partitions: [clients.closedWith(tenant, email)],
          })
        : states !== undefined
          ? pageOfIndex<Client>("state", states.partitions, resourcePage(place, states.filters))
          : pageOfIndex<Client>("list", [clients.all(tenant)], request);
  return pageReply(place, await page, clientBody);
});
