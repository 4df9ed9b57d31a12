import { limits } from "../../limits.ts";
import { later } from "../kernel/decision.ts";
import type { Operator } from "../records/operator.ts";

/**
 * Names a sign-in at the user pool: whose it is, and when they showed their credentials. All tokens that come from it
 * have the name, those of other tabs and after a renewal too.
 * @param auth_time claim of the id token (OpenID Connect Core 2), in epoch seconds
 */
export function sessionName(identity_sha256: string, auth_time: number): string {
  return `${identity_sha256.slice(0, limits.exchange.session_identity_characters)}.${auth_time}`;
}

/** Whether a sign-in still counts: its person has not ended it, and the credentials are still those it came from. */
export function sessionLives(
  { identity_sha256, ended_sessions = [] }: Pick<Operator, "identity_sha256" | "ended_sessions">,
  session: string,
): boolean {
  const [identity = ""] = session.split(".");
  if (identity_sha256?.slice(0, limits.exchange.session_identity_characters) !== identity) return false;
  return !ended_sessions.some((ended) => ended.session === session);
}

/**
 * The operator without a session; undefined where it has ended before. Those are forgotten that the pool would have
 * ended by now. Provisioning closes what is open of the stream.
 */
export function withoutSession(operator: Operator, session: string, now: string): Operator | undefined {
  if (!sessionLives(operator, session)) return undefined;
  const { ended_session_kept_seconds, max_ended_sessions } = limits.exchange;
  const since = new Date(Date.parse(now) - ended_session_kept_seconds * 1000).toISOString();
  const kept = (operator.ended_sessions ?? []).filter(({ ended_at }) => ended_at > since);
  return {
    ...operator,
    ended_sessions: [{ session, ended_at: now }, ...kept].slice(0, max_ended_sessions),
    wake_at: now,
    updated_at: later(operator.updated_at, now),
    version: operator.version + 1,
  };
}
