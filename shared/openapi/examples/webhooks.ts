import { completed_at, created_at, event_id, exampleIds, links } from "./identifiers.ts";

const webhookEndpoint = {
  id: exampleIds["webhook_endpoints"],
  object: "webhook_endpoint",
  url: "https://hooks.example.com/broker",
  description: null,
  event_types: ["transaction.completed", "margin.call"],
  account_ids: [],
  group_ids: [],
  status: "enabled",
  disabled_reason: null,
  api_version: "v2",
  previous_secret_expires_at: null,
  consecutive_failures: 0,
  last_success_at: completed_at,
  last_failure_at: null,
  created_at,
  updated_at: created_at,
  version: 1,
  metadata: {},
  _links: links({
    self: `/webhook_endpoints/${exampleIds["webhook_endpoints"]}`,
    deliveries: `/webhook_endpoints/${exampleIds["webhook_endpoints"]}/deliveries`,
  }),
};

/** Examples of the replies about webhooks, by component. */
export const webhooksReplies: Readonly<Record<string, unknown>> = {
  DeletedWebhookEndpoint: { id: webhookEndpoint.id, object: "webhook_endpoint", deleted: true },
  IssuedWebhookEndpoint: {
    ...webhookEndpoint,
    last_success_at: null,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
  },
  Replay: { object: "replay", queued: 731, next_after_sequence: "185000" },
  WebhookDelivery: {
    id: exampleIds["deliveries"],
    object: "delivery",
    endpoint_id: webhookEndpoint.id,
    event_id,
    event_type: "transaction.completed",
    status: "retrying",
    attempt: 2,
    max_retries: 5,
    next_attempt_at: "2026-11-21T06:32:12.800Z",
    redelivery_of: null,
    attempts: [
      {
        number: 1,
        at: completed_at,
        duration_ms: 85,
        http_status: 500,
        error: "http_status",
        response_excerpt: "Internal Server Error",
      },
    ],
    created_at: completed_at,
    updated_at: completed_at,
    completed_at: null,
    version: 3,
    _links: links({
      self: `/deliveries/${exampleIds["deliveries"]}`,
      webhook_endpoint: `/webhook_endpoints/${webhookEndpoint.id}`,
      event: `/events/${event_id}`,
    }),
  },
  WebhookEndpoint: webhookEndpoint,
};
