import { accounts } from "../../shared/data/entities.ts";
import { pageOfPairs } from "../../shared/data/list.ts";
import { ref } from "../../shared/data/store.ts";
import { type Account, accountBody, type Balance } from "../../shared/domain/account.ts";
import { accountFilters, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClientAccounts } from "../../shared/routes/clients.ts";

/** `GET /clients/{id}/accounts` */
export const handler = list(listClientAccounts, async ({ path, caller, place, load }) => {
  const id = path["id"] ?? "";
  const request = resourcePage(place, accountFilters);
  const own = accounts.ofClient(caller.tenant_id, id);
  const [{ client }, page] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfPairs<Account, Balance>("owner", [own], "BALANCE", request),
  ]);
  return client && pageReply(place, page, ([account, balance]) => accountBody(account, balance));
});
