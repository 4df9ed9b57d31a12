import { requestDeposit } from "../../shared/domain/request-transaction.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createDeposit } from "../../shared/routes/transactions.ts";
import { decideBackedMoney } from "../../shared/trading/margin.ts";

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
