import { disableAccount } from "../../shared/domain/amend-account.ts";
import { notFound } from "../../shared/domain/decision.ts";
import { liveBody } from "../../shared/domain/trading/amend-holdings.ts";
import { command } from "../../shared/http/operations.ts";
import { disableAccount as row } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { shownLive } from "../../shared/trading/margin.ts";

/** `DELETE /accounts/{id}` */
export const handler = await command(
  row,
  async ({ path, load, context, expectVersion }) => {
    const { id } = path;
    const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
    if (!account || !balance) return notFound();
    expectVersion(account.version);
    return shownLive(context, disableAccount({ account, balance }, context));
  },
  liveBody,
);
