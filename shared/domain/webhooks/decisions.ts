import { eventScopes, standardScopes } from "../../event-scopes.ts";
import { limits } from "../../limits.ts";
import type { EventType } from "../../schema/event-types.ts";
import type { CreateWebhookEndpoint, RotateWebhookSecret, UpdateWebhookEndpoint } from "../../schema/webhook.ts";
import { type Context, type FieldError, later, refuse, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import { mergeMetadata } from "../kernel/metadata.ts";
import { refuseOverlap } from "../kernel/overlap.ts";
import type { Change, Decision } from "../records/change.ts";
import type { WebhookCount, WebhookEndpoint, WebhookHealth } from "../records/webhook.ts";
import { urlFault } from "./url.ts";
import { type DrawnSecret, draftHealth, type EndpointRules, inForce, type ShownEndpoint } from "./webhook.ts";

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
      detail: "does not exist in this brokerage",
    })),
  ];
}

function refuseFaults(errors: readonly FieldError[]) {
  return refuse("validation_failed", `${errors.length} field${errors.length === 1 ? "" : "s"} failed validation.`, {
    errors,
  });
}

/**
 * The refusal of an endpoint that would send events of resources which the caller may not read. It stays as it is when
 * the rights of its maker end, as an application does; so who changes where it sends, or what, must hold them.
 */
function refuseUnread(types: WebhookEndpoint["event_types"], { scopes }: Context) {
  const asked = types.flatMap((type) => (type === "*" ? standardScopes : [eventScopes[type as EventType]]));
  const scope = asked.find((each) => !scopes.includes(each));
  if (scope === undefined) return undefined;
  return refuse("insufficient_scope", `The endpoint receives events that require the scope ${scope}.`, {
    extra: { scope },
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
  const unread = refuseUnread(request.event_types, context);
  if (unread !== undefined) return unread;
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

/** Decides `PATCH /webhook_endpoints/{id}`. A patch without a difference changes nothing. */
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
    return refuse("illegal_transition", "An endpoint that the service disabled can only be enabled.", {
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
    // Deliveries under way before are cancelled, and not sent when the endpoint is switched on again.
    wake_at: to === from ? endpoint.wake_at : context.now,
  };
  if (sameValue(merged, endpoint)) return unchanged({ endpoint, health });
  const sent = (one: WebhookEndpoint) => [one.url, one.event_types, one.account_ids, one.group_ids];
  // Of a disabled one too: who enables it later would go by an address that they did not choose.
  const redirects = enables || !sameValue(sent(merged), sent(endpoint));
  const unread = redirects ? refuseUnread(merged.event_types, context) : undefined;
  if (unread !== undefined) return unread;
  const after = { ...merged, updated_at: later(endpoint.updated_at, context.now), version: endpoint.version + 1 };
  const { id } = endpoint;
  // The failures before count no more, or the first one after would switch the endpoint off again. A note about the
  // address before must not come back with that address.
  const renews = enables || after.url !== endpoint.url;
  const fresh = enables ? { ...unproven, ...unharmed } : { ...unproven, closed_until: closedUntilNow(health, context) };
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

/** At a new address an endpoint is open at once. Waiting deliveries still wait for its first success there. */
function closedUntilNow({ closed_until }: WebhookHealth, { now }: Context): string | null {
  return closed_until !== null && closed_until > now ? now : closed_until;
}

/** Decides `DELETE /webhook_endpoints/{id}`: it is no longer returned, and the sweep cancels its open deliveries. */
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

/** Answer to a deletion. */
export function deletedEndpointBody({ id }: WebhookEndpoint) {
  return { id, object: "webhook_endpoint", deleted: true } as const;
}

/**
 * Decides `POST /webhook_endpoints/{id}/rotate_secret`. A rotation without grace always works and ends every older
 * secret. Another one waits while the previous secret signs along: it would leave a receiver that knows only that
 * secret unable to verify.
 */
export function rotateEndpointSecret(
  { endpoint: stored, health }: ShownEndpoint,
  request: RotateWebhookSecret,
  drawn: DrawnSecret,
  context: Context,
): Decision<ShownEndpoint> {
  const endpoint = inForce(stored, health);
  const grace = request.grace_seconds ?? limits.webhooks.previous_secret_seconds;
  const overlapping = refuseOverlap(endpoint, grace, context);
  if (overlapping !== undefined) return overlapping;
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
