import type { DriftBody } from "../../schema/feed/drift.ts";
import type { SnapshotAccountBody, SnapshotPositionBody } from "../../schema/feed/snapshot.ts";

/** A difference between the books of an account as it is stored. */
export interface Drift extends Omit<DriftBody, "object" | "platform_account" | "_links"> {
  readonly tenant_id: string;
  readonly client_id: string | null;
  readonly platform_account?: PlatformAccount;
  /** Of all positions of the platform's account, where they are an item of their own, {@link DriftPositions}. */
  readonly positions_digest?: string;
  /** Numbers of the account when it was compared: whether it has changed since. */
  readonly balance_seq: number | null;
  readonly pos_version: number | null;
  /**
   * When the adoption of an account is ended, RFC 3339, unless the request has done it: positions that are left are
   * opened, and what was put aside is retried. Absent where nothing is left to do.
   */
  readonly retry_at?: string;
}

/** All positions of a platform's account, where a drift has more than one commit can adopt. Kept next to the drift. */
export interface DriftPositions {
  readonly tenant_id: string;
  readonly drift_id: string;
  readonly positions: readonly SnapshotPositionBody[];
}

/** An account as the platform has it. */
export type TheirSide = Pick<SnapshotAccountBody, "balance" | "credit" | "positions">;

/** An account of a platform with the positions that one commit can adopt. */
export interface PlatformAccount extends TheirSide {
  /** Of all of its positions; absent where these are all. */
  readonly position_count?: number;
}
