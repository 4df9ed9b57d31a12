import type { Application } from "../domain/records/application.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isRefusal } from "../runtime/verdict.ts";
import { applications } from "../table/entities.ts";
import { isStill, isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";

/**
 * Notes that an application got a token. It asks for one at least every hour while it is in use, so the authorizer,
 * which sees every request, need not write at all; and at most one of its requests in five minutes writes, so no item
 * gets hot. No request waits for a write that fails: the next request does it.
 */
export async function noteUse(application: Application): Promise<void> {
  const { last_used_at: seen, tenant_id, id } = application;
  const now = nowMs();
  if (seen !== null && now - Date.parse(seen) < limits.applications.last_used_seconds * 1000) return;
  const change = {
    set: { last_used_at: new Date(now).toISOString() },
    when: [isStored, ...isStill({ last_used_at: seen })],
  };
  try {
    await changeItem(applications.key(tenant_id, id), change);
  } catch (error) {
    // A request that the rate limit refuses was no use.
    if (isRefusal(error)) return;
    log.warn("The last use of an application could not be stored.", { application_id: id, ...causeOf(error) });
  }
}
