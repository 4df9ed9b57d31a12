import { accountNow } from "../../domain/trading/live.ts";
import { limits } from "../../limits.ts";
import { listAccounts } from "../../routes/accounts.ts";
import { pageOfAccounts } from "../../trading/account-pages.ts";
import { listExport } from "../lists.ts";

/** Accounts as `GET /accounts` shows them, at the prices when they are read. */
export const accountExport = listExport({
  row: listAccounts,
  by: "created",
  limit: limits.jobs.valued_per_read,
  page: async (tenant, place) => {
    const { page, ...moment } = await pageOfAccounts(tenant, place);
    return { page, show: (holdings: (typeof page.items)[number]) => accountNow(holdings, moment) };
  },
});
