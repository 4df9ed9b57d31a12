import { page } from "../schema/fields.ts";
import {
  CreateWebhookEndpointRequest,
  DeletedWebhookEndpoint,
  IssuedWebhookEndpoint,
  ListDeliveriesQuery,
  ListWebhookEndpointsQuery,
  Replay,
  ReplayEventsRequest,
  RotateWebhookSecretRequest,
  TestWebhookEndpointRequest,
  UpdateWebhookEndpointRequest,
  WebhookDelivery,
  WebhookEndpoint,
} from "../schema/webhook.ts";
import { route } from "./route.ts";

/** `GET /webhook_endpoints` */
export const listWebhookEndpoints = route({
  id: "list_webhook_endpoints",
  method: "GET",
  path: "/webhook_endpoints",
  tag: "Webhooks",
  summary: "List webhook endpoints",
  description: "Each with its filters and how it does: failures in a row, last success, last failure.",
  file: "webhooks/list",
  scope: "webhooks:read",
  grants: ["query", "read"],
  query: ListWebhookEndpointsQuery,
  reply: page(WebhookEndpoint),
  refusals: ["invalid_cursor"],
});

/** `POST /webhook_endpoints` */
export const createWebhookEndpoint = route({
  id: "create_webhook_endpoint",
  method: "POST",
  path: "/webhook_endpoints",
  tag: "Webhooks",
  summary: "Create a webhook endpoint",
  description:
    "Events are sent to it as soon as they happen. The secret that signs them is shown this once. `*` subscribes to " +
    "the nine standard kinds; every other kind is named. An event must pass every filter that is set.",
  file: "webhooks/create",
  scope: "webhooks:write",
  grants: ["read", "put", "update"],
  secrets: ["service_key"],
  secret: true,
  body: CreateWebhookEndpointRequest,
  reply: IssuedWebhookEndpoint,
  status: 201,
  example: { url: "https://hooks.example.com/broker", event_types: ["*"] },
  refusals: ["too_many_webhook_endpoints"],
});

/** `GET /webhook_endpoints/{id}` */
export const getWebhookEndpoint = route({
  id: "get_webhook_endpoint",
  method: "GET",
  path: "/webhook_endpoints/{id}",
  tag: "Webhooks",
  summary: "Get one webhook endpoint",
  description: "With how it does: failures in a row, last success, last failure. The secret is not shown again.",
  file: "webhooks/get",
  scope: "webhooks:read",
  grants: ["read"],
  reply: WebhookEndpoint,
});

/** `PATCH /webhook_endpoints/{id}` */
export const updateWebhookEndpoint = route({
  id: "update_webhook_endpoint",
  method: "PATCH",
  path: "/webhook_endpoints/{id}",
  tag: "Webhooks",
  summary: "Update a webhook endpoint",
  description:
    "A merge patch (RFC 7396). What is on its way to an endpoint that is disabled is cancelled, and not sent when it " +
    "is enabled again: ask for it by a replay.",
  file: "webhooks/update",
  scope: "webhooks:write",
  grants: ["read", "put", "update"],
  body: UpdateWebhookEndpointRequest,
  media: "merge_patch",
  reply: WebhookEndpoint,
  example: { event_types: ["transaction.completed", "margin.call"] },
  refusals: ["illegal_transition"],
});

/** `DELETE /webhook_endpoints/{id}` */
export const deleteWebhookEndpoint = route({
  id: "delete_webhook_endpoint",
  method: "DELETE",
  path: "/webhook_endpoints/{id}",
  tag: "Webhooks",
  summary: "Delete a webhook endpoint",
  description: "Final. What is on its way to it is cancelled.",
  file: "webhooks/delete",
  scope: "webhooks:write",
  grants: ["read", "put", "update"],
  reply: DeletedWebhookEndpoint,
});

