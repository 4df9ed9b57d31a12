import type { $ZodType } from "zod/v4/core";
import { eventScopes } from "../event-scopes.ts";
import { personalMembers } from "../personal-members.ts";
import type { Route } from "../routes/route.ts";
import { LiquidatedAccount } from "../schema/account.ts";
import { AuditSeal } from "../schema/audit/seal.ts";
import { BrokerageEvent, EventTypeSchema, Restore } from "../schema/event.ts";
import { type EventType, eventTexts } from "../schema/event-types.ts";
import { CommandNotice } from "../schema/feed/command.ts";
import { Drift } from "../schema/feed/drift.ts";
import { FeedSource } from "../schema/feed/source.ts";
import { Reconciliation } from "../schema/internal-money/reconciliation.ts";
import { AddedOwner, EndedOperator } from "../schema/people/operator.ts";
import type { JsonObject } from "./document.ts";
import { eventData } from "./examples/events.ts";
import { replyExamples } from "./examples.ts";
import { componentName, referenceTo } from "./schemas.ts";

/** Headers of every delivery, by the name they have on the wire. */
const deliveryHeaders: Readonly<Record<string, { description: string; example: string }>> = {
  "webhook-id": {
    description: "Event identifier, the same for every attempt; use it to detect duplicates.",
    example: "evt_01JD0000000000000000000004",
  },
  "webhook-timestamp": { description: "Time of this attempt, in Unix seconds.", example: "1795241500" },
  "webhook-signature": {
    description:
      "Standard Webhooks signature, `v1,<base64>`: HMAC-SHA256 with the decoded secret over " +
      "`<id>.<timestamp>.<body>`. While two secrets are valid after a rotation, one per secret, separated by a space.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  },
  "X-Service-Signature": {
    description:
      "`t=<timestamp>,v1=<hex>`: HMAC-SHA256 with the whole secret as text over `<timestamp>.<body>`, the scheme of " +
      "Stripe. After a rotation, while both secrets are valid, one `v1` per secret.",
    example: "t=1795241500,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
  },
  "X-Service-Event": { description: "Event type.", example: "transaction.completed" },
  "X-Service-Delivery": {
    description: "Delivery identifier, the same for every attempt.",
    example: "dlv_01JD0000000000000000000009",
  },
  "X-Service-Attempt": { description: "Number of the attempt; the first is 1.", example: "1" },
};

/** The headers as parameters, by the names of their components. */
export const deliveryParameters: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  Object.entries(deliveryHeaders).map(([name, text]) => [
    name,
    { name, in: "header", required: true, schema: { type: "string" }, ...text },
  ]),
);

/** Responses of a receiver, by the names of the components. */
export const callbackResponses: Readonly<Record<string, JsonObject>> = {
  EventAccepted: { description: "The event is accepted and not sent again." },
  ReceiverGone: { description: "The receiver no longer exists: the endpoint is disabled." },
  DeliveryFailed: { description: "The attempt failed; it is retried on schedule." },
};

/** The row whose endpoints receive events. */
export function subscribes(row: Route): boolean {
  return row.method === "POST" && row.path === "/webhook_endpoints";
}

/** Event types in the order of the schema. */
function eventKinds(): readonly EventType[] {
  return EventTypeSchema.options;
}

