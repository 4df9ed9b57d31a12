import { describe, expect, it, vi } from "vitest";
import { bridge } from "../../support/builders/bridge.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { ofType, whole } from "../../support/emulator/raw-items.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");

/** A source of a brokerage of its own, with the events about it in the order of their commits. */
async function watched(more: object = {}) {
  const caller = newCaller();
  const source = await bridge(api, caller).newSource(more);
  const { tenant_id } = caller;
  let taken = 0;
  return {
    ...{ caller, source },
    /** Sends a snapshot without an account, as the platform has it now. */
    snapshot: async () => {
      taken += 1;
      const named = { snapshot_id: `S-${taken}`, taken_at: new Date().toISOString(), as_of_seq: "0" };
      const body = { ...named, part: 1, parts: 1, complete: false, accounts: [] };
      const { status, text } = await api.call(caller, "POST", `${source.path}/snapshots`, { body });
      expect(status, text).toBe(200);
    },
    patch: (body: object) => api.call(caller, "PATCH", source.path, { body }),
    beat: () => api.call(caller, "POST", `${source.path}/batches`, { body: { first_seq: "1", items: [] } }),
    events: async () => {
      const own = ofType(await scanTable(api.emulator), "OUTBOX").filter((item) => item["tenant_id"] === tenant_id);
      const sorted = own.toSorted((one, other) => Number(whole(one, "root_version") - whole(other, "root_version")));
      return sorted.flatMap((item) => (item["events"] as readonly string[]).map((each) => JSON.parse(each).body));
    },
  };
}

const exampleSymbol = {
  ...{ symbol: "EURSEK", asset_class: "forex", calc_mode: "forex", base_currency: "EUR", quote_currency: "SEK" },
  ...{ margin_currency: "EUR", digits: 5, point: "0.00001", pip_size: "0.0001", contract_size: "100000" },
  ...{ lot_min: "0.01", lot_max: "100.00", lot_step: "0.01" },
  commission: { type: "none", amount: "0", currency: "USD" },
  swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "22:00" },
  sessions: [{ day: "monday", open: "00:00", close: "24:00" }],
};

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
    const { source, beat, events, patch } = await watched();
    await beat();
    await sweep();
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

describe("a source whose snapshots do not come", () => {
  const [late, resumed] = ["feed.snapshots_late", "feed.snapshots_resumed"];

  it("is announced once after three intervals, and once when one comes, however often the sweep runs", async () => {
    const { source, beat, events, snapshot } = await watched({ snapshot_interval_seconds: 100 });
    const types = async () => (await events()).map(({ type }) => type);
    const passBeating = async (seconds: number) => {
      for (let left = seconds; left > 0; left -= 50) {
        pass(Math.min(50, left));
        await beat();
        await sweep();
      }
    };
    await beat();
    await sweep();
    await snapshot();
    await passBeating(299);
    expect([await types(), (await source.get()).snapshots_late_since]).toEqual([[], null]);
    await passBeating(2);
    await Promise.all([sweep(), sweep(), sweep()]);
    await sweep();
    const { _links, ...shown } = await source.get();
    expect(shown).toMatchObject({ version: 2, stale: false, snapshots_late_since: shown.updated_at });
    expect(await events()).toMatchObject([
      {
        ...{ type: late, resource: { type: "feed_source", id: source.id, version: 2 } },
        data: {
          object: { ...shown, lag_ms: expect.any(Number) },
          previous: { snapshots_late_since: null },
        },
      },
    ]);
    await snapshot();
    await Promise.all([sweep(), sweep()]);
    await sweep();
    expect(await types()).toEqual([late, resumed]);
    expect((await events()).at(-1).data.previous).toEqual({ snapshots_late_since: shown.snapshots_late_since });
    expect(await source.get()).toMatchObject({ version: 3, snapshots_late_since: null });
    await passBeating(301);
    expect(await types()).toEqual([late, resumed, late]);
  });

  it("is announced where none has ever come, and with its silence in one change", async () => {
    const { source, beat, events } = await watched({ snapshot_interval_seconds: 20 });
    await beat();
    await sweep();
    pass(61);
    await sweep();
    expect(await source.get()).toMatchObject({ version: 2, stale: true });
    const found = await events();
    expect(found.map(({ type }) => type)).toEqual(["feed.stale", late]);
    expect(new Set(found.map(({ resource }) => resource.version))).toEqual(new Set([2]));
    await beat();
    await sweep();
    expect((await events()).map(({ type }) => type)).toEqual(["feed.stale", late, "feed.recovered"]);
    expect(await source.get()).toMatchObject({ stale: false, snapshots_late_since: expect.any(String) });
  });

  it("is announced although it was never heard of", async () => {
    const { events } = await watched({ snapshot_interval_seconds: 20 });
    pass(59);
    await sweep();
    expect(await events()).toEqual([]);
    pass(2);
    await sweep();
    await sweep();
    expect(await events()).toMatchObject([{ type: late }]);
  });

  it("is not announced without an interval, while it is paused, or after it has ended", async () => {
    const plain = await watched();
    const paused = await watched({ snapshot_interval_seconds: 20 });
    const ended = await watched({ snapshot_interval_seconds: 20 });
    await plain.snapshot();
    expect((await paused.patch({ paused: true })).status).toBe(200);
    expect((await api.call(ended.caller, "DELETE", ended.source.path)).status).toBe(200);
    pass(3600);
    await sweep();
    expect(await Promise.all([plain.events(), paused.events(), ended.events()])).toEqual([[], [], []]);
    // From its resumption on it has the time of a source that was just made.
    await paused.patch({ paused: false });
    pass(59);
    await sweep();
    expect(await paused.events()).toEqual([]);
    pass(2);
    await sweep();
    expect(await paused.events()).toMatchObject([{ type: late }]);
  });

  it("has a new interval to keep from then on, and nothing is announced of the old one", async () => {
    const { source, events, patch } = await watched({ snapshot_interval_seconds: 20 });
    pass(61);
    await sweep();
    const changed = await patch({ snapshot_interval_seconds: 600 });
    expect(changed.body).toMatchObject({ snapshot_interval_seconds: 600, snapshots_late_since: null });
    pass(1799);
    await sweep();
    expect(await events()).toMatchObject([{ type: late }]);
    pass(2);
    await sweep();
    expect((await events()).map(({ type }) => type)).toEqual([late, late]);
    await patch({ snapshot_interval_seconds: null });
    pass(86_400);
    await sweep();
    expect(await events()).toHaveLength(2);
    expect(await source.get()).toMatchObject({ snapshot_interval_seconds: 60, snapshots_late_since: null });
  });
});