/** `POST /webhook_endpoints/{id}/rotate_secret` */
export const rotateWebhookSecret = route({
  id: "rotate_webhook_secret",
  method: "POST",
  path: "/webhook_endpoints/{id}/rotate_secret",
  tag: "Webhooks",
  summary: "Give a webhook endpoint a new secret",
  description:
    "The new secret is shown this once. The one before signs along for `grace_seconds`, a day unless told otherwise; " +
    "until then there is no second rotation.",
  file: "webhooks/rotate-secret",
  scope: "webhooks:write",
  grants: ["read", "put", "update"],
  secrets: ["service_key"],
  secret: true,
  body: RotateWebhookSecretRequest,
  reply: IssuedWebhookEndpoint,
  example: { grace_seconds: 3600 },
  refusals: ["secret_rotation_in_progress"],
});

/** `POST /webhook_endpoints/{id}/test` */
export const testWebhookEndpoint = route({
  id: "test_webhook_endpoint",
  method: "POST",
  path: "/webhook_endpoints/{id}/test",
  tag: "Webhooks",
  summary: "Send a sample to a webhook endpoint",
  description:
    'A sample of the kind is sent to this endpoint alone, signed as every event is and marked `"synthetic": true`. ' +
    "It is in no list of events. The answer is its delivery.",
  file: "webhooks/test",
  scope: "webhooks:write",
  grants: ["read", "put"],
  queues: ["deliver"],
  body: TestWebhookEndpointRequest,
  reply: WebhookDelivery,
  status: 202,
  example: { type: "client.created" },
  refusals: ["webhook_endpoint_disabled"],
});

/** `POST /webhook_endpoints/{id}/replay` */
export const replayEvents = route({
  id: "replay_events",
  method: "POST",
  path: "/webhook_endpoints/{id}/replay",
  tag: "Webhooks",
  summary: "Send events again",
  description:
    "The events of a range that the endpoint subscribes to are sent once more, under their own ids: those above a " +
    "sequence, or those that happened from a moment on. A call looks at a thousand events at most; go on after " +
    "`next_after_sequence`, with the same `to`, until it is null.",
  file: "webhooks/replay",
  scope: "webhooks:write",
  grants: ["read", "query", "put", "delete"],
  queues: ["deliver"],
  body: ReplayEventsRequest,
  reply: Replay,
  status: 202,
  example: { after_sequence: "184000" },
  refusals: ["webhook_endpoint_disabled"],
});

/** `GET /webhook_endpoints/{id}/deliveries` */
export const listDeliveries = route({
  id: "list_deliveries",
  method: "GET",
  path: "/webhook_endpoints/{id}/deliveries",
  tag: "Webhooks",
  summary: "List the deliveries of a webhook endpoint",
  description: "Deliveries are kept for 30 days. One of them alone shows its attempts.",
  file: "webhooks/list-deliveries",
  scope: "webhooks:read",
  grants: ["query:state", "read"],
  query: ListDeliveriesQuery,
  reply: page(WebhookDelivery),
  refusals: ["invalid_cursor"],
});

/** `GET /deliveries/{id}` */
export const getDelivery = route({
  id: "get_delivery",
  method: "GET",
  path: "/deliveries/{id}",
  tag: "Webhooks",
  summary: "Get one delivery with its attempts",
  description: "Every attempt with its time, its outcome and the beginning of the answer, at most 4 KiB.",
  file: "webhooks/get-delivery",
  scope: "webhooks:read",
  grants: ["query"],
  reply: WebhookDelivery,
});

/** `POST /deliveries/{id}/retry` */
export const retryDelivery = route({
  id: "retry_delivery",
  method: "POST",
  path: "/deliveries/{id}/retry",
  tag: "Webhooks",
  summary: "Deliver once more",
  description: "A new delivery of the same event, with a ladder of its own, once the one before has ended.",
  file: "webhooks/retry-delivery",
  scope: "webhooks:write",
  grants: ["read", "put"],
  queues: ["deliver"],
  reply: WebhookDelivery,
  status: 202,
  refusals: ["illegal_transition", "webhook_endpoint_disabled"],
});

/** Rows of the webhook endpoints and their deliveries. */
export const webhookRoutes = [
  listWebhookEndpoints,
  createWebhookEndpoint,
  getWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  replayEvents,
  listDeliveries,
  getDelivery,
  retryDelivery,
] as const;
