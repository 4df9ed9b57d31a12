import { afterAll, afterEach, describe, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someEndpoint } from "../../support/builders/decisions.ts";
import { startApi } from "../../support/emulator/api.ts";
import { waitingDeliveries } from "../../support/emulator/deliveries.ts";
import { publishing } from "../../support/emulator/publishing.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(() => {
  delete process.env["TIME_SCALE"];
});

const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");
const { publishSent } = publishing(api);
const sweepEvents = (timeoutMs = 60_000) => sweepHandler({}, lambdaContext(timeoutMs));

/** How many deliveries are overdue; the long form is `BACKLOG=5000`. */
const size = Number(process.env["BACKLOG"] ?? 1000);

describe("a backlog of overdue deliveries", () => {
  it(`of ${size} is sent once each, though two sweeps run at once, and not again before its next wake`, async () => {
    const endpoint = someEndpoint({ id: newId("whe"), tenant_id: newCaller().tenant_id });
    const ids = await waitingDeliveries(api, endpoint, size);
    let woken = 0;
    // A sweep ends with its function's time, so a slow machine takes some more of them for the same messages.
    for (let round = Number.NaN; round !== 0; woken += round) {
      const done = await Promise.all([sweepEvents(), sweepEvents()]);
      round = done.reduce((sum, each) => sum + (each["woken"] ?? 0), 0);
    }
    const messages = api.queues.takeMessages();
    expect([woken, messages.length]).toEqual([size, size]);
    expect(new Set(messages.map(({ body }) => body["delivery_id"]))).toEqual(ids);
    await sweepEvents();
    expect(api.queues.takeMessages()).toEqual([]);
  }, 180_000);

  it("does not hold what waits of another kind, and what a sweep has no time for the next one does", async () => {
    const count = Math.min(size, 1500);
    const caller = newCaller();
    const endpoint = someEndpoint({ id: newId("whe"), tenant_id: caller.tenant_id });
    const ids = await waitingDeliveries(api, endpoint, count);
    process.env["TIME_SCALE"] = "1000000";
    await brokerage(api, caller).client();
    delete process.env["TIME_SCALE"];
    const first = await sweepEvents(5500);
    expect(first["woken"]).toBeLessThan(count);
    const published = async () => (await scanTable(api.emulator)).some(({ et }) => et === "EVENT") || undefined;
    await eventually(async () => (await sweepEvents(7000)) && (await publishSent()) && published());
    await eventually(async () => ((await sweepEvents())["woken"] === 0 ? true : undefined), 60_000);
    const sent = api.queues.takeMessages().map(({ body }) => body["delivery_id"]);
    expect(sent).toHaveLength(count);
    expect(new Set(sent)).toEqual(ids);
  }, 180_000);
});
