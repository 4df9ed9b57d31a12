import { refuseField } from "../../shared/domain/decision.ts";
import { requestAdjustment } from "../../shared/domain/internal-money/adjustment.ts";
import { isComplete, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createAdjustment } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";
import { linkOf } from "../../shared/trading/items.ts";

/** `POST /transactions/adjustment` */
export const handler = await command(
  createAdjustment,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const accountContext = await load({ tenant: ref.tenant(), account: ref.account(id), balance: ref.balance(id) });
    if (!isComplete(accountContext))
      return refuseField("account_not_found", "account_id", "The account does not exist.");
    return requestAdjustment({ ...accountContext, ...(await linkOf(load, accountContext)) }, body, context);
  },
  transactionBody,
);
