import { amendAccount } from "../../shared/domain/amend-account.ts";
import { notFound } from "../../shared/domain/decision.ts";
import { liveBody } from "../../shared/domain/trading/amend-holdings.ts";
import { command } from "../../shared/http/operations.ts";
import { updateAccount } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { decideAmendment } from "../../shared/trading/margin.ts";

/** `PATCH /accounts/{id}` */
export const handler = await command(
  updateAccount,
  async ({ path, body, load, context, expectVersion }) => {
    const { id } = path;
    const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
    if (!account || !balance) return notFound();
    expectVersion(account.version);
    const { client } = await load({ client: ref.client(account.client_id) });
    if (!client) return notFound();
    return decideAmendment(load, context, { account, balance, client }, body, amendAccount);
  },
  liveBody,
);
