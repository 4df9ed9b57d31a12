import type { StreamFlag } from "../domain/stream/connection.ts";
import { looksByItself } from "../domain/stream/pace.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { countMetric, log } from "../runtime/log.ts";
import { sendStreamWakes } from "../runtime/stream-queue.ts";
import { streamFlags } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";

/** The flags of brokerages as they were read a moment ago, those without connections included. */
const known = new Map<string, { readonly at: number; readonly flag: StreamFlag | undefined }>();

/**
 * Wakes the worker of the stream for sets with connections that follow prices, of tenants whose prices have moved, unless
 * a run looks at the set by itself. Whether a tenant has such connections is read at most once in
 * `limits.stream.flag_remembered_ms`. What fails is no error of the margin watch: the next price wakes the sets.
 */
export async function wakeStreams(tenants: ReadonlySet<string>): Promise<void> {
  try {
    const flags = await flagsOf([...tenants]);
    const now = nowMs();
    const wakes = flags.flatMap((flag) =>
      Object.entries(flag.sets).flatMap(([set, state]) =>
        state.prices === undefined || looksByItself(state, now)
          ? []
          : [{ tenant_id: flag.tenant_id, set: Number(set), cause: "prices" } as const],
      ),
    );
    if (wakes.length > 0) await sendStreamWakes(wakes);
  } catch (error) {
    countMetric("StreamWakeFailed");
    log.error("Connections wait for the next price: their sets were not woken.", { error: (error as Error).name });
  }
}

async function flagsOf(tenants: readonly string[]): Promise<StreamFlag[]> {
  const at = nowMs();
  const unknown = tenants.filter((tenant) => at - (known.get(tenant)?.at ?? 0) >= limits.stream.flag_remembered_ms);
  const read = unknown.length === 0 ? [] : await readKeys(unknown.map((tenant) => streamFlags.key(tenant)));
  for (const [place, tenant] of unknown.entries()) remember(tenant, at, read[place] as StreamFlag | undefined);
  return tenants.flatMap((tenant) => known.get(tenant)?.flag ?? []);
}

function remember(tenant: string, at: number, flag: StreamFlag | undefined): void {
  known.delete(tenant);
  if (known.size >= limits.trading.symbols_cached_tenants) known.delete([...known.keys()][0] ?? "");
  known.set(tenant, { at, flag });
}
