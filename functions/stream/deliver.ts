import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { getAccount } from "../../shared/routes/accounts.ts";
import { getCommand } from "../../shared/routes/commands.ts";
import { getEvent } from "../../shared/routes/events.ts";
import { getQuote } from "../../shared/routes/market.ts";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { replyOrder } from "../../shared/schema/member-order.ts";
import { deliverStream } from "../../shared/stream/deliver.ts";

/** Resources are sent as these endpoints show them. */
const orders = {
  event: replyOrder(getEvent.reply),
  account: replyOrder(getAccount.reply),
  quote: replyOrder(getQuote.reply),
  command: replyOrder(getCommand.reply),
};

/** Consumes the FIFO queue of the stream: sends connections what is due to them, each set by one worker at a time. */
export async function handler({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  return failuresOf(await deliverStream(records, orders, context.getRemainingTimeInMillis()));
}
