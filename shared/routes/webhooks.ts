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
  description: "Every endpoint with its filters and its health: consecutive failures, last success, last failure.",
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
    "Events are sent as soon as they happen. The signing secret is shown only in this response. `*` subscribes to " +
    "the nine standard event types; name every other type explicitly. An event must pass every filter that is set. " +
    "The caller's token must hold the scope that reads what each of these types holds: `clients:read` for a client.",
  file: "webhooks/create",
  scope: "webhooks:write",
  standing: "held",
  grants: ["read", "put", "update", "check"],
  secrets: ["service_key"],
  secret: true,
  body: CreateWebhookEndpointRequest,
  reply: IssuedWebhookEndpoint,
  status: 201,
  example: { url: "https://hooks.example.com/broker", event_types: ["*"] },
  refusals: ["insufficient_scope", "too_many_webhook_endpoints"],
});

/** `GET /webhook_endpoints/{id}` */
export const getWebhookEndpoint = route({
  id: "get_webhook_endpoint",
  method: "GET",
  path: "/webhook_endpoints/{id}",
  tag: "Webhooks",
  summary: "Get a webhook endpoint",
  description: "Includes its health: consecutive failures, last success, last failure. The secret is not shown again.",
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
    "A merge patch (RFC 7396). Disabling an endpoint cancels its unfinished deliveries. They are not sent when the " +
    "endpoint is enabled again: replay the events instead. Who changes the address, the types or the filters, or " +
    "enables the endpoint, must hold the scope that reads each type that it then receives. When the rights of its " +
    "maker end, it goes on as an application does.",
  file: "webhooks/update",
  scope: "webhooks:write",
  standing: "read",
  grants: ["read", "put", "update"],
  body: UpdateWebhookEndpointRequest,
  media: "merge_patch",
  reply: WebhookEndpoint,
  example: { event_types: ["transaction.completed", "margin.call"] },
  refusals: ["insufficient_scope", "illegal_transition"],
});

/** `DELETE /webhook_endpoints/{id}` */
export const deleteWebhookEndpoint = route({
  id: "delete_webhook_endpoint",
  method: "DELETE",
  path: "/webhook_endpoints/{id}",
  tag: "Webhooks",
  summary: "Delete a webhook endpoint",
  description: "Permanent. Unfinished deliveries are cancelled.",
  file: "webhooks/delete",
  scope: "webhooks:write",
  standing: "read",
  grants: ["read", "put", "update"],
  reply: DeletedWebhookEndpoint,
});

/** `POST /webhook_endpoints/{id}/rotate_secret` */
export const rotateWebhookSecret = route({
  id: "rotate_webhook_secret",
  method: "POST",
  path: "/webhook_endpoints/{id}/rotate_secret",
  tag: "Webhooks",
  summary: "Rotate the signing secret",
  description:
    "The new secret is shown only in this response. Until `grace_seconds` have passed, one day by default, requests " +
    "are also signed with the previous secret, and another rotation is refused unless its `grace_seconds` is 0: that " +
    "ends every older secret.",
  file: "webhooks/rotate-secret",
  scope: "webhooks:write",
  standing: "held",
  grants: ["read", "put", "update", "check"],
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
  summary: "Send a sample event to a webhook endpoint",
  description:
    'Sends a sample of the event type to this endpoint only, signed like any event and marked `"synthetic": true`. ' +
    "It does not appear in the list of events. Returns the delivery.",
  file: "webhooks/test",
  scope: "webhooks:write",
  standing: "read",
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
  summary: "Replay events",
  description:
    "Sends the events of a range that the endpoint subscribes to again, under their original ids: events above a " +
    "sequence, or events since a point in time. A request reads at most a thousand events; to continue, pass " +
    "`next_after_sequence` as `after_sequence`, with the same `to`, until it is null.",
  file: "webhooks/replay",
  scope: "webhooks:write",
  standing: "read",
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
  description:
    "A delivery is listed from its first attempt on, or two minutes after its event where that attempt is delayed. " +
    "Deliveries are kept for 30 days. Get a single delivery to see its attempts.",
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
  summary: "Get a delivery with its attempts",
  description: "Every attempt with its time, its outcome and the start of the response, at most 4 KiB.",
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
  summary: "Retry a delivery",
  description:
    "Creates a new delivery of the same event, with a full set of attempts. The original delivery must have ended.",
  file: "webhooks/retry-delivery",
  scope: "webhooks:write",
  standing: "read",
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
