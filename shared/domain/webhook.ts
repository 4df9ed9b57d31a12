import { limits } from "../limits.ts";
import type {
  CreateWebhookEndpoint,
  RotateWebhookSecret,
  UpdateWebhookEndpoint,
  WebhookEndpointBody,
} from "../schema/webhook.ts";
import {
  type Change,
  type Context,
  type Decision,
  type DomainEvent,
  type FieldError,
  later,
  refuse,
  unchanged,
} from "./decision.ts";
import { sameValue } from "./equality.ts";
import { mergeMetadata } from "./metadata.ts";
import { urlFault } from "./webhook-url.ts";

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
  /** What the deliverer found, until the sweep has written it on the endpoint; see {@link inForce}. */
  readonly off: SwitchOff | null;
  /** When the sweep looks at that note or at `reopened_at`, RFC 3339; null without either. */
  readonly wake_at: string | null;
  // What follows came later: health that was stored before it has none of it, which means null or 0.
  /** The last success at the present address; null before the first one there. Without it `last_success_at` counts. */
  readonly proven_at?: string | null;
  /** Unanswered attempts since then, while the endpoint was unproven. */
  readonly timeouts_in_a_row?: number;
  /** Nothing is sent before, RFC 3339; it stays until a success, which wakes what rests (ADR 0031). */
  readonly closed_until?: string | null;
  /** The one delivery of an unproven endpoint that is in the unproven lane. */
  readonly probe?: Probe | null;
  /** When an endpoint that was closed accepted something, until the sweep has woken what rests; RFC 3339. */
  readonly reopened_at?: string | null;
}

/** A delivery that is let into the unproven lane, and when it gives way to another, RFC 3339. */
export interface Probe {
  readonly delivery_id: string;
  readonly until: string;
}

/** That an endpoint is to be off, with what of it was judged: switched on anew or moved, it is another one. */
export interface SwitchOff {
  readonly epoch: number;
  readonly url: string;
  readonly reason: string;
  /** RFC 3339. */
  readonly at: string;
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

/** What of an event decides whether an endpoint gets it. */
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
export function draftHealth(endpoint: WebhookEndpoint): WebhookHealth {
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
  };
}

/**
 * The endpoint as it stands. Who speaks to addresses of customers may not write endpoints, so that an endpoint is to be
 * off is noted beside it first, and counts from then on: this is what the sweep writes, what everybody is shown, and
 * what every change begins with (ADR 0018).
 */
