import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UsageBody } from "../../../shared/schema/reports/usage.ts";
import { usageProgress } from "../../../shared/table/entities.ts";
import { startApi } from "../../support/emulator/api.ts";
import { startLogEndpoint } from "../../support/emulator/log-endpoint.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi();
const logs = await startLogEndpoint();
Object.assign(process.env, logs.environment);
afterAll(async () => {
  await logs.stop();
  await api.stop();
});

const { handler } = await import("../../../functions/usage/collect.ts");
const { countRequests } = await import("../../../shared/usage/requests.ts");
const { reportUsage } = await import("../../../shared/usage/report.ts");
const { deleteItem } = await import("../../../shared/table/items.ts");

const collect = (timeoutMs = 900_000) => handler({ action: "collect" }, lambdaContext(timeoutMs));
const at = (moment: string) => vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(moment) });

/** A log of a time of its own for each test: readings begin with the progress of the one before. */
let year = 2030;
beforeEach(async () => {
  year += 1;
  await deleteItem(usageProgress.keyOf());
});
afterEach(() => {
  vi.useRealTimers();
  logs.interfere = () => undefined;
});

function request(caller: TestCaller, more: object = {}): string {
  const request_id = randomUUID();
  logs.write({
    ...{ message: "request", request_id, tenant_id: caller.tenant_id, actor_id: caller.application_id },
    ...{ method: "GET", route_group: "clients", duration_ms: 5, memory_mb: 512, read_units: 1, write_units: 1 },
    ...more,
  });
  return request_id;
}

function messages(caller: TestCaller, more: object = {}): void {
  const line = { message: "stream", line_id: randomUUID(), tenant_id: caller.tenant_id };
  logs.write({ ...line, sent: { [caller.application_id]: 1 }, ...more });
}

/** A connection of half a minute that ends now, unless its line says otherwise. */
function connection(caller: TestCaller, more: object = {}): void {
  logs.write({
    ...{ message: "connection", connection_id: randomUUID(), tenant_id: caller.tenant_id },
    ...{ actor_id: caller.application_id, connected_at: ago(30), ended_at: ago(0) },
    ...more,
  });
}
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

const days = () => ({ from: `${year}-03-01`, to: `${year}-03-31` });
const counted = async (caller: TestCaller) => (await reportUsage(caller.tenant_id, days())).total.requests;

describe("requests", () => {
  it("are counted from the hour before the first run on, over midnight, each with its day", async () => {
    const caller = newCaller();
    at(`${year}-03-01T23:30:00Z`);
    request(caller, { write_units: 12, method: "POST" });
    at(`${year}-03-02T00:10:00Z`);
    request(caller);
    request(caller, { route_group: "accounts" });
    await collect();
    const { data, total } = await reportUsage(caller.tenant_id, days());
    expect(data.map(({ day, route_group, requests }) => [day, route_group, requests])).toEqual([
      [`${year}-03-01`, "clients", 1],
      [`${year}-03-02`, "accounts", 1],
      [`${year}-03-02`, "clients", 1],
    ]);
    expect(total).toMatchObject({ requests: 3, writes: 1, read_units: 3, write_units: 14, function_ms: 15 });
  });

  it("whose line comes late, or twice, are counted once, and readings of the same hour do not add up", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    const request_id = request(caller);
    await collect();
    request(caller);
    request(caller, { request_id });
    expect(await collect().catch(String)).toMatchObject({ failed: 0 });
    await Promise.all([collect(), collect()]);
    expect(await counted(caller)).toBe(2);
    at(`${year}-03-01T11:50:00Z`);
    await collect();
    expect(await counted(caller)).toBe(2);
  });

  it("are counted after an outage of the collector as if there had been none", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    await collect();
    for (let hour = 10; hour < 20; hour += 1) {
      at(`${year}-03-01T${hour}:59:59Z`);
      request(caller);
    }
    at(`${year}-03-01T20:00:10Z`);
    await collect();
    expect(await counted(caller)).toBe(10);
  });

  it("are read again for an hour after their own, and never after that", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    request(caller);
    await collect();
    at(`${year}-03-01T11:59:59Z`);
    await collect();
    vi.setSystemTime(Date.parse(`${year}-03-01T10:30:00Z`));
    request(caller);
    vi.setSystemTime(Date.parse(`${year}-03-01T12:00:01Z`));
    await collect();
    expect(await counted(caller)).toBe(2);
    vi.setSystemTime(Date.parse(`${year}-03-01T10:40:00Z`));
    request(caller);
    vi.setSystemTime(Date.parse(`${year}-03-01T12:30:00Z`));
    await collect();
    expect(await counted(caller)).toBe(2);
  });

  it("of a reading that began earlier do not replace those of a later one", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    request(caller);
    await collect();
    let readings = 0;
    logs.interfere = async () => {
      readings += 1;
      // The first readings are of the hour before, and of what was repaired after it.
      if (readings !== 3) return;
      // Before the answer of the third one arrives, another run reads more and stores it.
      vi.setSystemTime(Date.parse(`${year}-03-01T10:06:00Z`));
      request(caller);
      await collect();
      expect(await counted(caller)).toBe(2);
    };
    await countRequests(() => true);
    expect(readings).toBeGreaterThan(3);
    expect(await counted(caller)).toBe(2);
  });

  it("that a run has no time for fail it, and the next one counts them", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    request(caller);
    await expect(collect(1000)).rejects.toThrow("The usage is not counted: 1 of its parts failed.");
    expect(await counted(caller)).toBe(0);
    await collect();
    expect(await counted(caller)).toBe(1);
  });
});

