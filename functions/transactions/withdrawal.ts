import { refuseField } from "../../shared/domain/kernel/decision.ts";
import { requestWithdrawal } from "../../shared/domain/money/request.ts";
import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { decideBackedMoney } from "../../shared/money/decide.ts";
import { createWithdrawal } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";

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
