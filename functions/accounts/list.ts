import { accountNow } from "../../shared/domain/trading/live.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccounts } from "../../shared/routes/accounts.ts";
import { pageOfAccounts } from "../../shared/trading/account-pages.ts";

/** `GET /accounts` */
export const handler = await list(listAccounts, async ({ caller: { tenant_id: tenant }, place }) => {
  const { page, ...moment } = await pageOfAccounts(tenant, place);
  return pageReply(place, page, (holdings) => accountNow(holdings, moment));
});
