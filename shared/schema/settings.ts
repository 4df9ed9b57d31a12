import * as z from "zod/mini";
import { Currency, Links, Timestamp } from "./fields.ts";

const policies = {
  /** When a client must be verified: never, to withdraw, or to have a live account (and to withdraw from it). */
  require_verified_client: z.enum(["none", "withdrawal", "live_account"]),
  /** A transaction must be approved by another application than the one that created it. */
  four_eyes: z.boolean(),
  /** Currencies that new accounts may have. */
  currencies: z.array(Currency).check(z.minLength(1), z.maxLength(6)),
  /** Leverage of an account that asks for none, where its kind allows it. */
  default_leverage: z.int().check(z.minimum(1), z.maximum(1000)),
  /** Days after which a transaction that nobody decided on expires. */
  transaction_expiry_days: z.int().check(z.minimum(1), z.maximum(90)),
};

/** `PATCH /settings`, a merge patch. */
export const UpdateSettingsRequest = z.strictObject({
  require_verified_client: z.optional(policies.require_verified_client),
  four_eyes: z.optional(policies.four_eyes),
  currencies: z.optional(policies.currencies),
  default_leverage: z.optional(policies.default_leverage),
  transaction_expiry_days: z.optional(policies.transaction_expiry_days),
});

/** The policies of a tenant as the API shows them. */
export const Settings = z.object({
  object: z.literal("settings"),
  tenant_id: z.string(),
  ...policies,
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int(),
  _links: Links,
});

/** Body of `PATCH /settings` after validation. */
export type UpdateSettings = z.infer<typeof UpdateSettingsRequest>;
/** The policies on the wire. */
export type SettingsBody = z.infer<typeof Settings>;
