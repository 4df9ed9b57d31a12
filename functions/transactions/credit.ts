import { refuseField } from "../../shared/domain/decision.ts";
import { requestCredit } from "../../shared/domain/internal-money/credit.ts";
import { isComplete, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createCredit } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";
import { linkOf } from "../../shared/trading/items.ts";

/** `POST /transactions/credit` */
export const handler = await command(
  createCredit,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const accountContext = await load({ tenant: ref.tenant(), account: ref.account(id), balance: ref.balance(id) });
    if (!isComplete(accountContext))
      return refuseField("account_not_found", "account_id", "The account does not exist.");
    return requestCredit({ ...accountContext, ...(await linkOf(load, accountContext)) }, body, context);
  },
  transactionBody,
);