describe("the stream", () => {
  const streamed = async (caller: TestCaller) => {
    const { stream } = await reportUsage(caller.tenant_id, days());
    return stream.map(({ day, actor_id, messages_sent, messages_received, connection_minutes }) => [
      ...[day.slice(-5), actor_id, messages_sent, messages_received, connection_minutes],
    ]);
  };

  it("is counted by day and holder, also without a request, and readings do not add up", async () => {
    const caller = newCaller();
    const { application_id } = caller;
    at(`${year}-03-01T23:58:00Z`);
    messages(caller, { sent: { [application_id]: 4, opr_1: 2 }, received: { opr_1: 1 } });
    await collect();
    at(`${year}-03-02T00:01:00Z`);
    messages(caller);
    connection(caller, { connected_at: `${year}-03-01T23:57:30.000Z` });
    await collect();
    await Promise.all([collect(), collect()]);
    // A connection counts as a whole on the day on which it ended.
    expect(await streamed(caller)).toEqual([
      ["03-01", application_id, 4, 0, 0],
      ["03-01", "opr_1", 2, 1, 0],
      ["03-02", application_id, 1, 0, 4],
    ]);
  });

  it("has each connection once, in the hour of its end, however late and often it was logged", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:59:59.990Z`);
    const ending = { connection_id: randomUUID(), connected_at: ago(600), ended_at: ago(0) };
    await collect();
    // Its first function died before the line; the next one logs the same end in the next hour, and another one again.
    at(`${year}-03-01T11:04:00Z`);
    connection(caller, ending);
    await collect();
    at(`${year}-03-01T11:09:59.900Z`);
    connection(caller, ending);
    connection(caller);
    for (const time of ["11:30", "12:30", "13:30"]) {
      at(`${year}-03-01T${time}:00Z`);
      await collect();
      expect(await streamed(caller)).toEqual([["03-01", caller.application_id, 0, 0, 10 + 1]]);
    }
  });
});

describe("the report", () => {
  const report = (caller: TestCaller, query: string) => api.call(caller, "GET", `/usage?${query}`);

  it("has the usage of the caller's brokerage alone, by actor and route group where that is asked for", async () => {
    const [caller, other] = [newCaller(), newCaller()];
    at(`${year}-03-01T10:05:00Z`);
    request(caller);
    request(caller, { actor_id: "opr_1", route_group: "accounts" });
    request(other);
    await collect();
    const query = `from=${year}-03-01&to=${year}-03-01`;
    const all = await report(caller, query);
    expect(all.status).toBe(200);
    expect((all.body as UsageBody).data.map(({ actor_id }) => actor_id)).toEqual([caller.application_id, "opr_1"]);
    expect((await report(caller, `${query}&actor_id=opr_1`)).body.total.requests).toBe(1);
    expect((await report(caller, `${query}&route_group=clients`)).body.data).toHaveLength(1);
    expect((await report(other, query)).body.total.requests).toBe(1);
    expect((await report(caller, `from=${year}-02-28&to=${year}-02-28`)).body.data).toEqual([]);
  });

  it("is a table where that is asked for, whose columns add up to the totals", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    request(caller, { method: "POST", write_units: 12 });
    request(caller, { actor_id: "=cmd", route_group: 'a"b,c' });
    messages(caller, { sent: { [caller.application_id]: 3 }, received: { [caller.application_id]: 2 } });
    connection(caller);
    await collect();
    const query = `from=${year}-03-01&to=${year}-03-01`;
    const { headers, text } = await report(caller, `${query}&format=csv`);
    expect(headers["Content-Type"]).toBe("text/csv; charset=utf-8");
    const [names, ...lines] = text.split("\r\n");
    expect(names).toBe(
      "day,actor_id,route_group,requests,writes,read_units,write_units,function_ms,cost_usd,events,deliveries," +
        "messages_sent,messages_received,connection_minutes",
    );
    expect(lines.map((line) => line.replace(/,[\d.]+,,,,,$/, ""))).toEqual([
      `${year}-03-01,'=cmd,"a""b,c",1,0,1,1,5`,
      `${year}-03-01,${caller.application_id},clients,1,1,1,12,5`,
      `${year}-03-01,${caller.application_id},,,,,,,0.000005985,,,3,2,1`,
      "",
    ]);
    expect((await report(caller, `${query}&format=xml`)).body.errors[0].parameter).toBe("format");
    const accepting = (Accept: string) => api.call(caller, "GET", `/usage?${query}`, { headers: { Accept } });
    expect((await accepting("text/csv")).text).toBe(text);
    // As on every route, a caller that accepts neither form gets JSON (RFC 9110 12.5.1 allows it).
    for (const accept of ["application/json", "image/png"]) {
      expect((await accepting(accept)).headers["Content-Type"]).toBe("application/json");
    }
  });

  it.each([
    ["from=2026-11-22&to=2026-11-21", "to"],
    ["from=2026-10-01&to=2026-11-01", "to"],
    ["from=2026-11-31&to=2026-12-01", "from"],
    ["from=2026-11-21&to=2026-11-21&actor_id=a%7Cb", "actor_id"],
  ])("refuses %s and names the parameter", async (query, parameter) => {
    const { status, body } = await report(newCaller(), query);
    expect([status, body.code, body.errors[0].parameter]).toEqual([400, "invalid_parameter", parameter]);
  });

  it("refuses days with too many rows", async () => {
    const caller = newCaller();
    at(`${year}-03-01T10:05:00Z`);
    for (const route_group of ["accounts", "clients", "trades"]) request(caller, { route_group });
    await collect();
    const shown = reportUsage(caller.tenant_id, days(), 2);
    await expect(shown).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});
