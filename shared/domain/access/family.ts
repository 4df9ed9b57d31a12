import { limits } from "../../limits.ts";
import type { Scope } from "../../schema/scope.ts";
import type { Application } from "../records/application.ts";
import type { Family, RevocationReason } from "../records/family.ts";
import { secretLives } from "./application.ts";

/** A new family for an application that authenticated with one of its secrets. */
export function openFamily(
  grant: { readonly application: Application; readonly scopes: readonly Scope[]; readonly secret_number: number },
  draws: { readonly id: string; readonly nowMs: number },
): Family {
  const { application, scopes, secret_number } = grant;
  const endsMs = draws.nowMs + limits.refresh.family_seconds * 1000;
  const now = isoOf(draws.nowMs);
  return {
    id: draws.id,
    tenant_id: application.tenant_id,
    application_id: application.id,
    client_id: application.client_id,
    environment: application.environment,
    scopes,
    generation: 1,
    rotated_at: now,
    ...lifetimes(draws.nowMs, endsMs),
    ends_at: isoOf(endsMs),
    secret_number,
    created_at: now,
  };
}

/** Decision on a presented refresh token. `rotate`: its successor is made now; `repeat`: it was just made. */
export type RefreshDecision =
  | { readonly kind: "rotate"; readonly after: Family }
  | { readonly kind: "repeat"; readonly family: Family }
  | { readonly kind: "refuse"; readonly revoke?: RevocationReason };

/**
 * Decides on a refresh token, by its number, that an authenticated application presents. Each is good once. Only the
 * one just before the current one gets the current one again, for half a minute: an answer was lost, or two requests
 * met (RFC 9700 4.14.2). Everything older was stolen from somebody, so the family ends, as it does when another
 * application presents the token.
 */
export function decideRefresh(
  family: Family,
  generation: number,
  client: { readonly application: Application; readonly secret_number: number },
  nowMs: number,
): RefreshDecision {
  const { application, secret_number } = client;
  const own = family.application_id === application.id && family.environment === application.environment;
  if (!own) return { kind: "refuse", revoke: "other_client" };
  if (family.revoked_at !== undefined || nowMs >= Date.parse(family.ends_at)) return { kind: "refuse" };
  if (generation === family.generation) {
    if (nowMs >= Date.parse(family.refresh_until)) return { kind: "refuse" };
    const next = { generation: generation + 1, rotated_at: isoOf(nowMs), secret_number };
    return { kind: "rotate", after: { ...family, ...next, ...lifetimes(nowMs, Date.parse(family.ends_at)) } };
  }
  // A number that was not given out yet: the table was restored to an earlier time. It proves no theft.
  if (generation > family.generation) return { kind: "refuse" };
  const graceEndsMs = Date.parse(family.rotated_at) + limits.refresh.grace_seconds * 1000;
  if (generation === family.generation - 1 && nowMs <= graceEndsMs) return { kind: "repeat", family };
  return { kind: "refuse", revoke: "reuse" };
}

/**
 * Whether the access tokens of a family are good: it was not revoked, it belongs to the application, and the client
 * secret behind its last token still works.
 */
export function familyLives(family: Family | undefined, application: Application, nowMs: number): boolean {
  if (family === undefined || family.revoked_at !== undefined) return false;
  if (family.application_id !== application.id || family.environment !== application.environment) return false;
  return secretLives(application, family.secret_number, nowMs);
}

function lifetimes(nowMs: number, endsMs: number): Pick<Family, "refresh_until" | "expires_at"> {
  const untilMs = Math.min(nowMs + limits.refresh.token_seconds * 1000, endsMs);
  const keptSeconds = limits.token.access_lifetime_seconds + limits.token.clock_skew_seconds;
  return { refresh_until: isoOf(untilMs), expires_at: Math.ceil(untilMs / 1000) + keptSeconds };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
