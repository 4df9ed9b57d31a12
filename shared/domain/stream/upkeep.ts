import { limits } from "../../limits.ts";
import type { Scope } from "../../schema/scope.ts";
import type { ClosingCode } from "../../schema/stream/server-messages.ts";
import type { StreamConnection } from "./connection.ts";

/** Messages to a connection in one minute because of its age, or why it ends. */
export interface Duty {
  readonly ends?: ClosingCode;
  readonly heartbeat?: true;
  readonly expiring?: true;
}

/**
 * The duty of the sweep of a minute to a connection. `scopes` are those that its holder has now; undefined when its
 * access has ended. A minute is shorter on a local runner with a time scale. The next sweep is a minute away: a
 * connection ends at the last one before its time, at which API Gateway would end it without a message.
 */
export function dutyOf(
  { connected_at, closes_at, scopes: granted }: Pick<StreamConnection, "connected_at" | "closes_at" | "scopes">,
  scopes: readonly Scope[] | undefined,
  { now_ms, minute_ms }: { readonly now_ms: number; readonly minute_ms: number },
): Duty {
  if (scopes === undefined) return { ends: "access_ended" };
  if (granted.some((scope) => !scopes.includes(scope))) return { ends: "access_changed" };
  const left_minutes = (closes_at * 1000 - now_ms) / minute_ms;
  if (left_minutes <= 1) return { ends: "expired" };
  const minutes = Math.floor((now_ms - Date.parse(connected_at)) / minute_ms);
  const isBeat = minutes > 0 && minutes % (limits.stream.heartbeat_seconds / 60) === 0;
  return { ...(isBeat ? { heartbeat: true } : {}), ...(left_minutes <= 2 ? { expiring: true } : {}) };
}
