import { ref } from "../../shared/data/store.ts";
import { refuseField } from "../../shared/domain/decision.ts";
import { requestWithdrawal, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createWithdrawal } from "../../shared/routes/transactions.ts";

/** `POST /transactions/withdrawal` */
export const handler = command(
  createWithdrawal,
  async ({ body, load, context }) => {
    const id = body.account_id;
    const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
    if (!account || !balance) return refuseField("account_not_found", "account_id", "The account does not exist.");
    const { client } = await load({ client: ref.client(account.client_id) });
    if (!client) return refuseField("client_not_found", "account_id", "The client of the account does not exist.");
    return requestWithdrawal(client, account, balance, body, context);
  },
  transactionBody,
);
