import * as z from "zod/mini";
import { described } from "../described.ts";
import { Actor } from "../event.ts";
import { ownFields, pageParameters, setOf, Timestamp, TimestampInput, ulid } from "../fields.ts";

const Hash = z.string();

/** A resource that an entry names. */
export const AuditedResource = z.object({
  type: described(z.string(), "Resource type."),
  id: described(z.string(), "Resource identifier."),
});

const state = z.nullable(z.record(z.string(), z.unknown()));

/** Change of a resource by a command. */
export const AuditedChange = z.object({
  resource: described(AuditedResource, "The resource that changed."),
  before: described(state, "The members that changed, with their previous values; null for a resource that is new."),
  after: described(
    state,
    "The members that changed, with their new values. Secrets are left out; a state that is too large for an entry " +
      "is replaced by its `sha256`. Personal values of a client or operator whose key was destroyed are `[erased]`.",
  ),
});

/** Personal values of an entry as they are stored, those of one person. */
const Sealed = z.object({
  person: described(z.string(), "Identifier of the client or operator."),
  members: described(z.array(z.string()), "Where the values are in the entry, as JSON Pointers (RFC 6901)."),
  text: described(z.string(), "The values, encrypted under the key of the person."),
});

/** An entry of the audit log; immutable. */
export const AuditEntry = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("audit_entry"), "Resource type; always this value."),
  sequence: described(z.string(), "Number of the entry: the entries of a brokerage are numbered without gaps from 1."),
  at: described(Timestamp, "Time of the request."),
  actor: described(
    Actor,
    "The application or operator that called; the name of an operator who was removed is `[erased]`.",
  ),
  ip: described(z.nullable(z.string()), "IP address of the caller; `[erased]` for an operator who was removed."),
  user_agent: described(
    z.nullable(z.string()),
    "`User-Agent` of the request: its first 200 characters; `[erased]` for an operator who was removed.",
  ),
  request_id: described(z.nullable(z.string()), "The request, as in its `X-Request-Id` header."),
  action: described(
    z.string(),
    "The operation, by its `operationId` in this document: `create_client`. `authenticate` is a call with a token " +
      "whose application or operator has lost access.",
  ),
  resource: described(z.nullable(AuditedResource), "The resource that the request was about."),
  outcome: described(z.enum(["succeeded", "refused"]), "Whether the command was carried out."),
  code: described(
    z.nullable(z.string()),
    "Code of the problem that it was refused with. Of a refusal of access it is the error of the token endpoint " +
      "(`invalid_scope`, `invalid_grant`, `invalid_client`), or a reason that the response does not state: " +
      "`address_not_allowed`, `application_revoked`, `operator_suspended`, `operator_removed`.",
  ),
  changes: described(z.array(AuditedChange), "What the command changed, by resource."),
  sealed: described(
    z.optional(z.array(Sealed)),
    "Personal values as they are stored and exported: encrypted, by person. Destroying the key of a person erases " +
      "them and leaves the entry as it is. Absent in an entry without personal values.",
  ),
  count: described(z.int(), "How many refusals the entry stands for, of which it shows the first; otherwise 1."),
  previous_hash: described(Hash, "`hash` of the entry before; 64 zeros for the first."),
  hash: described(
    Hash,
    "SHA-256 (hexadecimal) of `previous_hash` followed by the canonical JSON (RFC 8785) of the entry without " +
      "`previous_hash`, `hash` and `_links`, and with the text `[sealed]` in each place that `sealed` names. Such an " +
      "entry is what is stored and exported.",
  ),
  _links: ownFields._links,
});

/** Query of `GET /audit_log`. */
export const ListAuditQuery = z.strictObject({
  ...pageParameters,
  actor: described(
    z.optional(
      z.string().check(z.regex(/^[A-Za-z0-9_]{1,64}$/, "must be an identifier such as app_01HZX3N5T9GQ6R0V8W2YB4CDEF")),
    ),
    "Identifier of the application or operator that called.",
  ),
  resource: described(
    z.optional(
      z
        .string()
        .check(
          z.regex(new RegExp(`^[a-z]{3}_${ulid}$`), "must be an identifier such as acc_01HZX3N5T9GQ6R0V8W2YB4CDEF"),
        ),
    ),
    "Identifier of the resource that the command was about.",
  ),
  action: described(
    z.optional(z.string().check(z.regex(/^[a-z][a-z_]{0,63}$/, "must be the name of an operation"))),
    "The operation: `create_client`.",
  ),
  outcome: described(z.optional(setOf(["succeeded", "refused"])), "Outcomes, separated by commas."),
  from: described(z.optional(TimestampInput), "At or after this time."),
  to: described(z.optional(TimestampInput), "Before this time."),
  sort: described(z.optional(z.enum(["sequence", "-sequence"])), "Sort order; a leading hyphen means descending."),
});

const sequence = z.string().check(z.regex(/^[1-9]\d{0,14}$/, "must be a whole number from 1"));

/** Query of `GET /audit_log/verification`. */
export const VerifyAuditQuery = z.strictObject({
  from: described(z.optional(sequence), "Number of the first entry to check; the oldest entry by default."),
  to: described(z.optional(sequence), "Number of the last entry to check; the newest entry by default."),
});

/** The first place where the chain is broken. */
export const BrokenLink = z.object({
  kind: described(z.enum(["changed", "removed", "inserted", "moved"]), "What was done to the entry."),
  sequence: described(z.string(), "Number of the entry; of an inserted entry the number that it claims."),
  id: described(z.nullable(z.string()), "Identifier of the entry; null if it is missing."),
});

/** Result of a check of the audit log. */
export const AuditVerification = z.object({
  object: described(z.literal("audit_verification"), "Resource type; always this value."),
  intact: described(z.boolean(), "Whether every entry that was checked is linked to the one before."),
  broken: described(z.nullable(BrokenLink), "The first broken link; null if there is none."),
  from: described(z.nullable(z.string()), "Number of the first entry that was checked; null if there is none."),
  to: described(z.nullable(z.string()), "Number of the last entry that was checked; null if there is none."),
  checked: described(z.int(), "Number of entries that are linked, up to the first broken link."),
  hash: described(Hash, "`hash` of the last entry that is linked."),
  has_more: described(z.boolean(), "Whether entries are left to check: continue with the number after `to`."),
  _links: ownFields._links,
});
