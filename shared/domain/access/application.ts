import { limits } from "../../limits.ts";
import type {
  ApplicationBody,
  CreateApplication,
  IssuedApplicationBody,
  RotateSecret,
  UpdateApplication,
} from "../../schema/application.ts";
import type { Scope } from "../../schema/scope.ts";
import type { MeBody } from "../../schema/service.ts";
import { type Actor, type Context, later, refuse, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import { refuseOverlap } from "../kernel/overlap.ts";
import type { Application } from "../records/application.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Tenant } from "../records/tenant.ts";
import { peopleOf } from "./person.ts";
import { boundTo, type NamedSources, refuseBound } from "./source-binding.ts";

/** An application and its new secret: the one time that it is shown. */
export interface IssuedApplication {
  readonly application: Application;
  readonly secret: string;
}

/** The application as GET shows it. */
export function applicationBody(application: Application): ApplicationBody {
  const { id, name, environment, client_id, scopes, allowed_ips, status, secret_rotated_at, last_used_at } =
    application;
  return {
    id,
    object: "application",
    name,
    environment,
    client_id,
    scopes: [...scopes],
    allowed_ips: [...allowed_ips],
    source_ids: [...(application.source_ids ?? [])],
    status,
    revoked_at: application.revoked_at,
    access_token_ttl: limits.token.access_lifetime_seconds,
    refresh_token_ttl: limits.refresh.token_seconds,
    secret_rotated_at,
    previous_secret_expires_at: application.previous_secret_expires_at,
    last_used_at,
    created_by: application.created_by,
    operator_ids: operatorsBehind(application),
    rate: rateBody(),
    created_at: application.created_at,
    updated_at: application.updated_at,
    version: application.version,
    _links: { self: { href: `/v2/applications/${id}` } },
  };
}

/**
 * The operators whom the application acts for, by their identifiers: its maker, and those who were shown a secret of
 * it. Those of the previous one stay until the next rotation, whether its overlap has ended or not.
 */
export function operatorsBehind(application: Application): string[] {
  const { created_by, secret_shown_to = [], previous_secret_shown_to = [] } = application;
  const makers = created_by ? peopleOf(created_by) : [];
  return [...new Set([...makers, ...secret_shown_to, ...previous_secret_shown_to])];
}

/** The application as an actor, with the people behind it. */
export function applicationActor(application: Application): Actor {
  const operator_ids = operatorsBehind(application);
  const { id, name } = application;
  return { type: "application", id, name, ...(operator_ids.length > 0 && { operator_ids }) };
}

/** The application with its new secret. */
export function issuedApplicationBody({ application, secret }: IssuedApplication): IssuedApplicationBody {
  return { ...applicationBody(application), client_secret: secret };
}

/** `GET /me`: the application behind a token, with the scopes that this very token holds. */
export function callerBody(application: Application, caller: { readonly scopes: readonly Scope[] }): MeBody {
  return {
    object: "caller",
    application: {
      id: application.id,
      name: application.name,
      client_id: application.client_id,
      status: application.status,
    },
    operator: null,
    tenant_id: application.tenant_id,
    environment: application.environment,
    scopes: [...caller.scopes],
    limits: rateBody(),
    _links: { self: { href: "/v2/me" } },
  };
}

function rateBody(): MeBody["limits"] {
  return {
    per_minute: limits.rate.per_minute,
    burst: limits.rate.burst_per_second,
    quotes_per_second: limits.rate.quotes_per_second,
  };
}

/** The tenant of a new application, and what it may do. */
export interface ApplicationRequest {
  readonly tenant_id: string;
  readonly environment: "sandbox" | "production";
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly allowed_ips: readonly string[];
  readonly source_ids?: readonly string[];
  /** The caller, where it is not a terminal. */
  readonly created_by?: Actor;
}

/** Drawn values of a new application; only the hash of the secret is kept. */
export interface ApplicationDraws {
  readonly id: string;
  readonly client_id: string;
  readonly secret_sha256: string;
  readonly api_key_seed: string;
  readonly now: string;
}

/** A new application that waits for its API key. */
export function draftApplication(request: ApplicationRequest, draws: ApplicationDraws): Application {
  return {
    id: draws.id,
    tenant_id: request.tenant_id,
    environment: request.environment,
    name: request.name,
    client_id: draws.client_id,
    secret_sha256: draws.secret_sha256,
    secret_number: 1,
    secret_rotated_at: null,
    previous_secret_sha256: null,
    previous_secret_expires_at: null,
    created_by: request.created_by ?? null,
    scopes: inOrder(request.scopes),
    allowed_ips: request.allowed_ips,
    ...boundTo(request.source_ids),
    status: "active",
    revoked_at: null,
    api_key_seed: draws.api_key_seed,
    api_key_id: null,
    wake_at: draws.now,
    last_used_at: null,
    created_at: draws.now,
    updated_at: draws.now,
    version: 1,
  };
}

/** A secret that was just drawn, and what of it is kept. */
export interface DrawnSecret {
  readonly secret: string;
  readonly sha256: string;
}

/** Decides `POST /applications`. No token grants a scope that it lacks; a tenant has a bounded number. */
export function registerApplication(
  request: CreateApplication,
  { tenant, sources }: { readonly tenant: Pick<Tenant, "applications">; readonly sources: NamedSources },
  drawn: DrawnSecret & Pick<ApplicationDraws, "client_id" | "api_key_seed">,
  context: Context,
): Decision<IssuedApplication> {
  const { name, scopes, allowed_ips = [], source_ids = [] } = request;
  const refusal = lackedScope(scopes, context) ?? refuseBound(source_ids, sources, { scopes, source_ids });
  if (refusal !== undefined) return refusal;
  const { max_active } = limits.applications;
  if (tenant.applications >= max_active) {
    const detail = `A brokerage may have at most ${max_active} applications that are not revoked.`;
    return refuse("too_many_applications", detail);
  }
  const { tenant_id, environment, now } = context;
  const application = draftApplication(
    { tenant_id, environment, name, scopes, allowed_ips: distinct(allowed_ips), source_ids, created_by: context.actor },
    {
      id: context.newId("app"),
      client_id: drawn.client_id,
      secret_sha256: drawn.sha256,
      api_key_seed: drawn.api_key_seed,
      now,
    },
  );
  const { id, client_id } = application;
  return {
    ok: true,
    result: { application, secret: drawn.secret },
    changes: [
      { op: "create", entity: "application", item: application },
      { op: "create", entity: "application_ref", item: { client_id, application_id: id, owner_tenant_id: tenant_id } },
      countApplications(tenant_id, 1),
    ],
    events: [],
  };
}

/**
 * Decides `PATCH /applications/{id}`. A patch that says what is already so changes nothing. The caller must hold every
 * scope that the application has before and after: else one that holds less could open one that holds more, or shut it
 * out of its addresses.
 */
export function amendApplication(
  application: Application,
  patch: UpdateApplication,
  sources: NamedSources,
  context: Context,
): Decision<Application> {
  const scopes = patch.scopes === undefined ? application.scopes : inOrder(patch.scopes);
  const allowed = patch.allowed_ips === undefined ? application.allowed_ips : distinct(patch.allowed_ips ?? []);
  const { source_ids: bound = [], ...others } = application;
  const source_ids = patch.source_ids === undefined ? bound : (patch.source_ids ?? []);
  const name = patch.name ?? application.name;
  const merged: Application = { ...others, name, scopes, allowed_ips: allowed, ...boundTo(source_ids) };
  if (sameValue(merged, application)) return unchanged(application);
  const lacked = lackedScope([...application.scopes, ...scopes], context);
  const refusal = lacked ?? refuseBound(patch.source_ids ?? [], sources, { scopes, source_ids });
  if (refusal !== undefined) return refusal;
  if (application.status === "revoked") return refuseRevoked();
  return changeApplication(application, merged, context);
}

/**
 * Decides `DELETE /applications/{id}`: final, and the gateway's key goes with it. A repeat changes nothing. The caller
 * must hold its scopes: it may be one that more depends on than they may do.
 */
export function revokeApplication(application: Application, context: Context): Decision<Application> {
  if (application.status === "revoked") return unchanged(application);
  const lacked = lackedScope(application.scopes, context);
  if (lacked !== undefined) return lacked;
  const moment = later(application.updated_at, context.now);
  const revoked: Application = {
    ...application,
    status: "revoked",
    revoked_at: moment,
    previous_secret_sha256: null,
    previous_secret_expires_at: null,
    wake_at: context.now,
  };
  const decision = changeApplication(application, revoked, context);
  return { ...decision, changes: [...decision.changes, countApplications(application.tenant_id, -1)] };
}

/**
 * Decides `POST /applications/{id}/rotate_secret`. The secret of an application is worth all its scopes, so who asks
 * for a new one must hold them. A rotation without grace always works and ends every older secret. Another one waits
 * while the secret before still works: it would end that overlap early.
 */
export function rotateSecret(
  application: Application,
  request: RotateSecret,
  drawn: DrawnSecret,
  context: Context,
): Decision<IssuedApplication> {
  const lacked = lackedScope(application.scopes, context);
  if (lacked !== undefined) return lacked;
  if (application.status === "revoked") return refuseRevoked();
  const grace = request.grace_seconds ?? limits.applications.default_grace_seconds;
  const overlapping = refuseOverlap(application, grace, context);
  if (overlapping !== undefined) return overlapping;
  const moment = later(application.updated_at, context.now);
  const overlap = {
    previous_secret_sha256: application.secret_sha256,
    previous_secret_expires_at: new Date(Date.parse(context.now) + grace * 1000).toISOString(),
  };
  const none = { previous_secret_sha256: null, previous_secret_expires_at: null };
  const after: Application = {
    ...application,
    secret_sha256: drawn.sha256,
    secret_number: application.secret_number + 1,
    secret_rotated_at: moment,
    ...shownTo(application, grace, context),
    ...(grace > 0 ? overlap : none),
  };
  const decision = changeApplication(application, after, context);
  return { ...decision, result: { application: decision.result, secret: drawn.secret } };
}

/** People who know the secrets after a rotation: those behind the caller know the new one. */
function shownTo({ secret_shown_to: before = [] }: Application, grace: number, { actor }: Context) {
  return { secret_shown_to: peopleOf(actor), previous_secret_shown_to: grace > 0 ? before : [] };
}

/** Whether the secret of this number works: it is the current one, or the one before within the overlap. */
export function secretLives(application: Application, secretNumber: number, nowMs: number): boolean {
  if (secretNumber === application.secret_number) return true;
  const { previous_secret_expires_at: until } = application;
  return secretNumber === application.secret_number - 1 && until !== null && nowMs < Date.parse(until);
}

function changeApplication(before: Application, changed: Application, context: Context) {
  const updated = { updated_at: later(before.updated_at, context.now), version: before.version + 1 };
  const after: Application = { ...changed, ...updated };
  const changes: Change[] = [{ op: "update", entity: "application", before, after }];
  return { ok: true, result: after, changes, events: [] } as const;
}

/** Counted at the tenant, without its version: applications that are not revoked. */
function countApplications(tenant: string, by: 1 | -1): Change {
  const most = { attribute: "applications", is: "below", value: limits.applications.max_active } as const;
  return { op: "adjust", entity: "tenant", id: tenant, add: { applications: by }, require: by === 1 ? [most] : [] };
}

/** A refusal of a caller that lacks one of these scopes, or may not pass it on. */
function lackedScope(granted: readonly Scope[], { scopes }: Context) {
  const lacked = inOrder(granted).filter((scope) => !scopes.includes(scope));
  if (lacked.length === 0) return undefined;
  return refuse("insufficient_scope", `The token itself lacks ${lacked.join(", ")}.`, { extra: { scope: lacked[0] } });
}

function refuseRevoked(): ReturnType<typeof refuse> {
  return refuse("application_revoked", "The application was revoked, which is final.");
}

function inOrder(scopes: readonly Scope[]): readonly Scope[] {
  return [...new Set(scopes)].sort();
}

function distinct(ranges: readonly string[]): readonly string[] {
  return [...new Set(ranges)];
}
