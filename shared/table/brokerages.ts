import { applicationRefs } from "./entities.ts";
import { pagesOf } from "./partition.ts";

/**
 * The ids of all brokerages, in pages, each id once: each brokerage has an application from its beginning on, and the
 * reference of a revoked one stays.
 */
export async function* everyBrokerage(): AsyncGenerator<readonly string[]> {
  const seen = new Set<string>();
  for await (const { items } of pagesOf(applicationRefs.partition, { attributes: ["owner_tenant_id"] })) {
    const ids = new Set(items.map((item) => String(item["owner_tenant_id"])).filter((id) => !seen.has(id)));
    for (const id of ids) seen.add(id);
    yield [...ids];
  }
}
