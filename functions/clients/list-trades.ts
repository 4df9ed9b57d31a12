import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listClientTrades } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfClientTrades } from "../../shared/trading/pages.ts";

/** `GET /clients/{id}/trades`: of all accounts of the client. */
export const handler = await list(listClientTrades, async ({ path, caller, place, load }) => {
  const { id } = path;
  const [{ client }, page] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfClientTrades(caller.tenant_id, place, id),
  ]);
  return client && pageWithClients({ place, caller }, page, tradeBody, ({ client_id }) => client_id);
});
