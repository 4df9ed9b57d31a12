import { orderBody } from "../../shared/domain/trading/order.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccountOrders } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfOrders } from "../../shared/trading/pages.ts";

/** `GET /accounts/{id}/orders` */
export const handler = await list(listAccountOrders, async ({ path, caller, place, load }) => {
  const { id } = path;
  const [{ account }, page] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfOrders(caller.tenant_id, place, id),
  ]);
  return account && pageReply(place, page, orderBody);
});
