import type { WebhookEndpointBody } from "../schema/webhook.ts";
import type { DomainEvent } from "./decision.ts";

/** A webhook endpoint as it is stored. */
export interface WebhookEndpoint
  extends Pick<
    WebhookEndpointBody,
    | "id"
    | "url"
    | "description"
    | "event_types"
    | "disabled_reason"
    | "api_version"
    | "previous_secret_expires_at"
    | "metadata"
    | "created_at"
    | "updated_at"
    | "version"
  > {
  readonly tenant_id: string;
  /** Only events of these accounts; null lets every event through. */
  readonly account_ids: readonly string[] | null;
  /** Only events of accounts in these groups; null lets every event through. */
  readonly group_ids: readonly string[] | null;
  /** A deleted endpoint is nobody's any more; its item goes when what was on its way to it is cancelled. */
  readonly status: WebhookEndpointBody["status"] | "deleted";
  /** Rises whenever the endpoint is switched on again: what was on its way before is not sent any more. */
  readonly epoch: number;
  /** The secret, sealed with the service key. */
  readonly secret: string;
  /** The secret before the last rotation, sealed; it signs along until `previous_secret_expires_at`. */
  readonly previous_secret: string | null;
  /** Set while deliveries are to be cancelled; the sweep finds the endpoint by this. */
  readonly wake_at: string | null;
}

/** How an endpoint does; beside it, because on it its version would rise with every delivery. */
export interface WebhookHealth {
  readonly endpoint_id: string;
  readonly tenant_id: string;
  readonly consecutive_failures: number;
  readonly first_failure_at: string | null;
  readonly last_failure_at: string | null;
  readonly last_success_at: string | null;
  /** Deliveries that are being attempted: when the lease of each ends, RFC 3339. */
  readonly slots: Readonly<Record<string, string>>;
}

/** How many endpoints a tenant has; an item of its own, so that the bound holds for any number of requests at once. */
export interface WebhookCount {
  readonly tenant_id: string;
  readonly endpoints: number;
}

/** The bytes of a sample that `test` sends; it has no sequence and is in no list. */
export interface SampleEvent {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: DomainEvent["type"];
  readonly created_at: string;
  readonly payload: string;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** What of an event decides whether an endpoint gets it. */
export interface AnnouncedEvent {
  readonly type: DomainEvent["type"];
  readonly account_id: string | null;
  /** Group of that account; null when there is none. */
  readonly group_id: string | null;
}

/**
 * Whether an endpoint gets an event: it is enabled, subscribes to the kind (`*` is the nine kinds; the others by name
 * only), and the account of the event passes every filter that is set.
 */
export function subscribes(endpoint: WebhookEndpoint, event: AnnouncedEvent, standard: readonly string[]): boolean {
  const { status, event_types, account_ids, group_ids } = endpoint;
  if (status !== "enabled") return false;
  const kind = event_types.includes(event.type) || (event_types.includes("*") && standard.includes(event.type));
  return kind && passes(account_ids, event.account_id) && passes(group_ids, event.group_id);
}

function passes(filter: readonly string[] | null, value: string | null): boolean {
  return filter === null || (value !== null && filter.includes(value));
}

/** A new endpoint's health: nothing was tried yet. */
export function draftHealth(endpoint: WebhookEndpoint): WebhookHealth {
  return {
    endpoint_id: endpoint.id,
    tenant_id: endpoint.tenant_id,
    consecutive_failures: 0,
    first_failure_at: null,
    last_failure_at: null,
    last_success_at: null,
    slots: {},
  };
}

/**
 * The endpoint after the service switched it off: it answered 410, or nothing but failures for days. What is on its way
 * is cancelled by whoever meets it and by the sweep.
 */
export function autoDisabled(endpoint: WebhookEndpoint, reason: string, now: string): WebhookEndpoint {
  return {
    ...endpoint,
    status: "auto_disabled",
    disabled_reason: reason,
    wake_at: now,
    updated_at: now,
    version: endpoint.version + 1,
  };
}
