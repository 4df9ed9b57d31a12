import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { described } from "./described.ts";
import { eventTypes, optInEventTypes } from "./event-types.ts";
import {
  Address,
  createdRange,
  id,
  identifier,
  Metadata,
  MetadataPatch,
  ownFields,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  TimestampInput,
  text,
} from "./fields.ts";

const bounds = limits.webhooks;

/** Event types of a subscription: `*` stands for the nine types of the specification; others are listed by name. */
const Subscription = z.enum(["*", ...eventTypes, ...optInEventTypes]);

/** Endpoint status; the service sets `auto_disabled`, and a PATCH ends it. */
export const WebhookStatus = z.enum(["enabled", "disabled", "auto_disabled"]);

/** Delivery status. */
export const DeliveryStatus = z.enum(["pending", "retrying", "succeeded", "exhausted", "cancelled"]);

/** Why an attempt failed. */
export const DeliveryError = z.enum([
  "timeout",
  "dns_error",
  "connection_refused",
  "connection_reset",
  "tls_error",
  "blocked_address",
  "http_status",
  "worker_crash",
]);

const Sequence = z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number"));

/** Webhook URL. Its parts are validated by the decision, which returns the specific error. */
export const Url = z.string().check(z.minLength(1), z.maxLength(bounds.url_max_characters));

const subscription = {
  description: described(z.nullable(text(500)), "Free text."),
  event_types: described(
    z.array(Subscription).check(z.minLength(1), z.maxLength(bounds.max_event_types)),
    "Event types to send. `*` stands for all that are not opt-in; name opt-in types explicitly.",
  ),
  account_ids: described(
    z.nullable(z.array(id("acc")).check(z.maxLength(bounds.max_filter_entries))),
    "Send only events of these accounts; null or empty for all.",
  ),
  group_ids: described(
    z.nullable(z.array(identifier(64)).check(z.maxLength(bounds.max_filter_entries))),
    "Send only events of accounts in these groups; null or empty for all.",
  ),
};

const optionalSubscription = {
  description: z.optional(subscription.description),
  account_ids: z.optional(subscription.account_ids),
  group_ids: z.optional(subscription.group_ids),
};

/** `POST /webhook_endpoints`: URL and event types are required. */
export const CreateWebhookEndpointRequest = z.strictObject({
  url: described(Url, "URL that events are sent to by POST; https only."),
  event_types: subscription.event_types,
  ...optionalSubscription,
  metadata: described(
    z.optional(Metadata),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
});

/** `PATCH /webhook_endpoints/{id}`, a merge patch (RFC 7396). A null or empty filter matches every event. */
export const UpdateWebhookEndpointRequest = z.strictObject({
  url: described(z.optional(Url), "URL that events are sent to by POST; https only."),
  event_types: z.optional(subscription.event_types),
  ...optionalSubscription,
  status: described(
    z.optional(z.enum(["enabled", "disabled"])),
    "Endpoint status; `enabled` also ends an automatic disabling.",
  ),
  metadata: described(
    z.optional(MetadataPatch),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
});

const shown = {
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("webhook_endpoint"), "Resource type; always this value."),
  url: described(Address, "URL that events are sent to by POST."),
  description: described(z.nullable(z.string()), "Free text."),
  event_types: described(z.array(Subscription), "Event types that are sent. `*` stands for all that are not opt-in."),
  account_ids: described(z.array(z.string()), "Only events of these accounts are sent; empty for all."),
  group_ids: described(z.array(z.string()), "Only events of accounts in these groups are sent; empty for all."),
  status: described(WebhookStatus, "Endpoint status; the service itself sets `auto_disabled`."),
  disabled_reason: described(z.nullable(z.string()), "Reason for disabling; null if it is not disabled."),
  api_version: described(z.literal("v2"), "API version that defines the shape of the content."),
  previous_secret_expires_at: described(
    z.nullable(Timestamp),
    "Time at which the previous secret expires; null if there is none.",
  ),
  consecutive_failures: described(z.int(), "Failed attempts since the last success."),
  last_success_at: described(z.nullable(Timestamp), "Time of the last successful attempt; null if there is none."),
  last_failure_at: described(z.nullable(Timestamp), "Time of the last failed attempt; null if there is none."),
  ...resourceFields,
};

/** A webhook endpoint in responses. Empty filters match every event. */
export const WebhookEndpoint = z.object(shown);

/** A webhook endpoint with its new secret, which is returned only once. */
export const IssuedWebhookEndpoint = z.object({
  ...shown,
  secret: described(z.string(), "Signing secret; returned only once."),
});

/** Response to a deletion. */
export const DeletedWebhookEndpoint = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("webhook_endpoint"), "Resource type; always this value."),
  deleted: described(z.literal(true), "Always true."),
});

