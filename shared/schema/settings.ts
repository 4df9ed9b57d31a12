import * as z from "zod/mini";
import { type CurrencyCode, minorDigits } from "../currencies.ts";
import { limits } from "../limits.ts";
import { roles } from "../roles.ts";
import { described } from "./described.ts";
import { Actor } from "./event.ts";
import { Currency, identifier, Money, name, ownFields, Timestamp } from "./fields.ts";

const policies = {
  require_verified_client: described(
    z.enum(["none", "withdrawal", "live_account"]),
    "When a client must be verified: never, for withdrawals, or for live accounts.",
  ),
  four_eyes: described(
    z.boolean(),
    "Whether a transaction must be approved by an application or operator other than its creator.",
  ),
  currencies: described(
    z.array(Currency).check(z.minLength(1), z.maxLength(limits.money.max_currencies)),
    "Currencies available for new accounts.",
  ),
  default_leverage: described(
    z.int().check(z.minimum(1), z.maximum(limits.trading.max_leverage)),
    "Leverage of a new account that requests none, capped by what the client's classification allows.",
  ),
  max_leverage_retail: described(
    z.int().check(z.minimum(1), z.maximum(limits.trading.max_leverage)),
    "Highest leverage of a live account of a retail client, when it is opened and when it is changed; existing " +
      "accounts keep theirs. A new brokerage has 30, as the European Union asks for.",
  ),
  min_stop_out_retail: described(
    z
      .string()
      .check(
        z.regex(/^(?:\d{1,2}(?:\.\d{1,2})?|100(?:\.0{1,2})?)$/, "must be a percentage from 0 to 100 such as 50.00"),
      ),
    "Lowest stop-out level of a live account of a retail client, in percent, when it is opened and when its levels " +
      "are changed; existing accounts keep theirs. A new brokerage has 50.00.",
  ),
  transaction_expiry_days: described(
    z.int().check(z.minimum(1), z.maximum(90)),
    "Days after which an undecided transaction fails.",
  ),
  transfer_mark_up_percent: described(
    z
      .string()
      .check(z.regex(/^(?:\d(?:\.\d{1,2})?|10(?:\.0{1,2})?)$/, "must be a percentage from 0 to 10 such as 0.50")),
    "Part of the converted amount that the brokerage keeps of a transfer between currencies, in percent. A new " +
      "brokerage keeps 0.50.",
  ),
  credit_on_withdrawal: described(
    z.enum(["keep", "remove", "prorate"]),
    "What happens to the credit of an account when a withdrawal or a transfer out is debited: it stays, all of it is " +
      "removed, or the same part of it as of the balance.",
  ),
};

/** When the days of the brokerage end. */
export const DayEnd = z.strictObject({
  time: described(
    z.string().check(z.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "must be a time of day such as 17:00")),
    "Time of day in `zone` at which a day ends; `00:00` is the midnight after it.",
  ),
  zone: described(identifier(64), "Time zone by its name in the IANA database such as `America/New_York`."),
});

const dayEndText = "When days end; midnight UTC until it is set. A change counts from the day after the running one.";

const letterhead = {
  name: "Name of the company.",
  address: "Address of the company.",
  registration_number: "Number of the company in its register.",
  licence: "Licence, with the authority that gave it.",
  contact: "Email address or phone number for clients.",
  website: "Website.",
} as const;

/** The letterhead of the brokerage in responses. */
export const Letterhead = z.object(
  mapped(letterhead, (says) => described(z.nullable(z.string()), `${says} Null until it is set.`)),
);

/** A text of the letterhead; empty, it removes the text. */
export const LetterheadText = z
  .string()
  .check(
    z.maxLength(limits.statements.max_characters),
    z.regex(/^[^\p{Cc}\p{Cs}\p{NChar}\ufffd]*$/u, "must be text without control characters"),
  );

/** Changes of the letterhead: members that are not named stay. */
const LetterheadPatch = z.strictObject(mapped(letterhead, (says) => described(z.optional(LetterheadText), says)));

function mapped<K extends string, T>(texts: Readonly<Record<K, string>>, to: (says: string) => T): Record<K, T> {
  const pairs = Object.entries<string>(texts).map(([name, says]) => [name, to(says)]);
  return Object.fromEntries(pairs) as Record<K, T>;
}

const CurrencyName = z.string().check(z.regex(/^[A-Z]{3,6}$/, "must be the code of a currency such as USD"));