export function inForce(endpoint: WebhookEndpoint, health: WebhookHealth | undefined): WebhookEndpoint {
  const off = health?.off;
  if (!off || endpoint.status !== "enabled") return endpoint;
  if (off.epoch !== endpoint.epoch || off.url !== endpoint.url) return endpoint;
  return autoDisabled(endpoint, off.reason, off.at);
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

/** What a decision about an endpoint must know of the world. */
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
    // A deleted endpoint is found by nobody.
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

function faultsOf(
  request: { readonly url?: string | undefined },
  { local, unknownAccounts }: EndpointRules,
): readonly FieldError[] {
  const fault = request.url === undefined ? undefined : urlFault(request.url, local);
  return [
    ...(fault === undefined ? [] : [{ pointer: "#/url", code: "invalid_url", detail: fault }]),
    ...unknownAccounts.map((place) => ({
      pointer: `#/account_ids/${place}`,
      code: "account_not_found",
      detail: "is no account of the brokerage",
    })),
  ];
}

function refuseFaults(errors: readonly FieldError[]) {
  return refuse("validation_failed", `${errors.length} field${errors.length === 1 ? "" : "s"} failed validation.`, {
    errors,
  });
}

/** A filter without entries lets everything through, as none does. */
function filterOf(words: readonly string[] | null | undefined): readonly string[] | null {
  return words === undefined || words === null || words.length === 0 ? null : [...new Set(words)];
}

/** Decides `POST /webhook_endpoints`. The count changes on a condition, so the bound holds for any number at once. */
export function openEndpoint(
  request: CreateWebhookEndpoint,
  count: WebhookCount | undefined,
  drawn: DrawnSecret & { readonly id: string },
  rules: EndpointRules,
  context: Context,
): Decision<ShownEndpoint> {
  const faults = faultsOf(request, rules);
  if (faults.length > 0) return refuseFaults(faults);
  const { max_endpoints } = limits.webhooks;
  if ((count?.endpoints ?? 0) >= max_endpoints) {
    return refuse("too_many_webhook_endpoints", `A brokerage has at most ${max_endpoints} webhook endpoints.`);
  }
  const endpoint: WebhookEndpoint = {
    id: drawn.id,
    tenant_id: context.tenant_id,
    url: request.url,
    description: request.description ?? null,
    event_types: [...new Set(request.event_types)],
    account_ids: filterOf(request.account_ids),
    group_ids: filterOf(request.group_ids),
    status: "enabled",
    disabled_reason: null,
    api_version: "v2",
    epoch: 1,
    secret: drawn.sealed,
    previous_secret: null,
    previous_secret_expires_at: null,
    wake_at: null,
    metadata: request.metadata ?? {},
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
  const health = draftHealth(endpoint);
  const tenant_id = context.tenant_id;
  const counted: Change =
    count === undefined
      ? { op: "create", entity: "webhook_count", item: { tenant_id, endpoints: 1 } satisfies WebhookCount }
      : {
          op: "adjust",
          entity: "webhook_count",
          id: tenant_id,
          add: { endpoints: 1 },
          require: [{ attribute: "endpoints", is: "below", value: max_endpoints }],
        };
  return {
    ok: true,
    result: { endpoint, health, secret: drawn.plain },
    changes: [
      { op: "create", entity: "webhook", item: endpoint },
      { op: "create", entity: "webhook_health", item: health },
      counted,
    ],
    events: [],
  };
}

/** Decides `PATCH /webhook_endpoints/{id}`. What is already so changes nothing. */
export function amendEndpoint(
  { endpoint: stored, health }: ShownEndpoint,
  patch: UpdateWebhookEndpoint,
  rules: EndpointRules,
  context: Context,
): Decision<ShownEndpoint> {
  const faults = faultsOf(patch, rules);
  if (faults.length > 0) return refuseFaults(faults);
  const endpoint = inForce(stored, health);
  const { status: from } = endpoint;
  const to = patch.status ?? from;
  if (from === "auto_disabled" && to === "disabled") {
    return refuse("illegal_transition", "An endpoint that the service switched off can only be enabled.", {
      extra: { allowed: ["enabled"] },
    });
  }
  const metadata = mergeMetadata(endpoint.metadata, patch.metadata ?? {});
  if (!metadata.ok) return metadata;
  const enables = to === "enabled" && from !== "enabled";
  const merged: WebhookEndpoint = {
    ...endpoint,
    url: patch.url ?? endpoint.url,
    description: patch.description === undefined ? endpoint.description : patch.description,
    event_types: patch.event_types === undefined ? endpoint.event_types : [...new Set(patch.event_types)],
    account_ids: patch.account_ids === undefined ? endpoint.account_ids : filterOf(patch.account_ids),
    group_ids: patch.group_ids === undefined ? endpoint.group_ids : filterOf(patch.group_ids),
    metadata: metadata.result,
    status: to,
    disabled_reason: enables ? null : endpoint.disabled_reason,
    epoch: enables ? endpoint.epoch + 1 : endpoint.epoch,
    // What was on its way before is cancelled, and not sent when the endpoint is switched on again.
    wake_at: to === from ? endpoint.wake_at : context.now,
  };
  if (sameValue(merged, endpoint)) return unchanged({ endpoint, health });
  const after = { ...merged, updated_at: later(endpoint.updated_at, context.now), version: endpoint.version + 1 };
  const { id } = endpoint;
  // The failures before count no more, or the first one after would switch the endpoint off again. A note about the
  // address before must not come back with that address.
  const renews = enables || after.url !== endpoint.url;
  const fresh = enables ? { ...unproven, ...unharmed } : { ...unproven, closed_until: opened(health, context) };
  return {
    ok: true,
    result: { endpoint: after, health: renews ? { ...health, ...fresh } : health },
    changes: [
      { op: "update", entity: "webhook", before: stored, after },
      ...(renews ? [{ op: "adjust", entity: "webhook_health", id, set: fresh, require: [] } satisfies Change] : []),
    ],
    events: [],
  };
}

/** Nothing is known of how the endpoint does, and no note about it counts any more. */
const unproven = {
  off: null,
  proven_at: null,
  timeouts_in_a_row: 0,
  closed_until: null,
  probe: null,
} as const;

const unharmed = { consecutive_failures: 0, first_failure_at: null, reopened_at: null } as const;

/** At a new address an endpoint is open at once. What rests still waits for its first success there. */
function opened({ closed_until = null }: WebhookHealth, { now }: Context): string | null {
  return closed_until !== null && closed_until > now ? now : closed_until;
}

/** Decides `DELETE /webhook_endpoints/{id}`: nobody finds it any more; the sweep cancels what was on its way. */
export function deleteEndpoint(
  stored: WebhookEndpoint,
  health: WebhookHealth | undefined,
  context: Context,
): Decision<WebhookEndpoint> {
  const { now, tenant_id } = context;
  const endpoint = inForce(stored, health);
  const after: WebhookEndpoint = {
    ...endpoint,
    status: "deleted",
    wake_at: now,
    updated_at: later(endpoint.updated_at, now),
    version: endpoint.version + 1,
  };
  return {
    ok: true,
    result: after,
    changes: [
      { op: "update", entity: "webhook", before: stored, after },
      { op: "adjust", entity: "webhook_count", id: tenant_id, add: { endpoints: -1 }, require: [] },
    ],
    events: [],
  };
}

/** What the answer to a deletion shows. */
export function deletedEndpointBody({ id }: WebhookEndpoint) {
  return { id, object: "webhook_endpoint", deleted: true } as const;
}

/**
 * Decides `POST /webhook_endpoints/{id}/rotate_secret`. While the secret before signs along there is no second
 * rotation: it would leave a receiver that knows only the first secret unable to verify.
 */
export function rotateEndpointSecret(
  { endpoint: stored, health }: ShownEndpoint,
  request: RotateWebhookSecret,
  drawn: DrawnSecret,
  context: Context,
): Decision<ShownEndpoint> {
  const endpoint = inForce(stored, health);
  const until = endpoint.previous_secret_expires_at;
  if (until !== null && until > context.now) {
    return refuse("secret_rotation_in_progress", `The secret before signs along until ${until}; rotate after that.`, {
      extra: { previous_secret_expires_at: until },
    });
  }
  const grace = request.grace_seconds ?? limits.webhooks.previous_secret_seconds;
  const ends = new Date(Date.parse(context.now) + grace * 1000).toISOString();
  const after: WebhookEndpoint = {
    ...endpoint,
    secret: drawn.sealed,
    previous_secret: grace === 0 ? null : endpoint.secret,
    previous_secret_expires_at: grace === 0 ? null : ends,
    updated_at: later(endpoint.updated_at, context.now),
    version: endpoint.version + 1,
  };
  return {
    ok: true,
    result: { endpoint: after, health, secret: drawn.plain },
    changes: [{ op: "update", entity: "webhook", before: stored, after }],
    events: [],
  };
}
