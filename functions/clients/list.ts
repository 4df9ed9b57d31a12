import { type Client, clientBody } from "../../shared/domain/client.ts";
import { clientFilters, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClients } from "../../shared/routes/clients.ts";
import { clients } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /clients` */
export const handler = await list(listClients, async ({ caller, place }) => {
  const request = resourcePage(place, clientFilters);
  const page = await pageOfIndex<Client>("list", [clients.all(caller.tenant_id)], request);
  return pageReply(place, page, clientBody);
});
