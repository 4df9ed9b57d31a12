import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../shared/runtime/ids.ts";
import { sweepKeys } from "../../shared/table/due.ts";
import { type DueKind, dueShards } from "../../shared/table/entities.ts";
import { someEndpoint } from "../support/builders/decisions.ts";
import { startApi } from "../support/emulator/api.ts";
import { waitingDeliveries } from "../support/emulator/deliveries.ts";
import { scanTable } from "../support/emulator/raw-table.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(() => {
  process.env["STAGE"] = "sandbox";
  vi.useRealTimers();
});

/** The ids of the deliveries that a sweep finds due. */
async function dueIds(): Promise<string[]> {
  const found: string[] = [];
  await sweepKeys(
    "DLV",
    () => true,
    async (keys) => {
      found.push(...keys.map(({ pk }) => pk.split("#")[1] ?? ""));
      return { done: keys.length, failed: 0 };
    },
  );
  return found;
}

describe("the due index", () => {
  it.each<[string, DueKind, number]>([
    ["production", "OUTBOX", 64],
    ["production", "EVENT", 64],
    ["production", "DLV", 64],
    ["production", "TXN", 8],
    ["sandbox", "DLV", 8],
    ["sandbox", "RISK", 8],
  ])("of %s has for the kind %s so many shards: %i", (stage, kind, count) => {
    process.env["STAGE"] = stage;
    expect(dueShards(kind)).toBe(count);
  });

  it("of production is swept over all its shards, with what was put when there were eight", async () => {
    const endpoint = someEndpoint({ id: newId("whe"), tenant_id: newId("brk") });
    const before = await waitingDeliveries(api, endpoint, 30);
    process.env["STAGE"] = "production";
    const now = await waitingDeliveries(api, endpoint, 300);
    const shards = (await scanTable(api.emulator)).map(({ due_pk }) => String(due_pk));
    expect(new Set(shards).size).toBeGreaterThan(56);
    expect((await dueIds()).toSorted()).toEqual([...before, ...now].toSorted());
  });

  it("has what is due in the very millisecond of the sweep, and nothing of the next one", async () => {
    const now = Date.now() + 3_600_000;
    const endpoint = someEndpoint({ id: newId("whe"), tenant_id: newId("brk") });
    const [due] = await waitingDeliveries(api, endpoint, 1, { wake_at: new Date(now).toISOString() });
    const [later] = await waitingDeliveries(api, endpoint, 1, { wake_at: new Date(now + 1).toISOString() });
    vi.useFakeTimers({ toFake: ["Date"], now });
    const found = await dueIds();
    expect(found).toContain(due);
    expect(found).not.toContain(later);
  });
});
