import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { roles } from "../../roles.ts";
import { Email } from "../client.ts";
import { described } from "../described.ts";
import { Actor } from "../event.ts";
import { EmailText, name, ownFields, pageParameters, setOf, Timestamp } from "../fields.ts";
import { scopes } from "../scope.ts";

const Status = z.enum(["invited", "active", "suspended"]);
const Role = z.enum(roles);

/**
 * Email address of an operator: the user pool takes names of 128 characters, and its mail goes to ASCII addresses only
 * (AWS docs, AdminCreateUser and SES). So no two operators have addresses that look alike, either.
 */
export const OperatorEmail = z.pipe(
  Email,
  z.string().check(z.maxLength(limits.pool.max_email_characters), z.regex(/^[\x21-\x7e]+$/, "must be in ASCII")),
);

/** `POST /operators`: the operator is invited by email and becomes active by signing in. */
export const CreateOperatorRequest = z.strictObject({
  email: described(
    OperatorEmail,
    "Email address to sign in with, in ASCII; trimmed, lower-cased and unique within the brokerage.",
  ),
  name: described(name(100), "Display name."),
  role: described(Role, "Role, which decides the scopes of the operator."),
});

/** `PATCH /operators/{id}`, a merge patch. The email address cannot be changed: it identifies the person. */
export const UpdateOperatorRequest = z.strictObject({
  name: described(z.optional(name(100)), "Display name."),
  role: described(z.optional(Role), "Role, which decides the scopes of the operator."),
  status: described(
    z.optional(z.enum(["active", "suspended"])),
    "`suspended` ends access within a minute; `active` ends a suspension.",
  ),
});

/** Query of `GET /operators`. */
export const ListOperatorsQuery = z.strictObject({
  ...pageParameters,
  status: described(z.optional(setOf(Status.options)), "Operator statuses, separated by commas."),
  sort: described(z.optional(z.enum(["-created_at"])), "Sort order; a leading hyphen means descending."),
});

/** A change of the rights of an operator that waits for a second owner. */
export const ProposedOperatorChange = z.object({
  role: described(Role, "The proposed role; the current one where only the status is to change."),
  status: described(
    z.enum(["active", "suspended", "removed"]),
    "The proposed status; `active` where only the role is to change.",
  ),
  by: described(Actor, "Owner who made the proposal."),
  at: described(Timestamp, "Time of the proposal."),
  expires_at: described(Timestamp, "Time from which the proposal has no effect; 72 hours after it was made."),
});

/** A reset of the credentials of an operator that waits for a second owner. */
export const ProposedReset = z.object({
  by: described(Actor, "Owner who made the proposal."),
  at: described(Timestamp, "Time of the proposal."),
  expires_at: described(Timestamp, "Time from which the proposal has no effect; 72 hours after it was made."),
});

/** An operator in responses. `last_seen_at` is accurate to five minutes. */
export const Operator = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("operator"), "Resource type; always this value."),
  email: described(EmailText, "Email address that the operator signs in with."),
  name: described(z.string(), "Display name."),
  role: described(Role, "Role, which decides the scopes of the operator."),
  scopes: described(z.array(z.enum(scopes)), "Scopes of the role."),
  status: described(Status, "Operator status; `invited` until the operator has signed in."),
  proposed_change: described(
    z.nullable(ProposedOperatorChange),
    "Suspension, removal or other role of an owner, or a role or admission that gives a scope that only two owners " +
      "give, which a second owner must accept; null if there is none.",
  ),
  proposed_reset: described(
    z.nullable(ProposedReset),
    "Reset of the credentials that a second owner must accept; null if there is none.",
  ),
  last_seen_at: described(
    z.nullable(Timestamp),
    "Time at which the operator last obtained a token, accurate to five minutes; null if never.",
  ),
  ...ownFields,
});

/** Confirmation that an operator was removed, or that an owner proposed it. */
export const RemovedOperator = z.object({
  id: described(z.string(), "Identifier of the operator."),
  object: described(z.literal("operator"), "Resource type; always this value."),
  deleted: described(z.boolean(), "False while a second owner has to accept the removal of an owner."),
});

/** An operator who became an owner, as the event shows them: without what names the person. */
export const AddedOwner = z.object({
  id: described(z.string(), "Identifier of the operator."),
  object: described(z.literal("operator"), "Resource type; always this value."),
  role: described(z.literal("owner"), "Role; always this value."),
  status: described(Status, "Operator status; `invited` until the operator has signed in."),
  agreed: described(
    z.boolean(),
    "Whether a second owner agreed. It is false while the brokerage has one active owner, who can add an owner " +
      "alone, and where an application that only a terminal made did it.",
  ),
  version: described(z.int(), "Version of the operator."),
  _links: ownFields._links,
});

/** An operator who has lost rights, as the event shows them: without what names the person. */
export const EndedOperator = z.object({
  id: described(z.string(), "Identifier of the operator."),
  object: described(z.literal("operator"), "Resource type; always this value."),
  role: described(Role, "Role of the operator now, or at last."),
  status: described(z.enum(["invited", "active", "suspended", "removed"]), "Operator status."),
  reason: described(
    z.enum(["suspended", "removed", "role_lowered"]),
    "Why rights ended: `role_lowered` means that the role now lacks a scope of the role before.",
  ),
  version: described(z.int(), "Version of the operator."),
  _links: ownFields._links,
});

/** Body of `POST /operators` after validation. */
export type CreateOperator = z.infer<typeof CreateOperatorRequest>;
/** Body of `PATCH /operators/{id}` after validation. */
export type UpdateOperator = z.infer<typeof UpdateOperatorRequest>;
/** A new owner on the wire. */
export type AddedOwnerBody = z.infer<typeof AddedOwner>;
/** An operator who has lost rights on the wire. */
export type EndedOperatorBody = z.infer<typeof EndedOperator>;
/** An operator on the wire. */
export type OperatorBody = z.infer<typeof Operator>;
