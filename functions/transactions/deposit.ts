import { refuseField } from "../../shared/domain/decision.ts";
import { requestDeposit } from "../../shared/domain/request-transaction.ts";
import { isComplete, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createDeposit } from "../../shared/routes/transactions.ts";
import { linkOf } from "../../shared/trading/items.ts";
import { decideMoney, moneyRefs, readHeld } from "../../shared/trading/margin.ts";

/** `POST /transactions/deposit` */
export const handler = await command(
  createDeposit,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const { risk, ...accountContext } = await load(moneyRefs(id));
    if (!isComplete(accountContext))
      return refuseField("account_not_found", "account_id", "The account does not exist.");
    const [held, link] = await Promise.all([
      readHeld(load, context, { ...accountContext, risk }),
      linkOf(load, accountContext),
    ]);
    return decideMoney(held, context, { ...accountContext, ...link }, (now) => requestDeposit(now, body, context));
  },
  transactionBody,
);
