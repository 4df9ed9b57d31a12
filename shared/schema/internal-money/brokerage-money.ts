import * as z from "zod/mini";
import { described } from "../described.ts";
import { TimestampInput } from "../fields.ts";
import { MoneyInput, SignedMoneyInput } from "../money.ts";
import { request, StatusReason } from "../transaction.ts";

/** `POST /transactions/adjustment`: a correction of the balance by the brokerage. */
export const CreateAdjustmentRequest = z.strictObject({
  account_id: request.account_id,
  amount: described(
    SignedMoneyInput,
    "Amount that is added to the balance; negative to reduce it. Send a decimal string such as `-25.00`.",
  ),
  reason: described(StatusReason, "Reason for the adjustment; the first entry of `status_history` shows it."),
  currency: request.currency,
  external_id: request.external_id,
  description: request.description,
  expires_at: request.expires_at,
  metadata: request.metadata,
});

/** `POST /transactions/credit`: credit of the brokerage, granted or taken back. */
export const CreateCreditRequest = z.strictObject({
  account_id: request.account_id,
  direction: described(z.enum(["in", "out"]), "`in` grants credit, `out` takes it back."),
  amount: described(
    MoneyInput,
    "Amount of the credit, in the currency of the account. Send a decimal string such as `50.00`.",
  ),
  reason: described(StatusReason, "Reason for the credit; the first entry of `status_history` shows it."),
  expires_at: described(
    z.optional(TimestampInput),
    "With `in`: time at which what is left of this credit ends; it does not end if omitted.",
  ),
  currency: request.currency,
  external_id: request.external_id,
  description: request.description,
  metadata: request.metadata,
});

/** Body of `POST /transactions/adjustment` after validation. */
export type CreateAdjustment = z.infer<typeof CreateAdjustmentRequest>;
/** Body of `POST /transactions/credit` after validation. */
export type CreateCredit = z.infer<typeof CreateCreditRequest>;
