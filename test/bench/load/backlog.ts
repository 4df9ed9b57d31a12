import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { decodeTime } from "ulid";
import type { Cloud } from "../../../infra/local/cloud.ts";
import { type RawValue, scanTable } from "../../support/emulator/raw-table.ts";
import { endpointIdsOf } from "../../support/oracles/event-items.ts";
import { tableClient, tableNameOf } from "../../support/stack/cloud-tables.ts";
import type { MemorySample } from "./figures.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Number of waiting items, and the age of the oldest. */
export interface Waiting {
  readonly count: number;
  readonly oldest_ms: number;
}

/** Items that wait to be published, and to be delivered; an event whose deliveries are not stored yet is one. */
export interface Backlog {
  readonly outbox: Waiting;
  readonly deliveries: Waiting;
}

/** Reads the whole table for what waits in it. */
export async function backlogOf(cloud: Cloud): Promise<Backlog> {
  const client = tableClient(cloud);
  try {
    const items = await scanTable({ client, tableName: tableNameOf(cloud, "main") });
    const now = Date.now();
    const waiting = (bornMs: readonly number[]) => ({
      count: bornMs.length,
      oldest_ms: bornMs.length === 0 ? 0 : now - Math.min(...bornMs),
    });
    const outbox = items.filter(({ et }) => et === "OUTBOX").map(({ sk }) => decodeTime(String(sk).slice(-26)));
    const stored = new Set(
      items.flatMap((item) => (item["et"] === "DELIVERY" ? [pairOf(item["event_id"], item["endpoint_id"])] : [])),
    );
    const open = items.filter((item) => {
      const { due_pk, et, status } = item;
      if (et === "DELIVERY") return /^(?:pending|retrying)$/.test(String(status));
      // An event is due for a minute; it waits as long as a worker has not stored each of its deliveries.
      if (et !== "EVENT" || due_pk === undefined) return false;
      return endpointIdsOf(item).some((endpoint) => !stored.has(pairOf(item["id"], endpoint)));
    });
    return {
      outbox: waiting(outbox),
      deliveries: waiting(open.map(({ created_at }) => Date.parse(String(created_at)))),
    };
  } finally {
    client.destroy();
  }
}

function pairOf(event: RawValue | undefined, endpoint: RawValue | undefined): string {
  return `${event} ${endpoint}`;
}

const mb = 1024 * 1024;

/** Memory of the runner and of what it has started. Collects first. */
export function memoryOf(cloud: Cloud, startMs: number): MemorySample {
  collect();
  const { heapUsed, rss } = process.memoryUsage();
  const all = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + residentOf(pid), 0) / mb;
  return {
    second: (Date.now() - startMs) / 1000,
    heap: heapUsed / mb,
    runner: rss / mb,
    servers: all(Object.values(cloud.servers)),
    functions: all(cloud.functions.map(({ pid }) => pid)),
  };
}

/** Bytes of a process in memory; 0 of one that has ended. */
function residentOf(pid: number): number {
  try {
    const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kb ?? 0) * 1024;
  } catch {
    return 0;
  }
}
