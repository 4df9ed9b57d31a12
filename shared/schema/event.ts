import * as z from "zod/mini";
import { eventTypes, optInEventTypes } from "./event-types.ts";
import { createdRange, id, Links, pageParameters, setOf, Timestamp } from "./fields.ts";

/** Any event kind, as a schema. */
export const EventTypeSchema = z.enum([...eventTypes, ...optInEventTypes]);

/** Who caused a change. */
export const Actor = z.object({ type: z.enum(["api_application", "system"]), id: z.string() });

/** An event as the API shows it and as a webhook carries it; immutable, kept 90 days. */
export const BrokerageEvent = z.object({
  id: z.string(),
  object: z.literal("event"),
  type: EventTypeSchema,
  api_version: z.literal("v2"),
  created_at: Timestamp,
  timestamp: Timestamp,
  environment: z.enum(["sandbox", "production"]),
  sequence: z.string(),
  resource: z.object({ type: z.string(), id: z.string(), version: z.int() }),
  actor: Actor,
  request_id: z.nullable(z.string()),
  data: z.object({
    object: z.record(z.string(), z.unknown()),
    previous: z.optional(z.record(z.string(), z.unknown())),
  }),
  _links: Links,
});

/** A kind of event: its schema (JSON Schema 2020-12) and a sample. `*` subscribes to all that are not opt-in. */
export const EventKind = z.object({
  type: EventTypeSchema,
  description: z.string(),
  opt_in: z.boolean(),
  schema: z.record(z.string(), z.unknown()),
  sample: z.record(z.string(), z.unknown()),
});

/** Every kind of event. */
export const EventTypeCatalogue = z.object({ object: z.literal("list"), data: z.array(EventKind) });

/** Query of `GET /events`. */
export const ListEventsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  type: z.optional(setOf([...eventTypes, ...optInEventTypes].map((type) => type.replace(".", "\\.")))),
  resource_id: z.optional(
    z
      .string()
      .check(
        z.regex(/^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$/, "must be an identifier such as acc_01HZX3N5T9GQ6R0V8W2YB4CDEF"),
      ),
  ),
  account_id: z.optional(id("acc")),
  client_id: z.optional(id("cli")),
  after_sequence: z.optional(z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number"))),
  sort: z.optional(z.enum(["sequence", "-sequence"])),
});
