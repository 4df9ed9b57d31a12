import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectionMinutes, meteredMessages, noStream } from "../../../shared/domain/usage/stream-count.ts";
import { UsageCount } from "../../../shared/domain/usage/usage-count.ts";

/** From ten to eleven. */
const hour = { from_ms: Date.parse("2026-11-21T10:00:00Z"), to_ms: Date.parse("2026-11-21T11:00:00Z") };

const line = (request_id: string, more: object = {}) =>
  JSON.stringify({
    ...{ level: "INFO", message: "request", request_id, tenant_id: "brk_1", actor_id: "app_1" },
    ...{ method: "GET", route_group: "clients", duration_ms: 10, memory_mb: 512, read_units: 1.5, write_units: 1 },
    ...more,
  });

const messages = (line_id: string, more: object = {}) =>
  JSON.stringify({ level: "INFO", message: "stream", line_id, tenant_id: "brk_1", sent: { app_1: 2 }, ...more });

const connection = (connection_id: string, more: object = {}) =>
  JSON.stringify({
    ...{ level: "INFO", message: "connection", connection_id, tenant_id: "brk_1", actor_id: "app_1" },
    ...{ connected_at: "2026-11-21T10:00:00.000Z", ended_at: "2026-11-21T10:10:00.000Z" },
    ...more,
  });

function counted(lines: readonly string[]) {
  const count = new UsageCount(hour);
  for (const each of lines) count.add(each);
  return count.usage;
}

describe("lines of requests", () => {
  it("are added up by caller and route group, and a GET is no write", () => {
    const usage = counted([
      line("1"),
      line("2", { method: "POST", write_units: 12, read_units: 0, duration_ms: 30 }),
      line("3", { route_group: "accounts", memory_mb: 1769 }),
      line("4", { actor_id: "opr_1" }),
      line("5", { tenant_id: "brk_2" }),
    ]);
    expect(usage.map(({ tenant_id, actor_id }) => `${tenant_id} ${actor_id}`)).toEqual([
      ...["brk_1 app_1", "brk_1 opr_1", "brk_2 app_1"],
    ]);
    expect(usage[0]?.groups).toEqual({
      clients: {
        ...{ requests: 2, writes: 1, read_units: 1.5, write_units: 13 },
        ...{ function_ms: 40, memory_mb_ms: 40 * 512 },
      },
      accounts: {
        ...{ requests: 1, writes: 0, read_units: 1.5, write_units: 1 },
        ...{ function_ms: 10, memory_mb_ms: 17_690 },
      },
    });
  });

  it("are counted once for each request, however often and in whatever order they come", () => {
    const requests = fc.uniqueArray(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(requests, fc.infiniteStream(fc.nat()), (ids, chance) => {
        const lines = ids.map((id) => line(String(id), { write_units: id % 7, read_units: (id % 5) / 2 }));
        const repeated = [...lines, ...lines.filter((_, at) => at % 3 === 0), ...lines];
        const order = new Map(repeated.map((_, at) => [at, chance.next().value as number]));
        const shuffled = repeated.map((text, at) => ({ text, place: order.get(at) ?? 0 }));
        const again = shuffled.toSorted((a, b) => a.place - b.place).map(({ text }) => text);
        expect(counted(again)).toEqual(counted(lines));
      }),
    );
  });

  it.each([
    ["of Lambda", "END RequestId: 7f9b"],
    ["that are cut off", line("1").slice(0, 40)],
    ["about anything else", line("1", { message: "The sweep recovered work." })],
    ["of a request without a caller", line("1", { tenant_id: undefined, actor_id: undefined })],
    ["of a metric", '{"_aws":{"Timestamp":1},"DriftOpen":1}'],
    ["that are a text", '"request"'],
    ["of messages without a brokerage", messages("1", { tenant_id: undefined })],
    ["of messages without a name of their own", messages("1", { line_id: undefined })],
    ["of no messages", messages("1", { sent: {}, received: undefined })],
    ["of messages with nonsense for a number", messages("1", { sent: { app_1: -1, app_2: "2", app_3: 1.5 } })],
    ["of a connection that has not ended", connection("c", { ended_at: undefined })],
    ["of a connection that ended at no time", connection("c", { ended_at: "then" })],
  ])("%s count nothing", (_what, text) => {
    expect(counted([text])).toEqual([]);
  });

  it("count a request without units or with nonsense in their place as none", () => {
    const [usage] = counted([line("1", { read_units: undefined, write_units: "9", duration_ms: -4 })]);
    expect(usage?.groups["clients"]).toMatchObject({ requests: 1, read_units: 0, write_units: 0, function_ms: 0 });
  });
});

