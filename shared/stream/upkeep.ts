import type { Application } from "../domain/application.ts";
import type { Operator } from "../domain/people/operator.ts";
import type { StreamConnection } from "../domain/stream/connection.ts";
import { type Duty, dutyOf } from "../domain/stream/upkeep.ts";
import { roleScopes } from "../roles.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import type { Scope } from "../schema/scope.ts";
import { applications, operators } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";

/**
 * What is due to connections of a brokerage at the sweep of a minute, in their order: their holders are read, each
 * once and all in one call.
 */
export async function dutiesOf(connections: readonly StreamConnection[]): Promise<readonly Duty[]> {
  const keys = connections.map(({ tenant_id, holder: { type, id } }) =>
    type === "operator" ? operators.key(tenant_id, id) : applications.key(tenant_id, id),
  );
  const holders = keys.length === 0 ? [] : await readKeys(keys);
  const times = { now_ms: nowMs(), minute_ms: delayMs(60) };
  return connections.map((connection, at) => dutyOf(connection, scopesOf(connection, holders[at]), times));
}

/** The scopes that the holder of a connection has now; undefined when its access has ended. */
function scopesOf({ holder }: StreamConnection, stored: unknown): readonly Scope[] | undefined {
  if (holder.type === "operator") {
    const operator = stored as Operator | undefined;
    return operator?.status === "active" ? roleScopes[operator.role] : undefined;
  }
  const application = stored as Application | undefined;
  return application?.status === "active" ? application.scopes : undefined;
}