/** `transaction.completed` is `TransactionCompletedEvent`. */
function eventComponent(kind: EventType): string {
  const words = kind.split(/[._]/).map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join("")}Event`;
}

/** Resource type of an event: the first word of its type; margin calls and stop-outs concern an account. */
function resourceOf(kind: EventType): string {
  const [word = ""] = kind.split(".");
  return word === "margin" || word === "stop" ? "account" : word;
}

/** Schemas of the resources in events that no `GET` returns. */
export const eventReplies: Partial<Record<EventType, $ZodType>> = {
  "stop.out": LiquidatedAccount,
  "command.issued": CommandNotice,
  "command.settled": CommandNotice,
  "drift.detected": Drift,
  "drift.resolved": Drift,
  "feed.stale": FeedSource,
  "feed.recovered": FeedSource,
  "feed.snapshots_late": FeedSource,
  "feed.snapshots_resumed": FeedSource,
  "feed.clock_off": FeedSource,
  "audit.sealed": AuditSeal,
  "brokerage.restored": Restore,
  "owner.added": AddedOwner,
  "operator.ended": EndedOperator,
  "reconciliation.difference_found": Reconciliation,
};

/** The component of the resource in an event: the reply of `GET` at the resource's own path. */
function resourceComponent(kind: EventType, rows: readonly Route[]): string | undefined {
  const own = eventReplies[kind];
  if (own !== undefined) return componentName(own, "shared/openapi/callbacks.ts");
  const resource = resourceOf(kind);
  const row = rows.find(({ method, path }) => method === "GET" && path === `/${resource}s/{id}`);
  return row === undefined ? undefined : componentName(row.reply, row.id);
}

/** Content of an event: the resource after the change, and the previous values of the changed members. */
function dataOf(component: string): JsonObject {
  return {
    object: { $ref: referenceTo(component) },
    previous: {
      type: "object",
      additionalProperties: true,
      description: "The members that changed, with their previous values.",
    },
  };
}

/**
 * One component for every event type: the event with its resource. The document contains them if a row subscribes to
 * events.
 */
export function eventSchemas(rows: readonly Route[]): Record<string, JsonObject> {
  if (!rows.some(subscribes)) return {};
  const base = { $ref: referenceTo(componentName(BrokerageEvent, "shared/schema/event.ts")) };
  const entries = eventKinds().map((kind): [string, JsonObject] => {
    const component = resourceComponent(kind, rows);
    const data =
      component === undefined ? {} : { data: { type: "object", properties: dataOf(component), required: ["object"] } };
    const narrowed = {
      type: "object",
      properties: {
        type: { type: "string", enum: [kind] },
        synthetic: {
          type: "boolean",
          enum: [true],
          description: "Present, and true, only in a sample event that was requested.",
        },
        ...data,
      },
      required: ["type"],
    };
    return [eventComponent(kind), { description: textOf(kind), allOf: [base, narrowed] }];
  });
  return Object.fromEntries(entries);
}

/**
 * The requests that the service sends to the endpoint that a row creates (OpenAPI 3.0.3, Callback Object; 3.0 has no
 * `webhooks`): one for every event type. None if the row does not subscribe.
 */
export function callbacksOf(row: Route, rows: readonly Route[]): { callbacks?: JsonObject } {
  if (!subscribes(row)) return {};
  const callbacks = eventKinds().map((kind) => [kind, { "{$request.body#/url}": { post: deliveryOf(kind, rows) } }]);
  return { callbacks: Object.fromEntries(callbacks) };
}

function deliveryOf(kind: EventType, rows: readonly Route[]): JsonObject {
  const example = exampleOf(kind, rows);
  const schema = { $ref: referenceTo(eventComponent(kind)) };
  return {
    operationId: `receive${eventComponent(kind)}`,
    tags: ["Webhooks"],
    summary: `\`${kind}\``,
    description: `${orderOf(kind)} The tag Webhooks says how to receive events.`,
    security: [],
    parameters: Object.keys(deliveryParameters).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: { required: true, content: { "application/json": { schema, ...example } } },
    responses: {
      "2XX": { $ref: "#/components/responses/EventAccepted" },
      "410": { $ref: "#/components/responses/ReceiverGone" },
      default: { $ref: "#/components/responses/DeliveryFailed" },
    },
  };
}

/** How a receiver finds out which of two events is newer. */
function orderOf(kind: EventType): string {
  return ["margin.call", "margin.recovered", "stop.out"].includes(kind)
    ? "Order `margin.call`, `margin.recovered` and `stop.out` by `sequence`: the version of the account stays the same."
    : "Of two events of a resource the one with the higher `resource.version` is newer, and of one version the one " +
        "with the higher `sequence`.";
}

/** The event as an example, if its resource has one. */
function exampleOf(kind: EventType, rows: readonly Route[]): { example?: unknown } {
  const component = resourceComponent(kind, rows);
  const object = replyExamples[component ?? ""] as JsonObject | undefined;
  const data = eventData[kind] ?? (object === undefined ? undefined : { object });
  const event = replyExamples[componentName(BrokerageEvent, "shared/schema/event.ts")] as JsonObject;
  if (data === undefined) return {};
  const shown = data.object;
  const resource = { type: shown["object"], id: shown["id"], version: shown["version"] };
  return { example: { ...event, type: kind, resource, data } };
}

/** When an event is sent, the scope that an endpoint needs for it, and which personal data it holds. */
function textOf(kind: EventType): string {
  const members = [...personalMembers.client].map((name) => `\`${name}\``).join(", ");
  const personal = kind.startsWith("client.") ? ` Personal data of the client in it: ${members}.` : "";
  return `${eventTexts[kind]} An endpoint needs \`${eventScopes[kind]}\` to receive it.${personal}`;
}
