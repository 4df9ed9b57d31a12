import { accountNow } from "../../shared/domain/trading/live.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listClientAccounts } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfAccounts } from "../../shared/trading/account-pages.ts";

/** `GET /clients/{id}/accounts` */
export const handler = await list(listClientAccounts, async ({ path, caller, place, load }) => {
  const { id } = path;
  const [{ client }, { page, ...moment }] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfAccounts(caller.tenant_id, place, id),
  ]);
  const show = (holdings: (typeof page.items)[number]) => accountNow(holdings, moment);
  return client && pageWithClients({ place, caller }, page, show, ({ account }) => account.client_id);
});
