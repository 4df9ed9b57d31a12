import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccountTrades } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfTrades } from "../../shared/trading/pages.ts";

/** `GET /accounts/{id}/trades` */
export const handler = await list(listAccountTrades, async ({ path, caller, place, load }) => {
  const { id } = path;
  const [{ account }, page] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfTrades(caller.tenant_id, place, [id]),
  ]);
  return account && pageReply(place, page, tradeBody);
});
