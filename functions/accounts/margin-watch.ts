import { watchedNow } from "../../shared/domain/trading/live.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listMarginWatch } from "../../shared/routes/accounts.ts";
import { pageOfWatched } from "../../shared/trading/account-pages.ts";

/** `GET /accounts/margin_watch` */
export const handler = await list(listMarginWatch, async ({ caller, place }) => {
  const { page, ...moment } = await pageOfWatched(caller.tenant_id, place);
  return pageReply(place, page, ({ holdings, risk }) => watchedNow(holdings, risk, moment));
});
