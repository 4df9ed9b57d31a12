import type { Scope } from "../../schema/scope.ts";

/** Why a family ended before its time. */
export type RevocationReason = "reuse" | "other_client" | "request";

/**
 * A chain of refresh tokens from one grant, each used once, and the access tokens that came with them. The tokens are
 * derived from the family and their number in it, so none of them is stored (ADR 0006).
 */
export interface Family {
  readonly id: string;
  readonly tenant_id: string;
  readonly application_id: string;
  readonly client_id: string;
  readonly environment: "sandbox" | "production";
  /** Scopes of the first grant; no later token of the family has more. */
  readonly scopes: readonly Scope[];
  /** Number of the refresh token that is good now; the first one is 1. */
  readonly generation: number;
  /** When that one took the place of the one before. */
  readonly rotated_at: string;
  /** Until when that one is good. */
  readonly refresh_until: string;
  /** When the family ends, however often it is refreshed. */
  readonly ends_at: string;
  /** Number of the client secret that the last of its tokens was given for. */
  readonly secret_number: number;
  readonly created_at: string;
  /** Absent while the family lives. */
  readonly revoked_at?: string;
  readonly revoked_for?: RevocationReason;
  /** Epoch seconds; by then its last access token has expired. */
  readonly expires_at: number;
}
