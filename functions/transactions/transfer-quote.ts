import { transferQuoteBody } from "../../shared/domain/money/transfers/quote.ts";
import { command } from "../../shared/http/operations.ts";
import { decideQuote } from "../../shared/money/transfers.ts";
import { createTransferQuote } from "../../shared/routes/transactions.ts";

/** `POST /transfer_quotes` */
export const handler = await command(
  createTransferQuote,
  ({ body, load, context }) => decideQuote(load, context, body),
  transferQuoteBody,
);
