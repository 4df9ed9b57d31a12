import { BrokerageClient } from "../schema/client.ts";
import { SandboxReset } from "../schema/reset.ts";
import { Transaction } from "../schema/transaction.ts";
import { TriggerEventRequest, WebhookDelivery } from "../schema/webhook.ts";
import { route } from "./route.ts";

/** `POST /sandbox/clients/{id}/verify` */
export const verifyClient = route({
  id: "sandbox_verify_client",
  method: "POST",
  path: "/sandbox/clients/{id}/verify",
  tag: "Sandbox",
  summary: "Let an identity check succeed",
  description: "Verifies a client, as `PATCH /clients/{id}` does for who may.",
  file: "sandbox/verify-client",
  scope: "sandbox",
  grants: ["read", "put", "update"],
  reply: BrokerageClient,
  refusals: ["client_closed"],
  emits: ["client.verified", "client.updated"],
  stages: ["sandbox"],
});

/** `POST /sandbox/clients/{id}/reject` */
export const rejectClient = route({
  id: "sandbox_reject_client",
  method: "POST",
  path: "/sandbox/clients/{id}/reject",
  tag: "Sandbox",
  summary: "Let an identity check fail",
  description: "Rejects a client that is `pending` or `verified`: ask for `pending` by PATCH first.",
  file: "sandbox/reject-client",
  scope: "sandbox",
  grants: ["read", "put", "update"],
  reply: BrokerageClient,
  refusals: ["illegal_transition", "client_closed"],
  emits: ["client.updated"],
  stages: ["sandbox"],
});

/** `POST /sandbox/transactions/{id}/settle` */
export const settleTransaction = route({
  id: "sandbox_settle_transaction",
  method: "POST",
  path: "/sandbox/transactions/{id}/settle",
  tag: "Sandbox",
  summary: "Let the provider complete a transaction",
  description:
    "The money has arrived, or was paid out: the transaction is `completed`, under the policies of the brokerage.",
  file: "sandbox/settle-transaction",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  reply: Transaction,
  refusals: [
    "illegal_transition",
    "insufficient_free_margin",
    "liquidation_in_progress",
    "metrics_stale",
    "no_conversion_path",
    "amount_too_large",
  ],
  emits: ["transaction.completed", "transaction.updated", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/transactions/{id}/fail` */
export const failTransaction = route({
  id: "sandbox_fail_transaction",
  method: "POST",
  path: "/sandbox/transactions/{id}/fail",
  tag: "Sandbox",
  summary: "Let the provider decline a transaction",
  description: "The transaction is `failed`, approved or not, and what it held or took is there again.",
  file: "sandbox/fail-transaction",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  reply: Transaction,
  refusals: ["illegal_transition"],
  emits: ["transaction.updated", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/transactions/{id}/return` */
export const returnTransaction = route({
  id: "sandbox_return_transaction",
  method: "POST",
  path: "/sandbox/transactions/{id}/return",
  tag: "Sandbox",
  summary: "Let the provider return a completed transaction",
  description: "Reverses what it booked, fee included, as a chargeback does; what it takes must be there.",
  file: "sandbox/return-transaction",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  reply: Transaction,
  refusals: [
    "illegal_transition",
    "liquidation_in_progress",
    "metrics_stale",
    "no_conversion_path",
    "amount_too_large",
  ],
  conflicts: ["insufficient_funds"],
  emits: ["transaction.updated", "account.updated", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/events/trigger` */
export const triggerEvent = route({
  id: "sandbox_trigger_event",
  method: "POST",
  path: "/sandbox/events/trigger",
  tag: "Sandbox",
  summary: "Send a sample of an event",
  description:
    'A sample of any kind is sent to one endpoint, whether it subscribes to it or not, marked `"synthetic": true`. ' +
    "It is in no list of events. The answer is its delivery.",
  file: "sandbox/trigger-event",
  scope: "sandbox",
  grants: ["read", "put"],
  queues: ["deliver"],
  body: TriggerEventRequest,
  reply: WebhookDelivery,
  status: 202,
  example: { type: "stop.out", endpoint_id: "whe_01JD0000000000000000000008" },
  refusals: ["webhook_endpoint_not_found", "webhook_endpoint_disabled"],
  stages: ["sandbox"],
});

/** `POST /sandbox/reset` */
export const resetSandbox = route({
  id: "reset_sandbox",
  method: "POST",
  path: "/sandbox/reset",
  tag: "Sandbox",
  summary: "Begin anew",
  description:
    "Removes, within minutes, every client from before the request with all that is theirs, the sources of the feed, " +
    "and what was done to the market. Applications, settings, webhook endpoints and the log of events stay. While a " +
    "reset runs it is shown and no other begins.",
  file: "sandbox/begin-reset",
  scope: "sandbox",
  grants: ["read", "put", "update"],
  reply: SandboxReset,
  status: 202,
  stages: ["sandbox"],
});

/** `GET /sandbox/reset` */
export const getSandboxReset = route({
  id: "get_sandbox_reset",
  method: "GET",
  path: "/sandbox/reset",
  tag: "Sandbox",
  summary: "Show how far the last reset is",
  description: "What it removed is counted after each walk through everything. 404 when there never was one.",
  file: "sandbox/get-reset",
  scope: "sandbox",
  grants: ["read"],
  reply: SandboxReset,
  refusals: ["not_found"],
  stages: ["sandbox"],
});

/** Rows that only the sandbox has. */
export const sandboxRoutes = [
  verifyClient,
  rejectClient,
  settleTransaction,
  failTransaction,
  returnTransaction,
  triggerEvent,
  resetSandbox,
  getSandboxReset,
] as const;
