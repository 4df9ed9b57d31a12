import { refuseField } from "../../shared/domain/decision.ts";
import { requestWithdrawal } from "../../shared/domain/request-transaction.ts";
import { isComplete, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createWithdrawal } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";
import { linkOf } from "../../shared/trading/items.ts";
import { decideMoney, moneyRefs, readHeld } from "../../shared/trading/margin.ts";

/** `POST /transactions/withdrawal` */
export const handler = await command(
  createWithdrawal,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const { risk, ...accountContext } = await load(moneyRefs(id));
    if (!isComplete(accountContext))
      return refuseField("account_not_found", "account_id", "The account does not exist.");
    const [{ client }, held, link] = await Promise.all([
      load({ client: ref.client(accountContext.account.client_id) }),
      readHeld(load, context, { ...accountContext, risk }),
      linkOf(load, accountContext),
    ]);
    if (!client) return refuseField("client_not_found", "account_id", "The client of the account does not exist.");
    return decideMoney(held, context, { ...accountContext, ...link }, (now) =>
      requestWithdrawal(client, now, body, context),
    );
  },
  transactionBody,
);
