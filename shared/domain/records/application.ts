import type { Scope } from "../../schema/scope.ts";
import type { Actor } from "../kernel/decision.ts";

/**
 * An API application: who may ask for tokens. A secret is kept as SHA-256; its 256 random bits make a slow hash
 * needless.
 */
export interface Application {
  readonly id: string;
  readonly tenant_id: string;
  readonly environment: "sandbox" | "production";
  readonly name: string;
  readonly client_id: string;
  readonly secret_sha256: string;
  /** Number of the current secret: 1, and one more with every rotation. Tokens are good while their secret is. */
  readonly secret_number: number;
  readonly secret_rotated_at: string | null;
  /** The previous secret, while it works in addition to the current one. */
  readonly previous_secret_sha256: string | null;
  readonly previous_secret_expires_at: string | null;
  /** Its maker; null when a terminal made it. */
  readonly created_by: Actor | null;
  /** Operators who were shown the secrets of these, by their identifiers; absent where there are none. */
  readonly secret_shown_to?: readonly string[];
  readonly previous_secret_shown_to?: readonly string[];
  readonly scopes: readonly Scope[];
  readonly allowed_ips: readonly string[];
  /** Feed sources that it is bound to; absent where it is bound to none. */
  readonly source_ids?: readonly string[];
  readonly status: "active" | "revoked";
  readonly revoked_at: string | null;
  /** The value of the API key that the gateway counts the application by is made from it, see `gatewayKeyOf`. */
  readonly api_key_seed: string;
  /** The gateway's id of that key; null until the key is made and in the plan. Before that no token is given out. */
  readonly api_key_id: string | null;
  /** Set while the gateway's key is to be made or removed; the reconciler finds it by this. */
  readonly wake_at: string | null;
  /** When it last got a token, to a few minutes. Written outside of the version. */
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}
