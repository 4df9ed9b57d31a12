import { sequences } from "./entities.ts";
import { readKeys } from "./store.ts";

/** The number of the last published event of a tenant; 0 before its first. */
export async function lastSequence(tenant: string): Promise<number> {
  const [counter] = await readKeys([sequences.key(tenant)]);
  return (counter as { n?: number } | undefined)?.n ?? 0;
}
