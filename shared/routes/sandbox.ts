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
  summary: "Simulate a successful identity check",
  description: "Verifies the client, as `PATCH /clients/{id}` does with the scope `clients:verify`.",
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
  summary: "Simulate a failed identity check",
  description:
    "Rejects the client, which must be `pending` or `verified`. Set it to `pending` with `PATCH` first if needed.",
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
  summary: "Simulate a completed transaction",
  description:
    "The provider has received the money, or has paid it out: the transaction becomes `completed`, subject to the " +
    "settings of the brokerage.",
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
    "client_closed",
  ],
  emits: ["transaction.completed", "transaction.updated", "command.issued", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/transactions/{id}/fail` */
export const failTransaction = route({
  id: "sandbox_fail_transaction",
  method: "POST",
  path: "/sandbox/transactions/{id}/fail",
  tag: "Sandbox",
  summary: "Simulate a failed transaction",
  description:
    "The provider declines the transaction: it becomes `failed`, approved or not, and an amount that was held or " +
    "debited is credited back.",
  file: "sandbox/fail-transaction",
  scope: "sandbox",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  reply: Transaction,
  refusals: ["illegal_transition"],
  emits: ["transaction.updated", "command.issued", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/transactions/{id}/return` */
export const returnTransaction = route({
  id: "sandbox_return_transaction",
  method: "POST",
  path: "/sandbox/transactions/{id}/return",
  tag: "Sandbox",
  summary: "Simulate a returned transaction",
  description:
    "The provider returns a completed transaction: its postings, including the fee, are reversed, as in a " +
    "chargeback. The balance must cover the reversal.",
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
  emits: ["transaction.updated", "account.updated", "command.issued", "margin.call", "margin.recovered"],
  stages: ["sandbox"],
});

/** `POST /sandbox/events/trigger` */
export const triggerEvent = route({
  id: "sandbox_trigger_event",
  method: "POST",
  path: "/sandbox/events/trigger",
  tag: "Sandbox",
  summary: "Trigger a sample event",
  description:
    'Sends a sample of any event type to one endpoint, whether it is subscribed or not, marked `"synthetic": true`. ' +
    "It does not appear in the list of events. Returns the delivery.",
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
  summary: "Reset the sandbox",
  description:
    "Removes, within minutes, every client created before the request with all their data, the feed sources, and all " +
    "changes to the market. Applications, settings, webhook endpoints and the event log are kept. While a reset is " +
    "running, the request returns it and does not start another.",
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
  summary: "Get reset progress",
  description:
    "The counts of removed items are updated after each pass over the data. 404 if the sandbox was never reset.",
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
