import { orderBody } from "../../shared/domain/trading/order.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listOrders } from "../../shared/routes/trading.ts";
import { pageOfOrders } from "../../shared/trading/pages.ts";

/** `GET /orders` */
export const handler = await list(listOrders, async ({ caller, place, query }) => {
  const page = await pageOfOrders(caller.tenant_id, place, query["account_id"]);
  return pageWithClients({ place, caller }, page, orderBody, ({ client_id }) => client_id);
});
