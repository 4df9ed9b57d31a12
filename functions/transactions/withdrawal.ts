import { refuseField } from "../../shared/domain/decision.ts";
import { requestWithdrawal } from "../../shared/domain/request-transaction.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createWithdrawal } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";
import { decideBackedMoney } from "../../shared/trading/margin.ts";

/** `POST /transactions/withdrawal` */
export const handler = await command(
  createWithdrawal,
  ({ body, load, context }) =>
    decideBackedMoney(
      load,
      context,
      body.account_id,
      ({ client_id }) => ({ client: ref.client(client_id) }),
      (now, { client }) =>
        client === undefined
          ? refuseField("client_not_found", "account_id", "The client of the account does not exist.")
          : requestWithdrawal(client, now, body, context),
    ),
  transactionBody,
);
