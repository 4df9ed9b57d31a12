import { describe, expect, it, vi } from "vitest";
import { bridge } from "../../support/builders/bridge.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { ofType, whole } from "../../support/emulator/raw-items.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const { handler: sweepEvents } = await import("../../../functions/events/sweep-events.ts");

/** A source of a brokerage of its own, with the events about it in the order of their commits. */
async function watched() {
  const caller = newCaller();
  const source = await bridge(api, caller).newSource();
  const { tenant_id } = caller;
  return {
    ...{ caller, source },
    beat: () => api.call(caller, "POST", `${source.path}/batches`, { body: { first_seq: "1", items: [] } }),
    events: async () => {
      const own = ofType(await scanTable(api.emulator), "OUTBOX").filter((item) => item["tenant_id"] === tenant_id);
      const sorted = own.toSorted((one, other) => Number(whole(one, "root_version") - whole(other, "root_version")));
      return sorted.flatMap((item) => (item["events"] as readonly string[]).map((each) => JSON.parse(each).body));
    },
  };
}

const sweep = () => sweepEvents({}, lambdaContext());
const pass = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });

describe("a source that falls silent", () => {
  it("is announced once, and once when it is heard of again, however often the sweep runs", async () => {
    const { source, beat, events } = await watched();
    await beat();
    await sweep();
    pass(59);
    await Promise.all([sweep(), sweep()]);
    expect(await events()).toEqual([]);
    pass(2);
    await Promise.all([sweep(), sweep(), sweep()]);
    await sweep();
    const { _links, ...shown } = await source.get();
    expect(shown).toMatchObject({ stale: true, version: 2 });
    expect(await events()).toMatchObject([
      {
        ...{ type: "feed.stale", resource: { type: "feed_source", id: source.id, version: 2 } },
        data: { object: { ...shown, lag_ms: expect.any(Number) }, previous: { stale: false } },
      },
    ]);
    await beat();
    await Promise.all([sweep(), sweep()]);
    await sweep();
    expect((await events()).map(({ type }) => type)).toEqual(["feed.stale", "feed.recovered"]);
    pass(61);
    await sweep();
    expect((await events()).map(({ type }) => type)).toEqual(["feed.stale", "feed.recovered", "feed.stale"]);
  });

  it("is silent after the time that its settings give it, from its next batch on", async () => {
    const { caller, source, beat, events } = await watched();
    await beat();
    await sweep();
    const patch = (body: object) => api.call(caller, "PATCH", source.path, { body });
    expect((await patch({ silent_after_seconds: 120, display_name: "Live" })).status).toBe(200);
    await beat();
    await sweep();
    pass(119);
    await sweep();
    expect([await source.get(), await events()]).toMatchObject([{ stale: false, display_name: "Live" }, []]);
    await patch({ silent_after_seconds: 30 });
    await beat();
    await sweep();
    pass(31);
    await sweep();
    expect(await source.get()).toMatchObject({ stale: true, silent_after_seconds: 30 });
    expect((await events()).map(({ type }) => type)).toEqual(["feed.stale"]);
  });

  it("is announced by the next sweep where the commit of one is lost", async () => {
    const { source, beat, events } = await watched();
    await beat();
    pass(61);
    let lost = 0;
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems" || lost > 0) return undefined;
      lost += 1;
      return { status: 400, body: { __type: "AccessDeniedException" } };
    };
    await sweep();
    api.watched.interfere = () => undefined;
    expect([lost, (await events()).length]).toEqual([1, 0]);
    await sweep();
    expect(await events()).toMatchObject([{ type: "feed.stale", resource: { id: source.id } }]);
  });

  it("is not announced before it was heard of, nor after it has ended", async () => {
    const { caller, source, beat, events } = await watched();
    pass(300);
    await sweep();
    await beat();
    expect((await api.call(caller, "DELETE", source.path)).status).toBe(200);
    pass(300);
    await sweep();
    expect(await events()).toEqual([]);
  });
});
