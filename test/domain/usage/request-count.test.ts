import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestCount } from "../../../shared/domain/usage/request-count.ts";

const line = (request_id: string, more: object = {}) =>
  JSON.stringify({
    ...{ level: "INFO", message: "request", request_id, tenant_id: "brk_1", actor_id: "app_1" },
    ...{ method: "GET", route_group: "clients", duration_ms: 10, memory_mb: 512, read_units: 1.5, write_units: 1 },
    ...more,
  });

function counted(lines: readonly string[]) {
  const count = new RequestCount();
  for (const each of lines) count.add(each);
  return count.usage;
}

describe("lines of a log", () => {
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
    ["about anything else", line("1", { message: "Sweep recovered work." })],
    ["of a request without a caller", line("1", { tenant_id: undefined, actor_id: undefined })],
    ["of a metric", '{"_aws":{"Timestamp":1},"DriftOpen":1}'],
    ["that are a text", '"request"'],
  ])("%s count nothing", (_what, text) => {
    expect(counted([text])).toEqual([]);
  });

  it("count a request without units or with nonsense in their place as none", () => {
    const [usage] = counted([line("1", { read_units: undefined, write_units: "9", duration_ms: -4 })]);
    expect(usage?.groups["clients"]).toMatchObject({ requests: 1, read_units: 0, write_units: 0, function_ms: 0 });
  });
});