/** A rule for transactions that need approval. */
export const ApprovalRule = z.strictObject({
  kind: described(z.enum(["deposit", "withdrawal"]), "Type of transaction."),
  over: described(
    z.record(CurrencyName, Money).check(
      z.refine((amounts) => Object.entries(amounts).every(([code, amount]) => isAmount(code, amount)), {
        error: "must be amounts by currency such as 5000.00",
        params: { code: "invalid_format" },
      }),
    ),
    "Amounts by currency above which the rule applies; a currency without one needs approval at any amount.",
  ),
  approvers: described(
    z.int().check(z.minimum(1), z.maximum(limits.approvals.max_approvers)),
    "Approvals that a transaction needs, all by different operators or applications and none by its creator.",
  ),
  roles: described(
    z.optional(z.array(z.enum(roles)).check(z.minLength(1), z.maxLength(roles.length))),
    "Roles of the operators who may approve; any with the scope if omitted. Applications cannot approve.",
  ),
});

const proposal = {
  by: described(Actor, "Owner who made the proposal."),
  at: described(Timestamp, "Time of the proposal."),
  expires_at: described(Timestamp, "Time from which the proposal has no effect; 72 hours after it was made."),
};

/** Approval rules that wait for a second owner. */
export const ProposedApprovalRules = z.object({
  rules: described(z.array(ApprovalRule), "The proposed rules."),
  ...proposal,
});

/** A change of `four_eyes` that waits for a second owner. */
export const ProposedFourEyes = z.object({
  four_eyes: described(z.boolean(), "The proposed value."),
  ...proposal,
});

function isAmount(code: string, amount: string): boolean {
  const digits = minorDigits[code as CurrencyCode] as number | undefined;
  if (digits === undefined || !/^\d{1,15}(?:\.\d+)?$/.test(amount)) return false;
  return (amount.split(".")[1] ?? "").length <= digits;
}

/** `PATCH /settings`, a merge patch. */
export const UpdateSettingsRequest = z.strictObject({
  name: described(z.optional(name(100)), "Name of the brokerage, by which people of several brokerages choose it."),
  require_verified_client: z.optional(policies.require_verified_client),
  four_eyes: described(
    z.optional(z.boolean()),
    "Whether a transaction must be approved by an application or operator other than its creator. While the " +
      "brokerage has two active owners, one proposes the change and another one accepts by sending the same.",
  ),
  currencies: z.optional(policies.currencies),
  default_leverage: z.optional(policies.default_leverage),
  max_leverage_retail: z.optional(policies.max_leverage_retail),
  min_stop_out_retail: z.optional(policies.min_stop_out_retail),
  transaction_expiry_days: z.optional(policies.transaction_expiry_days),
  transfer_mark_up_percent: z.optional(policies.transfer_mark_up_percent),
  credit_on_withdrawal: z.optional(policies.credit_on_withdrawal),
  day_end: described(z.optional(DayEnd), "When days end."),
  brokerage: described(z.optional(LetterheadPatch), "Letterhead of statements; members that are not named stay."),
  approval_rules: described(
    z.optional(z.array(ApprovalRule).check(z.maxLength(limits.approvals.max_rules))),
    "Approval rules. While the brokerage has two active owners, one proposes them and another one accepts by sending " +
      "the same rules.",
  ),
});

/** The policies of a tenant in responses. */
export const Settings = z.object({
  object: described(z.literal("settings"), "Resource type; always this value."),
  tenant_id: described(z.string(), "Brokerage identifier."),
  name: described(z.nullable(z.string()), "Name of the brokerage; null until it is set."),
  ...policies,
  day_end: described(DayEnd, dayEndText),
  brokerage: described(Letterhead, "Letterhead of statements."),
  approval_rules: described(z.array(ApprovalRule), "Approval rules; of those that apply the strictest counts."),
  proposed_approval_rules: described(
    z.nullable(ProposedApprovalRules),
    "Approval rules that a second owner must accept; null if there are none.",
  ),
  proposed_four_eyes: described(
    z.nullable(ProposedFourEyes),
    "A change of `four_eyes` that a second owner must accept; null if there is none.",
  ),
  ...ownFields,
});

/** Body of `PATCH /settings` after validation. */
export type UpdateSettings = z.infer<typeof UpdateSettingsRequest>;
/** The policies on the wire. */
export type SettingsBody = z.infer<typeof Settings>;
