import * as z from "zod/mini";
import { described } from "../described.ts";
import { Timestamp } from "../fields.ts";
import { SignedDecimal } from "../symbol.ts";

/** Description of the member that keeps the figure of a platform. */
export const reportedAmountText =
  "Amount as the platform reported it, where that has more digits than the currency; it is booked rounded half away " +
  "from zero. Absent otherwise.";

/** An item of a platform that moved a transaction's money before it was approved. */
export const SetAside = z.object({
  source_id: described(z.string(), "Feed source that reported the operation."),
  operation_id: described(z.string(), "Identifier of the operation on the platform."),
  seq: described(z.string(), "Sequence number of the item, which is among the rejects of the source until then."),
  at: described(Timestamp, "Time of the operation on the platform."),
  reported_amount: described(z.optional(SignedDecimal), reportedAmountText),
  created_for_item: described(
    z.boolean(),
    "Whether it was created for the item, which named no transaction, because an approval rule covers its amount.",
  ),
  taken_back_by: described(
    z.optional(z.string()),
    "Command that asks the platform to take the operation back, since the transaction has ended; absent before.",
  ),
});
