import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listTrades } from "../../shared/routes/trading.ts";
import { pageOfTrades } from "../../shared/trading/pages.ts";

/** `GET /trades` */
export const handler = await list(listTrades, async ({ caller, place, query }) => {
  const { account_id: account } = query;
  const page = await pageOfTrades(caller.tenant_id, place, account === undefined ? undefined : [account]);
  return pageWithClients({ place, caller }, page, tradeBody, ({ client_id }) => client_id);
});