describe("lines of the stream", () => {
  const streams = (lines: readonly string[]) =>
    Object.fromEntries(counted(lines).map(({ tenant_id, actor_id, stream }) => [`${tenant_id} ${actor_id}`, stream]));

  it("are added up by the holder of the connections, apart from requests", () => {
    const lines = [
      messages("1", { sent: { app_1: 3, opr_1: 1 }, received: { app_1: 2 } }),
      messages("2", { sent: { app_1: 4 } }),
      messages("3", { tenant_id: "brk_2", sent: undefined, received: { app_1: 1 } }),
      connection("c1"),
      connection("c2", { actor_id: "opr_1", ended_at: "2026-11-21T10:00:00.001Z" }),
      line("4"),
    ];
    expect(streams(lines)).toEqual({
      "brk_1 app_1": { messages_sent: 7, messages_received: 2, connection_minutes: 10 },
      "brk_1 opr_1": { messages_sent: 1, messages_received: 0, connection_minutes: 1 },
      "brk_2 app_1": { ...noStream, messages_received: 1 },
    });
    expect(counted(lines)[0]?.groups["clients"]?.requests).toBe(1);
    expect(counted([line("4")])).toEqual([expect.not.objectContaining({ stream: expect.anything() })]);
  });

  it("are counted once each, however often and in whatever order they come", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(1000), { minLength: 1, maxLength: 30 }), fc.gen(), (ids, gen) => {
        const lines = ids.flatMap((id) => [
          messages(`l${id}`, { sent: { app_1: id + 1 } }),
          connection(`c${id}`, { ended_at: `2026-11-21T10:${String(id % 60).padStart(2, "0")}:01.000Z` }),
        ]);
        const again = [...lines, ...gen(fc.shuffledSubarray, lines), ...lines];
        expect(counted(again)).toEqual(counted(lines));
      }),
    );
  });

  it("of a connection count in the hour in which its end was noted, whenever they were written", () => {
    const ending = (ended_at: string) => Object.keys(streams([connection("c", { ended_at })])).length;
    expect(ending("2026-11-21T10:00:00.000Z")).toBe(1);
    expect(ending("2026-11-21T10:59:59.999Z")).toBe(1);
    expect(ending("2026-11-21T11:00:00.000Z")).toBe(0);
    expect(ending("2026-11-21T09:59:59.999Z")).toBe(0);
  });
});

describe("a message", () => {
  it.each([
    [0, 1],
    [1, 1],
    [32 * 1024, 1],
    [32 * 1024 + 1, 2],
    [128 * 1024, 4],
  ])("of %i bytes counts as %i", (bytes, count) => {
    expect(meteredMessages(bytes)).toBe(count);
  });
});

describe("a connection", () => {
  it.each([
    ["10:00:00.000", "10:00:00.000", 1],
    ["10:00:00.000", "10:01:00.000", 1],
    ["10:00:00.000", "10:01:00.001", 2],
    ["09:59:59.500", "11:59:59.500", 120],
    ["10:00:00.000", "13:30:00.000", 120],
    // Two functions, two clocks.
    ["10:00:00.005", "10:00:00.000", 1],
  ])("from %s to %s was open for %i minutes", (from, to, minutes) => {
    expect(connectionMinutes(`2026-11-21T${from}Z`, `2026-11-21T${to}Z`)).toBe(minutes);
  });
});
