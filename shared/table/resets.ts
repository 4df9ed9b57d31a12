import { resets } from "./entities.ts";
import { readAll } from "./store.ts";

/** Whether a reset of the sandbox removes what was there at a time, or has removed it since. */
export async function wasReset(tenant: string, since: string): Promise<boolean> {
  const [reset] = await readAll(resets, [resets.key(tenant)]);
  return reset !== undefined && (reset.status === "running" || reset.updated_at >= since);
}
