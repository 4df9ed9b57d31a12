import { ref } from "../../shared/data/store.ts";
import { refuseField } from "../../shared/domain/decision.ts";
import { requestDeposit, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createDeposit } from "../../shared/routes/transactions.ts";

/** `POST /transactions/deposit` */
export const handler = command(
  createDeposit,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
    if (!account || !balance) return refuseField("account_not_found", "account_id", "The account does not exist.");
    return requestDeposit(account, balance, body, context);
  },
  transactionBody,
);
