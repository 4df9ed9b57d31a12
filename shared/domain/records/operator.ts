import type { Role } from "../../roles.ts";
import type { OperatorBody } from "../../schema/people/operator.ts";

/** A person who works for a brokerage and signs in through the user pool. */
export interface Operator {
  readonly id: string;
  readonly tenant_id: string;
  /** Trimmed, lower-cased and normalised; unique within the brokerage. */
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** `removed` is final and is shown as not found; the item stays for what names the operator. */
  readonly status: "invited" | "active" | "suspended" | "removed";
  /** Change that one owner proposed for this operator, and another one has to accept; absent or null without one. */
  readonly proposed_change?: OperatorBody["proposed_change"];
  /** A reset of the credentials that one owner proposed, likewise. */
  readonly proposed_reset?: OperatorBody["proposed_reset"];
  /** When they last got a token, to a few minutes. Written outside of the version. */
  readonly last_seen_at: string | null;
  /** Removed operators of the brokerage who had the same email address: the same person, newest first, bounded. */
  readonly former_ids?: readonly string[];
  /**
   * Whether the user of the pool is still to be made, invited again or replaced with new credentials; settled outside
   * of the version.
   */
  readonly pool_state: "pending" | "ready" | "resend" | "reset";
  /** Emails of the last day with one: invitations and resets. */
  readonly mails?: MailsOfDay;
  /** SHA-256 of issuer and subject of the user in the pool; null until it is made, and while it is replaced. */
  readonly identity_sha256: string | null;
  /** Sign-ins of the last hours that the person has ended, newest first, bounded. */
  readonly ended_sessions?: readonly EndedSession[];
  /** Name of the user in the pool, which another email address there does not change; absent until the user is made. */
  readonly pool_subject?: string;
  /** Seals what the audit keeps of the operator; absent after a removal. */
  readonly audit_key?: string;
  /** Set while the user of the pool is to be made, shut out or removed; provisioning finds it by this. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** The API key by which the gateway counts all operators of a brokerage, see `gatewayKeyOf`. */
export interface OperatorKey {
  readonly tenant_id: string;
  /** `opk_…`, the name of the key at the gateway. */
  readonly id: string;
  readonly api_key_seed: string;
  /** The gateway's id of it; null until it is made. Before that no operator gets a token. */
  readonly api_key_id: string | null;
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** Emails that an operator was sent on a day, `2026-11-23` in UTC. */
export interface MailsOfDay {
  readonly day: string;
  readonly count: number;
}

/** A sign-in that its person has ended. */
export interface EndedSession {
  readonly session: string;
  /** RFC 3339. */
  readonly ended_at: string;
}
