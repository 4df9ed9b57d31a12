import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import { ownFields, Timestamp } from "../fields.ts";
import { scopes } from "../scope.ts";
import { TransactionKind, TransactionStatus } from "../transaction.ts";

/** An application whose secret an operator knows. */
export const KnownApplication = z.object({
  id: described(z.string(), "Identifier of the application."),
  name: described(z.string(), "Display name."),
  scopes: described(z.array(z.enum(scopes)), "Scopes of the application."),
  knows: described(
    z.enum(["current_secret", "previous_secret"]),
    "The newest secret that works and that the operator, or an application that they are behind, made or was shown.",
  ),
  secret_rotated_at: described(z.nullable(Timestamp), "Time of the last secret rotation; null if never rotated."),
});

/** A change that waits for a second person, of an operator who proposed it or is needed for it. */
export const OpenProposal = z.object({
  resource_type: described(
    z.enum(["operator", "settings", "account", "feed_source", "drift"]),
    "Type of the resource that the change is of.",
  ),
  resource_id: described(z.string(), "Identifier of that resource; for the settings that of the brokerage."),
  source_id: described(z.nullable(z.string()), "Feed source that a drift is of; null for other resources."),
  change: described(
    z.enum([
      ...["proposed_change", "proposed_approval_rules", "proposed_four_eyes"],
      ...["proposed_link", "proposed_authoritative", "proposal"],
    ] as const),
    "Member of the resource that shows it.",
  ),
  part: described(
    z.enum(["made", "needed"]),
    "Whether the operator made it, or is needed for it: no other active operator could agree to it.",
  ),
  at: described(Timestamp, "Time of the proposal."),
  expires_at: described(Timestamp, "Time from which the proposal has no effect."),
});

/** An undecided transaction that an operator made or approved, or is needed for. */
export const OpenTransaction = z.object({
  id: described(z.string(), "Identifier of the transaction."),
  kind: described(TransactionKind, "Transaction type."),
  status: described(TransactionStatus, "Transaction status."),
  account_id: described(z.string(), "Account that the money moves on."),
  part: described(
    z.enum(["made", "approved", "needed"]),
    "What the operator did, or that they are needed: without them too few active operators are left to approve it.",
  ),
});

/** Everything that a person who leaves may still act through, and their undecided matters. */
export const OperatorHandover = z.object({
  object: described(z.literal("operator_handover"), "Resource type; always this value."),
  operator_id: described(z.string(), "Identifier of the operator."),
  status: described(z.enum(["invited", "active", "suspended", "removed"]), "Operator status."),
  applications: described(z.array(KnownApplication), "Active applications whose secret the operator knows."),
  proposals: described(z.array(OpenProposal), "Open proposals that the operator made, or is needed for."),
  transactions: described(
    z.array(OpenTransaction),
    "Undecided transactions that the operator made, approved or is needed for, oldest first, of the " +
      `${limits.operators.handover_transactions} oldest ones of the brokerage.`,
  ),
  more_transactions: described(
    z.boolean(),
    "Whether the brokerage has undecided transactions that were not looked at.",
  ),
  _links: ownFields._links,
});

/** The handover of an operator on the wire. */
export type OperatorHandoverBody = z.infer<typeof OperatorHandover>;