describe("a source whose clock is off", () => {
  const hour = 3_600_000;
  const symbol = (ahead_ms: number) => ({
    ...{ type: "symbol", at: new Date(Date.now() + ahead_ms).toISOString() },
    data: { ...exampleSymbol, description: `Ahead by ${ahead_ms} ms` },
  });

  it("is announced once while that lasts, whatever is sent again, and once more after it was right", async () => {
    const { source, events } = await watched();
    const first = symbol(3 * hour);
    await source.send(first, symbol(3 * hour - 60_000));
    const again = () => source.raw({ first_seq: "1", items: [{ seq: "1", ...first }] });
    await again();
    const shown = await source.get();
    expect(shown.clock_off).toMatchObject({ reported_at: first.at });
    expect(await events()).toMatchObject([
      { type: "feed.clock_off", data: { object: { clock_off: shown.clock_off }, previous: { clock_off: null } } },
    ]);
    // A day that is sent again says nothing of the clock.
    await source.send(symbol(-24 * hour));
    await source.send({ type: "symbol", data: { ...exampleSymbol, description: "At no time" } });
    await source.send(symbol(0), symbol(6 * 60_000));
    expect(await source.get()).toMatchObject({ clock_off: shown.clock_off });
    await source.send(symbol(-1000));
    expect(await source.get()).toMatchObject({ clock_off: null });
    expect((await again()).body.results).toMatchObject([{ status: "duplicate" }]);
    expect(await events()).toHaveLength(1);
    await source.send(symbol(6 * 60_000));
    expect((await events()).map(({ type }) => type)).toEqual(["feed.clock_off", "feed.clock_off"]);
  });

  it("is announced also where the batch that shows it died after its items, by the next one", async () => {
    const { source, events } = await watched();
    api.watched.interfere = ({ operation, input }) =>
      operation === "TransactWriteItems" && JSON.stringify(input).includes("clock_off")
        ? { status: 400, body: { __type: "AccessDeniedException" } }
        : undefined;
    await expect(source.send(symbol(3 * hour))).rejects.toThrow();
    api.watched.interfere = () => undefined;
    await source.raw({ first_seq: "2", items: [{ seq: "2", ...symbol(3 * hour) }] });
    expect((await events()).map(({ type }) => type)).toEqual(["feed.clock_off"]);
  });

  it("is not announced of items at which nothing is booked", async () => {
    const { source, events } = await watched();
    const item = { ...symbol(3 * hour), data: { symbol: "NONE" } };
    expect(await source.send(item)).toMatchObject([{ status: "rejected" }]);
    expect([await events(), (await source.get()).clock_off]).toEqual([[], null]);
  });
});
