import type { AuditedEvent, WaitingAudit } from "../domain/audit/entry.ts";
import type { PolicyRefusal } from "../domain/audit/refusals.ts";
import type { Context, DomainEvent, Origin } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import { type Key, type Outbox, outboxes, outboxParts } from "./entities.ts";
import { putNew, type TransactItem } from "./write.ts";

/**
 * The outbox item of a commit: its events in order, complete but for id and sequence, which they get when they are
 * published. Events that do not fit it go into parts next to it, written in the same transaction: the size of a
 * resource is limited by a rule of requests, and one that was stored before the rule must still be published. `delayMs`
 * turns a business delay into real time. `place` is the order among commits that one request decides at one moment.
 */
export function putOutbox(
  events: readonly [DomainEvent, ...DomainEvent[]],
  context: Context,
  delayMs: (seconds: number) => number,
  place = 0,
): TransactItem[] {
  if (events.length > limits.events.max_per_commit) {
    throw new Error(`A commit may write ${limits.events.max_per_commit} events, not ${events.length}.`);
  }
  const wake = Date.parse(context.now) + delayMs(limits.events.unpublished_after_seconds);
  const [own = [], ...more] = portions(events.map((event) => JSON.stringify(eventBody(event, context))));
  const outbox: Outbox = {
    id: context.newId("obx"),
    tenant_id: context.tenant_id,
    root_id: events[0].resource.id,
    root_version: events[0].resource.version,
    events: own,
    ...(more.length === 0 ? {} : { parts: more.length }),
    // The events of the commit already have these members.
    ...(context.origin === undefined ? {} : { audit: JSON.stringify(context.origin satisfies WaitingAudit) }),
    ...traced(context),
    created_at: context.now,
    ...(place === 0 ? {} : { place }),
    wake_at: new Date(wake).toISOString(),
  };
  const { id: outbox_id, tenant_id, root_id } = outbox;
  const parts = more.map((texts, at) => ({ tenant_id, root_id, outbox_id, number: at + 1, events: texts }));
  return [putNew(outboxes, outbox), ...parts.map((part) => putNew(outboxParts, part))];
}

/** Audit record of a commit without an event. */
export type UntoldAudit = Required<Pick<WaitingAudit, "resource" | "changes">> & Pick<WaitingAudit, "sealed">;

/** The outbox item of a commit that announces nothing: it brings the audit its entry. */
export function putAudit(
  untold: UntoldAudit,
  origin: Origin,
  context: Pick<Context, "tenant_id" | "actor" | "request_id" | "trace_id" | "now" | "newId">,
  delayMs: (seconds: number) => number,
): TransactItem {
  const { tenant_id, actor, request_id, now } = context;
  const audit: WaitingAudit = { actor, ...origin, at: now, request_id, ...untold };
  const item = { id: context.newId("obx"), tenant_id, root_id: untold.resource.id, created_at: now };
  return auditAlone(audit, { ...item, ...traced(context) }, delayMs);
}

/** The trace of a commit, where there is one. */
function traced({ trace_id }: Pick<Context, "trace_id">): Pick<Outbox, "trace_id"> {
  return trace_id === undefined ? {} : { trace_id };
}

/**
 * The outbox item that brings the audit its entry of a refusal, or of what was given out, or of so many of which this
 * is the first. It is next to no resource, so that what records them needs no right to write where resources are.
 */
export function putRefusal(
  { tenant_id, resource, code, ...call }: PolicyRefusal,
  count: number,
  { now, newId }: Pick<Context, "now" | "newId">,
  delayMs: (seconds: number) => number,
): TransactItem {
  const known = { ...(code === null ? {} : { code }), ...(resource === null ? {} : { resource }) };
  const audit: WaitingAudit = { ...call, ...known, changes: [], count };
  const id = newId("obx");
  return auditAlone(audit, { id, tenant_id, root_id: id, created_at: now }, delayMs);
}

function auditAlone(
  audit: WaitingAudit,
  item: Pick<Outbox, "id" | "tenant_id" | "root_id" | "trace_id" | "created_at">,
  delayMs: (seconds: number) => number,
): TransactItem {
  const wake = Date.parse(item.created_at) + delayMs(limits.events.unpublished_after_seconds);
  const waiting = { root_version: 0, events: [], audit: JSON.stringify(audit), wake_at: new Date(wake).toISOString() };
  return putNew(outboxes, { ...item, ...waiting });
}

/** Texts in their order, as many to an item as it holds. */
function portions(texts: readonly string[]): string[][] {
  const items: string[][] = [];
  let left = 0;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text);
    if (bytes > left) {
      items.push([]);
      left = limits.events.max_item_bytes;
    }
    items.at(-1)?.push(text);
    left -= bytes;
  }
  return items;
}

/** Keys of the parts of an outbox item; none for nearly all. */
export function partKeys({ id: outbox_id, tenant_id, root_id, parts = 0 }: Outbox): Key[] {
  return Array.from({ length: parts }, (_, at) => outboxParts.keyOf({ tenant_id, root_id, outbox_id, number: at + 1 }));
}

/**
 * An event as it waits in the outbox, without the members that follow from the others, which the publisher adds.
 * `client_id` and `account_id` are for the indexes and are not shown.
 */
export interface WaitingEvent {
  readonly client_id: string | null;
  readonly account_id: string | null;
  readonly body: Readonly<Record<string, unknown>> & AuditedEvent & { readonly type: DomainEvent["type"] };
}

function eventBody(event: DomainEvent, context: Context): WaitingEvent {
  return {
    client_id: event.client_id,
    account_id: event.account_id,
    body: {
      type: event.type,
      created_at: context.now,
      environment: context.environment,
      resource: event.resource,
      actor: context.actor,
      request_id: context.request_id,
      data: { object: { ...event.object }, ...(event.previous ? { previous: event.previous } : {}) },
    },
  };
}
