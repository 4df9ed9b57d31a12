import { accountNow } from "../../shared/domain/trading/live.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listAccounts } from "../../shared/routes/accounts.ts";
import { pageOfAccounts } from "../../shared/trading/account-pages.ts";

/** `GET /accounts` */
export const handler = await list(listAccounts, async ({ caller, place }) => {
  const { page, ...moment } = await pageOfAccounts(caller.tenant_id, place);
  const show = (holdings: (typeof page.items)[number]) => accountNow(holdings, moment);
  return pageWithClients({ place, caller }, page, show, ({ account }) => account.client_id);
});
