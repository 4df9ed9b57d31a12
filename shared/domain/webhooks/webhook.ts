import type { WebhookEndpointBody } from "../../schema/webhook.ts";
import { type DomainEvent, later } from "../kernel/decision.ts";
import type { WebhookEndpoint, WebhookHealth } from "../records/webhook.ts";

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

/** A replay that is being made: which events go out again, and as which repetition. Gone when all are queued. */
export interface Replay {
  readonly id: string;
  readonly tenant_id: string;
  readonly endpoint_id: string;
  readonly endpoint_epoch: number;
  /** Numbers of the events. */
  readonly sequences: readonly number[];
  /** When it was asked for, in epoch milliseconds: the number of the repetition. */
  readonly redelivery: number;
  /** When the sweep goes on with it, RFC 3339. */
  readonly wake_at: string;
}

/** Members of an event that decide whether an endpoint gets it. */
export interface AnnouncedEvent {
  readonly type: string;
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
  const kind =
    (event_types as readonly string[]).includes(event.type) ||
    (event_types.includes("*") && standard.includes(event.type));
  return kind && passes(account_ids, event.account_id) && passes(group_ids, event.group_id);
}

function passes(filter: readonly string[] | null, value: string | null): boolean {
  return filter === null || (value !== null && filter.includes(value));
}

/** A new endpoint's health: nothing was tried yet. */
export function draftHealth(endpoint: Pick<WebhookEndpoint, "id" | "tenant_id">): WebhookHealth {
  return {
    endpoint_id: endpoint.id,
    tenant_id: endpoint.tenant_id,
    consecutive_failures: 0,
    first_failure_at: null,
    last_failure_at: null,
    last_success_at: null,
    slots: {},
    off: null,
    wake_at: null,
    proven_at: null,
    timeouts_in_a_row: 0,
    closed_until: null,
    probe: null,
    reopened_at: null,
    slot_credit: 0,
  };
}

/**
 * The endpoint as it stands. The worker that calls addresses of customers may not write endpoints, so it notes a
 * switch-off in the health first, which counts from then on: this is what the sweep writes, what everybody is shown,
 * and what every change begins with (ADR 0031).
 */
export function inForce(endpoint: WebhookEndpoint, health: WebhookHealth | undefined): WebhookEndpoint {
  const off = health?.off;
  if (!off || endpoint.status !== "enabled") return endpoint;
  if (off.epoch !== endpoint.epoch || off.url !== endpoint.url) return endpoint;
  return autoDisabled(endpoint, off.reason, off.at);
}

/**
 * The endpoint after the service switched it off: it answered 410, or nothing but failures for days. Deliveries under
 * way are cancelled by the worker that meets them and by the sweep.
 */
export function autoDisabled(endpoint: WebhookEndpoint, reason: string, now: string): WebhookEndpoint {
  return {
    ...endpoint,
    status: "auto_disabled",
    disabled_reason: reason,
    wake_at: now,
    updated_at: later(endpoint.updated_at, now),
    version: endpoint.version + 1,
  };
}

/** An endpoint with how it does; `secret` in clear only when it was made by this very decision. */
export interface ShownEndpoint {
  readonly endpoint: WebhookEndpoint;
  readonly health: WebhookHealth;
  readonly secret?: string;
}

/** A secret that was drawn for an endpoint: in clear to be shown once, and sealed to be stored. */
export interface DrawnSecret {
  readonly plain: string;
  readonly sealed: string;
}

/** Input to a decision about an endpoint besides its state. */
export interface EndpointRules {
  /** The runner on one machine sends to itself. */
  readonly local: boolean;
  /** Places in `account_ids` of accounts that do not exist. */
  readonly unknownAccounts: readonly number[];
}

/** The endpoint as GET shows it. */
export function endpointBody({ endpoint: stored, health }: ShownEndpoint): WebhookEndpointBody {
  const endpoint = inForce(stored, health);
  const { id, url, description, event_types, account_ids, group_ids, disabled_reason, api_version } = endpoint;
  const self = `/v2/webhook_endpoints/${id}`;
  return {
    id,
    object: "webhook_endpoint",
    url,
    description,
    event_types,
    account_ids: [...(account_ids ?? [])],
    group_ids: [...(group_ids ?? [])],
    // A deleted endpoint is not found.
    status: endpoint.status === "deleted" ? "disabled" : endpoint.status,
    disabled_reason,
    api_version,
    previous_secret_expires_at: endpoint.previous_secret_expires_at,
    consecutive_failures: health.consecutive_failures,
    last_success_at: health.last_success_at,
    last_failure_at: health.last_failure_at,
    created_at: endpoint.created_at,
    updated_at: endpoint.updated_at,
    version: endpoint.version,
    metadata: endpoint.metadata,
    _links: { self: { href: self }, deliveries: { href: `${self}/deliveries` } },
  };
}

/** The endpoint with its new secret, which is shown this once. */
export function issuedEndpointBody(shown: ShownEndpoint): WebhookEndpointBody & { secret: string } {
  return { ...endpointBody(shown), secret: shown.secret ?? "" };
}

/** Whether an endpoint is there for its owner. */
export function isThere(endpoint: WebhookEndpoint | undefined): endpoint is WebhookEndpoint {
  return endpoint !== undefined && endpoint.status !== "deleted";
}
