import { familyLives } from "../domain/access/family.ts";
import { sessionLives } from "../domain/access/session.ts";
import type { Application } from "../domain/records/application.ts";
import type { Family } from "../domain/records/family.ts";
import type { Operator } from "../domain/records/operator.ts";
import type { StreamConnection } from "../domain/stream/connection.ts";
import { type Duty, dutyOf } from "../domain/stream/upkeep.ts";
import { scopesOf } from "../roles.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import type { Scope } from "../schema/scope.ts";
import { applications, families, operators } from "../table/entities.ts";
import { readEach } from "../table/store.ts";

/**
 * Duties of connections of a brokerage at the sweep of a minute, in their order: their holders are read, and the
 * families of the tokens that they were opened with, each once and all in one call.
 */
export async function dutiesOf(connections: readonly StreamConnection[]): Promise<readonly Duty[]> {
  const holders = connections.map(({ tenant_id, holder: { type, id } }) =>
    type === "operator" ? operators.key(tenant_id, id) : applications.key(tenant_id, id),
  );
  const origins = connections.flatMap(({ tenant_id, family_id }) =>
    family_id === undefined ? [] : [families.key(tenant_id, family_id)],
  );
  const read = holders.length === 0 ? [] : await readEach([...holders, ...origins]);
  // Scopes that cannot be read are unknown: the access ends until they can be read.
  const found = read.map((item) => (item instanceof UnreadableItem ? undefined : item));
  const stored = found.slice(holders.length) as readonly (Family | undefined)[];
  const familyOf = new Map(stored.flatMap((family) => (family === undefined ? [] : [[family.id, family] as const])));
  const times = { now_ms: nowMs(), minute_ms: delayMs(60) };
  return connections.map((connection, at) => {
    const family = familyOf.get(connection.family_id ?? "");
    return dutyOf(connection, scopesNow(connection, found[at], family), times);
  });
}

/** The scopes that the holder of a connection has now; undefined when its access has ended. */
function scopesNow(
  { holder, session = "", source_ids: granted }: StreamConnection,
  stored: unknown,
  family: Family | undefined,
): readonly Scope[] | undefined {
  if (holder.type === "operator") {
    const operator = stored as Operator | undefined;
    const isIn = operator?.status === "active" && sessionLives(operator, session);
    return isIn ? scopesOf(operator.role, env.stage) : undefined;
  }
  const application = stored as Application | undefined;
  if (application?.status !== "active") return undefined;
  if (family?.revoked_at !== undefined) return undefined;
  // The token ended with its secret, and allows nothing: a client that has the new one may connect again.
  if (family !== undefined && !familyLives(family, application, nowMs())) return [];
  const { scopes, source_ids: bound } = application;
  // A source that it was bound to since then is not open to its connection.
  return bound === undefined || granted?.every((id) => bound.includes(id)) ? scopes : [];
}
