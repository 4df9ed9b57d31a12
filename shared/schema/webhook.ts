import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { eventTypes, optInEventTypes } from "./event-types.ts";
import {
  Address,
  createdRange,
  id,
  identifier,
  Metadata,
  MetadataPatch,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  TimestampInput,
  text,
} from "./fields.ts";

const bounds = limits.webhooks;

/** What an endpoint may subscribe to: `*` is the nine kinds of the specification; the others only by name. */
const Subscription = z.enum(["*", ...eventTypes, ...optInEventTypes]);

/** Whether an endpoint gets events; `auto_disabled` is the service's own doing and ends by a PATCH. */
export const WebhookStatus = z.enum(["enabled", "disabled", "auto_disabled"]);

/** Where a delivery stands. */
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

/** Where a webhook goes. What it may be is a matter of its parts, so the decision says what is wrong with it. */
export const Url = z.string().check(z.minLength(1), z.maxLength(bounds.url_max_characters));

const subscription = {
  description: z.nullable(text(500)),
  event_types: z.array(Subscription).check(z.minLength(1), z.maxLength(bounds.max_event_types)),
  account_ids: z.nullable(z.array(id("acc")).check(z.maxLength(bounds.max_filter_entries))),
  group_ids: z.nullable(z.array(identifier(64)).check(z.maxLength(bounds.max_filter_entries))),
};

const optionalSubscription = {
  description: z.optional(subscription.description),
  account_ids: z.optional(subscription.account_ids),
  group_ids: z.optional(subscription.group_ids),
};

/** `POST /webhook_endpoints`: where to, and what of. */
export const CreateWebhookEndpointRequest = z.strictObject({
  url: Url,
  event_types: subscription.event_types,
  ...optionalSubscription,
  metadata: z.optional(Metadata),
});

/** `PATCH /webhook_endpoints/{id}`, a merge patch (RFC 7396). A null or empty filter lets every event through. */
export const UpdateWebhookEndpointRequest = z.strictObject({
  url: z.optional(Url),
  event_types: z.optional(subscription.event_types),
  ...optionalSubscription,
  status: z.optional(z.enum(["enabled", "disabled"])),
  metadata: z.optional(MetadataPatch),
});

const shown = {
  id: z.string(),
  object: z.literal("webhook_endpoint"),
  url: Address,
  description: z.nullable(z.string()),
  event_types: z.array(Subscription),
  account_ids: z.array(z.string()),
  group_ids: z.array(z.string()),
  status: WebhookStatus,
  disabled_reason: z.nullable(z.string()),
  api_version: z.literal("v2"),
  previous_secret_expires_at: z.nullable(Timestamp),
  consecutive_failures: z.int(),
  last_success_at: z.nullable(Timestamp),
  last_failure_at: z.nullable(Timestamp),
  ...resourceFields,
};

/** A webhook endpoint as the API shows it. Empty filters let every event through. */
export const WebhookEndpoint = z.object(shown);

/** A webhook endpoint with its new secret, which is shown this once. */
export const IssuedWebhookEndpoint = z.object({ ...shown, secret: z.string() });

/** The answer to a deletion: the endpoint is gone. */
export const DeletedWebhookEndpoint = z.object({
  id: z.string(),
  object: z.literal("webhook_endpoint"),
  deleted: z.literal(true),
});

/** Query of `GET /webhook_endpoints`. */
export const ListWebhookEndpointsQuery = z.strictObject({
  ...pageParameters,
  status: z.optional(setOf(WebhookStatus.options)),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** `POST /webhook_endpoints/{id}/rotate_secret`: how long the old secret signs along; 0 ends it at once. */
export const RotateWebhookSecretRequest = z.strictObject({
  grace_seconds: z.optional(z.int().check(z.minimum(0), z.maximum(bounds.previous_secret_seconds))),
});

/** `POST /webhook_endpoints/{id}/test`: of which kind the sample is. */
export const TestWebhookEndpointRequest = z.strictObject({
  type: z.enum([...eventTypes, ...optInEventTypes]),
});

/** `POST /sandbox/events/trigger`: of which kind the sample is, and where it goes. */
export const TriggerEventRequest = z.strictObject({
  type: TestWebhookEndpointRequest.shape.type,
  endpoint_id: id("whe"),
});

/**
 * `POST /webhook_endpoints/{id}/replay`: events above a sequence, or those that happened from a moment on; in both
 * cases up to a moment when `to` is given.
 */
export const ReplayEventsRequest = z.strictObject({
  after_sequence: z.optional(Sequence),
  from: z.optional(TimestampInput),
  to: z.optional(TimestampInput),
});

/** What a replay came to; `next_after_sequence` is null when the range was looked through to its end. */
export const Replay = z.object({
  object: z.literal("replay"),
  queued: z.int(),
  next_after_sequence: z.nullable(z.string()),
});

/** One attempt of a delivery. */
export const DeliveryAttempt = z.object({
  number: z.int(),
  at: Timestamp,
  duration_ms: z.int(),
  http_status: z.nullable(z.int()),
  error: z.nullable(DeliveryError),
  response_excerpt: z.nullable(z.string()),
});

/** A delivery as lists show it. */
export const WebhookDelivery = z.object({
  id: z.string(),
  object: z.literal("delivery"),
  endpoint_id: z.string(),
  event_id: z.string(),
  event_type: z.enum([...eventTypes, ...optInEventTypes]),
  status: DeliveryStatus,
  attempt: z.int(),
  max_retries: z.int(),
  next_attempt_at: z.nullable(Timestamp),
  redelivery_of: z.nullable(z.string()),
  attempts: z.optional(z.array(DeliveryAttempt)),
  created_at: resourceFields.created_at,
  updated_at: resourceFields.updated_at,
  completed_at: z.nullable(Timestamp),
  version: resourceFields.version,
  _links: resourceFields._links,
});

/** Query of `GET /webhook_endpoints/{id}/deliveries`. */
export const ListDeliveriesQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: z.optional(setOf(DeliveryStatus.options)),
  event_type: z.optional(setOf([...eventTypes, ...optInEventTypes].map((type) => type.replace(".", "\\.")))),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** Body of `POST /webhook_endpoints` after validation. */
export type CreateWebhookEndpoint = z.infer<typeof CreateWebhookEndpointRequest>;
/** Body of `PATCH /webhook_endpoints/{id}` after validation. */
export type UpdateWebhookEndpoint = z.infer<typeof UpdateWebhookEndpointRequest>;
/** Body of `POST /webhook_endpoints/{id}/rotate_secret` after validation. */
export type RotateWebhookSecret = z.infer<typeof RotateWebhookSecretRequest>;
/** Body of `POST /webhook_endpoints/{id}/replay` after validation. */
export type ReplayEvents = z.infer<typeof ReplayEventsRequest>;
/** The answer to a replay. */
export type ReplayBody = z.infer<typeof Replay>;
/** A webhook endpoint on the wire. */
export type WebhookEndpointBody = z.infer<typeof WebhookEndpoint>;
/** A delivery on the wire. */
export type DeliveryBody = z.infer<typeof WebhookDelivery>;
/** One attempt on the wire. */
export type DeliveryAttemptBody = z.infer<typeof DeliveryAttempt>;
