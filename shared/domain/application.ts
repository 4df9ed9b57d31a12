import { limits } from "../limits.ts";
import type { Scope } from "../schema/scope.ts";
import type { MeBody } from "../schema/service.ts";

/**
 * An API application: who may ask for tokens. The secret is kept as SHA-256; its 256 random bits make a slow hash
 * needless.
 */
export interface Application {
  readonly id: string;
  readonly tenant_id: string;
  readonly environment: "sandbox" | "production";
  readonly name: string;
  readonly client_id: string;
  readonly secret_sha256: string;
  readonly scopes: readonly Scope[];
  readonly allowed_ips: readonly string[];
  readonly status: "active" | "revoked";
  /**
   * Value of the API key that the gateway counts the application by; drawn at the start, it never leaves the service.
   */
  readonly api_key: string;
  /** The gateway's id of that key; null until the key is made and in the plan. Before that no token is given out. */
  readonly api_key_id: string | null;
  /** Set while the gateway's key is to be made or removed; the reconciler finds it by this. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
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
    tenant_id: application.tenant_id,
    environment: application.environment,
    scopes: [...caller.scopes],
    limits: {
      per_minute: limits.rate.per_minute,
      burst: limits.rate.burst_per_second,
      quotes_per_second: limits.rate.quotes_per_second,
    },
    _links: { self: { href: "/v2/me" } },
  };
}

/** Whom `create_application` makes an application for, and what it may do. */
export interface ApplicationRequest {
  readonly tenant_id: string;
  readonly environment: "sandbox" | "production";
  readonly name: string;
  readonly scopes: readonly Scope[];
}

/** Drawn values of a new application; only the hash of the secret is kept. */
export interface ApplicationDraws {
  readonly id: string;
  readonly client_id: string;
  readonly secret_sha256: string;
  readonly api_key: string;
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
    scopes: request.scopes,
    allowed_ips: [],
    status: "active",
    api_key: draws.api_key,
    api_key_id: null,
    wake_at: draws.now,
    created_at: draws.now,
    updated_at: draws.now,
    version: 1,
  };
}
