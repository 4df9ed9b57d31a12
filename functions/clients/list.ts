import { clients } from "../../shared/data/entities.ts";
import { pageOfIndex } from "../../shared/data/list.ts";
import { type Client, clientBody } from "../../shared/domain/client.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listClients } from "../../shared/routes/clients.ts";

/** `GET /clients` */
export const handler = list(listClients, async ({ caller, place }) => {
  const request = pageRequest(place, "-created_at");
  const page = await pageOfIndex<Client>("list", [clients.all(caller.tenant_id)], request);
  return pageReply(place, page, clientBody);
});
