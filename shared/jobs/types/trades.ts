import { tradeBody } from "../../domain/trading/trade.ts";
import { listTrades } from "../../routes/trading.ts";
import { pageOfTrades } from "../../trading/pages.ts";
import { listExport } from "../lists.ts";

/** Trades as `GET /trades` shows them, by their opening. */
export const tradeExport = listExport({
  row: listTrades,
  by: "open",
  page: async (tenant, place) => {
    const { account_id: account } = place.query;
    const page = await pageOfTrades(tenant, place, account === undefined ? undefined : [account]);
    return { page, show: tradeBody };
  },
});
