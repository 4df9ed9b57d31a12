import * as z from "zod/mini";
import { described } from "./described.ts";
import { eventTypes, optInEventTypes } from "./event-types.ts";
import { createdRange, id, ownFields, pageParameters, setOf, Timestamp } from "./fields.ts";

/** Any event type, as a schema. */
export const EventTypeSchema = z.enum([...eventTypes, ...optInEventTypes]);

/** The application, operator or system that caused a change. */
export const Actor = z.object({
  type: described(z.enum(["application", "operator", "system"]), "Type of the actor."),
  id: described(z.string(), "Identifier of the actor."),
  name: described(z.optional(z.string()), "Name of the actor at the time of the change."),
  operator_ids: described(
    z.optional(z.array(z.string())),
    "Operators who created the application or were shown its secret, or the former identifiers of an operator who " +
      "was removed and invited again; absent if there are none. With the actor, each of them is one person where " +
      "four eyes are required.",
  ),
});

/** An event in responses and webhooks; immutable, kept for 90 days. */
export const BrokerageEvent = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("event"), "Resource type; always this value."),
  type: described(EventTypeSchema, "Event type."),
  api_version: described(z.literal("v2"), "API version that defines the shape of the content."),
  created_at: described(Timestamp, "Time of the event."),
  timestamp: described(Timestamp, "Same as `created_at`, as Standard Webhooks requires."),
  environment: described(z.enum(["sandbox", "production"]), "Environment that the event occurred in."),
  sequence: described(
    z.string(),
    "Sequence number of the event: the events of a brokerage are numbered in order of publication.",
  ),
  resource: described(
    z.object({
      type: described(z.string(), "Resource type."),
      id: described(z.string(), "Resource identifier."),
      version: described(z.int(), "Version of the resource after the change. Margin events do not raise it."),
    }),
    "The resource that changed, with its version after the change.",
  ),
  actor: described(Actor, "The application, operator or system that caused the change."),
  request_id: described(z.nullable(z.string()), "The request that caused the event, as in its `X-Request-Id` header."),
  data: described(
    z.object({
      object: described(
        z.record(z.string(), z.unknown()),
        "The resource immediately after the change, as GET returns it.",
      ),
      previous: described(
        z.optional(z.record(z.string(), z.unknown())),
        "The members that changed, with their previous values.",
      ),
    }),
    "The resource that the event is about.",
  ),
  _links: ownFields._links,
});

/** An event type: its schema (JSON Schema 2020-12) and a sample. `*` subscribes to all types that are not opt-in. */
export const EventKind = z.object({
  type: described(EventTypeSchema, "Event type."),
  description: described(z.string(), "What the event reports."),
  opt_in: described(z.boolean(), "Whether it must be named explicitly: `*` does not include it."),
  schema: described(z.record(z.string(), z.unknown()), "JSON Schema (2020-12) of the event."),
  sample: described(z.record(z.string(), z.unknown()), "Sample event."),
});

/** All event types. */
export const EventTypeCatalogue = z.object({
  object: described(z.literal("list"), "Resource type; always this value."),
  data: described(z.array(EventKind), "All event types."),
});

/** Query of `GET /events`. */
export const ListEventsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  type: described(
    z.optional(setOf([...eventTypes, ...optInEventTypes].map((type) => type.replace(".", "\\.")))),
    "Event types, separated by commas.",
  ),
  resource_id: described(
    z.optional(
      z
        .string()
        .check(
          z.regex(/^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$/, "must be an identifier such as acc_01HZX3N5T9GQ6R0V8W2YB4CDEF"),
        ),
    ),
    "Identifier of the resource that changed.",
  ),
  account_id: described(z.optional(id("acc")), "Account identifier."),
  client_id: described(z.optional(id("cli")), "Client identifier."),
  after_sequence: described(
    z.optional(z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number"))),
    "Return only events with a higher sequence number; pass that of the last event you processed.",
  ),
  sort: described(z.optional(z.enum(["sequence", "-sequence"])), "Sort order; a leading hyphen means descending."),
});

/** A restore of the data of a brokerage, as its event shows it. */
export const Restore = z.object({
  id: described(z.string(), "Identifier of the restore, assigned by the service."),
  object: described(z.literal("restore"), "Resource type; always this value."),
  restored_to: described(Timestamp, "Time that the data were restored to."),
  last_valid_sequence: described(z.string(), "Number of the last event that the restored data have."),
  resumed_after_sequence: described(
    z.string(),
    "Events above `last_valid_sequence` up to this number are void, and none of these numbers is given again. Read " +
      "each resource that they name again, and delete what is not found (404).",
  ),
  version: described(z.int(), "Always 1."),
  created_at: described(Timestamp, "Time of this announcement."),
  _links: ownFields._links,
});
