import { accountNow } from "../../shared/domain/trading/live.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClientAccounts } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfAccounts } from "../../shared/trading/account-pages.ts";

/** `GET /clients/{id}/accounts` */
export const handler = await list(listClientAccounts, async ({ path, caller: { tenant_id: tenant }, place, load }) => {
  const { id } = path;
  const [{ client }, { page, ...moment }] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfAccounts(tenant, place, id),
  ]);
  return client && pageReply(place, page, (holdings) => accountNow(holdings, moment));
});
