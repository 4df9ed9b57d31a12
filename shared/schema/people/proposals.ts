import * as z from "zod/mini";
import { described } from "../described.ts";
import { Actor } from "../event.ts";
import { Timestamp } from "../fields.ts";

const proposal = {
  by: described(Actor, "Application or operator that made the proposal."),
  at: described(Timestamp, "Time of the proposal."),
  expires_at: described(Timestamp, "Time from which the proposal has no effect; 72 hours after it was made."),
};

/** A link of an account that waits for a second person. */
export const ProposedLink = z.object({
  source_id: described(z.nullable(z.string()), "The proposed feed source; null to unlink the account."),
  platform_login: described(z.nullable(z.string()), "The proposed login; null for none."),
  ...proposal,
});

/** A change of `authoritative` that waits for a second person. */
export const ProposedAuthority = z.object({
  authoritative: described(z.enum(["platform", "service"]), "The proposed value."),
  ...proposal,
});
