import type { SweepResult } from "./due.ts";
import { applicationRefs } from "./entities.ts";
import { pagesOf } from "./partition.ts";

/**
 * The ids of all brokerages, in pages, each id once: each brokerage has an application from its beginning on, and the
 * reference of a revoked one stays.
 */
async function* everyBrokerage(): AsyncGenerator<readonly string[]> {
  const seen = new Set<string>();
  for await (const { items } of pagesOf(applicationRefs.partition, { attributes: ["owner_tenant_id"] })) {
    const ids = new Set(items.map((item) => String(item["owner_tenant_id"])).filter((id) => !seen.has(id)));
    for (const id of ids) seen.add(id);
    yield [...ids];
  }
}

/** Runs work on all brokerages, page by page, as long as there is time. Returns the sum of what the pages did. */
export async function onEveryBrokerage(
  hasTime: () => boolean,
  work: (tenants: readonly string[]) => Promise<SweepResult>,
): Promise<SweepResult> {
  const total = { done: 0, failed: 0 };
  for await (const tenants of everyBrokerage()) {
    const { done, failed } = await work(tenants);
    total.done += done;
    total.failed += failed;
    if (!hasTime()) break;
  }
  return total;
}
