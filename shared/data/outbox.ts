import type { Context, DomainEvent } from "../domain/decision.ts";
import { limits } from "../limits.ts";
import type { Outbox } from "./entities.ts";

/**
 * The one outbox item of a commit: its events in order, complete but for id and sequence, which they get when they are
 * published. `delayMs` turns a business delay into real time.
 */
export function outboxOf(
  events: readonly [DomainEvent, ...DomainEvent[]],
  context: Context,
  delayMs: (seconds: number) => number,
): Outbox {
  if (events.length > limits.events.max_per_commit) {
    throw new Error(`A commit may write ${limits.events.max_per_commit} events, not ${events.length}.`);
  }
  const wake = Date.parse(context.now) + delayMs(limits.events.unpublished_after_seconds);
  return {
    id: context.newId("obx"),
    tenant_id: context.tenant_id,
    root_id: events[0].resource.id,
    root_version: events[0].resource.version,
    events: events.map((event) => JSON.stringify(eventBody(event, context))),
    created_at: context.now,
    wake_at: new Date(wake).toISOString(),
  };
}

/** An event as it waits in the outbox: `client_id` and `account_id` are for the indexes and are not shown. */
export interface WaitingEvent {
  readonly client_id: string | null;
  readonly account_id: string | null;
  readonly body: Readonly<Record<string, unknown>> & {
    readonly type: DomainEvent["type"];
    readonly created_at: string;
    readonly resource: { readonly type: string; readonly id: string };
  };
}

function eventBody(event: DomainEvent, context: Context): WaitingEvent {
  return {
    client_id: event.client_id,
    account_id: event.account_id,
    body: {
      object: "event",
      type: event.type,
      api_version: "v2",
      created_at: context.now,
      timestamp: context.now,
      environment: context.environment,
      resource: event.resource,
      actor: context.actor,
      request_id: context.request_id,
      data: { object: event.object, ...(event.previous ? { previous: event.previous } : {}) },
    },
  };
}