/** Query of `GET /webhook_endpoints`. */
export const ListWebhookEndpointsQuery = z.strictObject({
  ...pageParameters,
  status: described(z.optional(setOf(WebhookStatus.options)), "Endpoint statuses, separated by commas."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** `POST /webhook_endpoints/{id}/rotate_secret`: how long the previous secret also signs; 0 revokes it immediately. */
export const RotateWebhookSecretRequest = z.strictObject({
  grace_seconds: described(
    z.optional(z.int().check(z.minimum(0), z.maximum(bounds.previous_secret_seconds))),
    "Seconds for which the previous secret remains valid; 0 revokes it immediately.",
  ),
});

/** `POST /webhook_endpoints/{id}/test`: event type of the sample. */
export const TestWebhookEndpointRequest = z.strictObject({
  type: described(z.enum([...eventTypes, ...optInEventTypes]), "Event type of the sample."),
});

/** `POST /sandbox/events/trigger`: event type of the sample, and the endpoint that receives it. */
export const TriggerEventRequest = z.strictObject({
  type: TestWebhookEndpointRequest.shape.type,
  endpoint_id: described(id("whe"), "Webhook endpoint that receives the sample."),
});

/**
 * `POST /webhook_endpoints/{id}/replay`: events above a sequence number, or events from a time on; in both cases up to
 * `to`, if given.
 */
export const ReplayEventsRequest = z.strictObject({
  after_sequence: described(z.optional(Sequence), "Replay events with a higher sequence number."),
  from: described(z.optional(TimestampInput), "Replay events that occurred at or after this time."),
  to: described(z.optional(TimestampInput), "Replay events that occurred before this time."),
});

/** Result of a replay; `next_after_sequence` is null if the range is complete. */
export const Replay = z.object({
  object: described(z.literal("replay"), "Resource type; always this value."),
  queued: described(z.int(), "Number of events queued for delivery."),
  next_after_sequence: described(
    z.nullable(z.string()),
    "Value of `after_sequence` for the next call; null if the range is complete.",
  ),
});

/** One attempt of a delivery. */
export const DeliveryAttempt = z.object({
  number: described(z.int(), "Number of the attempt; the first is 1."),
  at: described(Timestamp, "Time of the attempt."),
  duration_ms: described(z.int(), "Duration of the attempt in milliseconds."),
  http_status: described(z.nullable(z.int()), "HTTP status of the response; null if there was none."),
  error: described(z.nullable(DeliveryError), "Reason for the failure; null if the attempt succeeded."),
  response_excerpt: described(z.nullable(z.string()), "Beginning of the response body."),
});

/** A delivery in responses; lists leave `attempts` out. */
export const WebhookDelivery = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("delivery"), "Resource type; always this value."),
  endpoint_id: described(z.string(), "Webhook endpoint identifier."),
  event_id: described(z.string(), "Event identifier."),
  event_type: described(z.enum([...eventTypes, ...optInEventTypes]), "Event type."),
  status: described(DeliveryStatus, "Delivery status."),
  attempt: described(z.int(), "Number of the next, current or last attempt; the first is 1."),
  max_retries: described(z.int(), "Maximum number of attempts after the first."),
  next_attempt_at: described(z.nullable(Timestamp), "Time of the next scheduled attempt; null if none is scheduled."),
  redelivery_of: described(z.nullable(z.string()), "The delivery that this one repeats; null if it is the first."),
  attempts: described(z.optional(z.array(DeliveryAttempt)), "Attempts so far, oldest first."),
  created_at: resourceFields.created_at,
  updated_at: resourceFields.updated_at,
  completed_at: described(z.nullable(Timestamp), "Time at which the delivery ended; null while it is in progress."),
  version: resourceFields.version,
  _links: ownFields._links,
});

/** Query of `GET /webhook_endpoints/{id}/deliveries`. */
export const ListDeliveriesQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(DeliveryStatus.options)), "Delivery statuses, separated by commas."),
  event_type: described(
    z.optional(setOf([...eventTypes, ...optInEventTypes].map((type) => type.replace(".", "\\.")))),
    "Event types, separated by commas.",
  ),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** Body of `POST /webhook_endpoints` after validation. */
export type CreateWebhookEndpoint = z.infer<typeof CreateWebhookEndpointRequest>;
/** Body of `PATCH /webhook_endpoints/{id}` after validation. */
export type UpdateWebhookEndpoint = z.infer<typeof UpdateWebhookEndpointRequest>;
/** Body of `POST /webhook_endpoints/{id}/rotate_secret` after validation. */
export type RotateWebhookSecret = z.infer<typeof RotateWebhookSecretRequest>;
/** Body of `POST /webhook_endpoints/{id}/replay` after validation. */
export type ReplayEvents = z.infer<typeof ReplayEventsRequest>;
/** Result of a replay, on the wire. */
export type ReplayBody = z.infer<typeof Replay>;
/** A webhook endpoint on the wire. */
export type WebhookEndpointBody = z.infer<typeof WebhookEndpoint>;
/** A delivery on the wire. */
export type DeliveryBody = z.infer<typeof WebhookDelivery>;
/** One attempt on the wire. */
export type DeliveryAttemptBody = z.infer<typeof DeliveryAttempt>;
