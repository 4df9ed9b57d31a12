import { accounts } from "../../shared/data/entities.ts";
import { pageOfPairs } from "../../shared/data/list.ts";
import { type Account, accountBody, type Balance } from "../../shared/domain/account.ts";
import { accountFilters, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccounts } from "../../shared/routes/accounts.ts";

/** `GET /accounts` */
export const handler = list(listAccounts, async ({ caller, place }) => {
  const request = resourcePage(place, accountFilters);
  const page = await pageOfPairs<Account, Balance>("list", [accounts.all(caller.tenant_id)], "BALANCE", request);
  return pageReply(place, page, ([account, balance]) => accountBody(account, balance));
});
