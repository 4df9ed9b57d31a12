import { requestCredit } from "../../shared/domain/money/credit.ts";
import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createCredit } from "../../shared/routes/transactions.ts";
import { decideAccountMoney } from "../../shared/trading/items.ts";

/** `POST /transactions/credit` */
export const handler = await command(
  createCredit,
  ({ body, load, context }) => decideAccountMoney(load, body.account_id, (now) => requestCredit(now, body, context)),
  transactionBody,
);
