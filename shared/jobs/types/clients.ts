import { clientBody } from "../../domain/accounts/client.ts";
import type { Client } from "../../domain/records/client.ts";
import { clientFilters, resourcePage } from "../../http/filters.ts";
import { listClients } from "../../routes/clients.ts";
import { clients } from "../../table/entities.ts";
import { pageOfIndex } from "../../table/list.ts";
import { listExport } from "../lists.ts";

/** Clients as `GET /clients` shows them. */
export const clientExport = listExport({
  row: listClients,
  by: "created",
  page: async (tenant, place) => {
    const page = await pageOfIndex<Client>("list", [clients.all(tenant)], resourcePage(place, clientFilters));
    return { page, show: clientBody };
  },
});
