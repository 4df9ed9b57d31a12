import { transferQuoteBody } from "../../shared/domain/internal-money/transfer-quote.ts";
import { command } from "../../shared/http/operations.ts";
import { createTransferQuote } from "../../shared/routes/transactions.ts";
import { decideQuote } from "../../shared/trading/transfers.ts";

/** `POST /transfer_quotes` */
export const handler = await command(
  createTransferQuote,
  ({ body, load, context }) => decideQuote(load, context, body),
  transferQuoteBody,
);
