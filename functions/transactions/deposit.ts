import { requestDeposit } from "../../shared/domain/money/request.ts";
import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { decideBackedMoney } from "../../shared/money/decide.ts";
import { createDeposit } from "../../shared/routes/transactions.ts";

/** `POST /transactions/deposit` */
export const handler = await command(
  createDeposit,
  ({ body, load, context }) =>
    decideBackedMoney(
      load,
      context,
      body.account_id,
      () => ({}),
      (now) => requestDeposit(now, body, context),
    ),
  transactionBody,
);
