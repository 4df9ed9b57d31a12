import { requestAdjustment } from "../../shared/domain/money/adjustment.ts";
import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createAdjustment } from "../../shared/routes/transactions.ts";
import { decideAccountMoney } from "../../shared/trading/items.ts";

/** `POST /transactions/adjustment` */
export const handler = await command(
  createAdjustment,
  ({ body, load, context }) =>
    decideAccountMoney(load, body.account_id, (now) => requestAdjustment(now, body, context)),
  transactionBody,
);
