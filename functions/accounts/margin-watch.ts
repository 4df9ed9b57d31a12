import { watchedNow } from "../../shared/domain/trading/live.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listMarginWatch } from "../../shared/routes/accounts.ts";
import { pageOfWatched } from "../../shared/trading/account-pages.ts";

/** `GET /accounts/margin_watch` */
export const handler = await list(listMarginWatch, async ({ caller, place }) => {
  const { page, ...moment } = await pageOfWatched(caller.tenant_id, place);
  const show = ({ holdings, risk }: (typeof page.items)[number]) => watchedNow(holdings, risk, moment);
  return pageWithClients({ place, caller }, page, show, ({ holdings }) => holdings.account.client_id);
});
