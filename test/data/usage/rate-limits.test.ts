import { afterAll, afterEach, describe, expect, it } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { atOnce } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { asOperator, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);
afterEach(() => {
  api.watched.interfere = () => undefined;
});
const { countRequest } = await import("../../../shared/table/counters.ts");

/** 2030-03-17T17:47:00Z, and half a second. */
const minute = 1_900_000_020_000;
const atMs = minute + 500;

async function shown(caller: TestCaller, at = atMs) {
  const { status, body, headers } = await api.call(caller, "GET", "/status/limits", { atMs: at });
  const windows = Object.fromEntries(
    (body.windows ?? []).map((each: Record<string, unknown>) => [each["name"], [each["used"], each["remaining"]]]),
  );
  return { status, body, headers, windows };
}

describe("GET /status/limits", () => {
  it("shows each window of an application, counts itself, and says when the next ones begin", async () => {
    const caller = newCaller();
    await api.call(caller, "GET", "/clients", { atMs: atMs + 1000 });
    await atOnce(3, () => countRequest(caller, "quotes", atMs));
    await countRequest(caller, "feed", atMs);
    await atOnce(2, () => countRequest(caller, "feed_quotes", atMs));
    const { status, body, headers, windows } = await shown(caller);
    expect(status).toBe(200);
    expect(windows).toEqual({ minute: [2, 998], burst: [1, 49], quotes: [3, 97], feed: [1, 49], feed_quotes: [2, 48] });
    expect(headers["X-RateLimit-Remaining"]).toBe("998");
    expect(body).toMatchObject({
      object: "rate_limits",
      caller: { type: "application", id: caller.application_id },
      as_of: "2030-03-17T17:47:00.500Z",
      gateway: { per_second: limits.rate.gateway_per_second, burst: limits.rate.gateway_burst },
      token_endpoint: { failures_per_minute: limits.token.failures_per_minute },
    });
    const [first, second] = body.windows;
    expect(first).toMatchObject({ period_seconds: 60, resets_at: "2030-03-17T17:48:00.000Z" });
    expect(second).toMatchObject({ period_seconds: 1, resets_at: "2030-03-17T17:47:01.000Z" });
    // The next second begins with empty windows of seconds, and the minute goes on.
    expect((await shown(caller, atMs + 2000)).windows).toMatchObject({
      minute: [3, 997],
      burst: [1, 49],
      quotes: [0, 100],
    });
  });

  it("shows nothing of another application of the same brokerage", async () => {
    const caller = newCaller();
    const other = newCaller({ tenant_id: caller.tenant_id });
    await atOnce(5, () => api.call(other, "GET", "/clients", { atMs }));
    expect((await shown(caller)).windows).toMatchObject({ minute: [1, 999], burst: [1, 49] });
  });

  it("shows an operator their one window", async () => {
    const operator = asOperator(newCaller(), "Ana", "viewer");
    await atOnce(4, () => api.call(operator, "GET", "/quotes?symbols=EURUSD", { atMs }));
    const { body, windows } = await shown(operator);
    expect(windows).toEqual({ burst: [5, limits.rate.operator_per_second - 5] });
    expect(body.caller.type).toBe("operator");
  });

  it("costs one write and no read", async () => {
    const calls: string[] = [];
    api.watched.interfere = ({ operation }) => {
      calls.push(operation);
      return undefined;
    };
    expect((await shown(newCaller())).status).toBe(200);
    expect(calls).toEqual(["UpdateItem"]);
  });

  it("is refused like any other request when a window is full", async () => {
    const caller = newCaller();
    // Few at once: a request does not wait for a counter that is slow, and would pass uncounted.
    for (let counted = 0; counted < limits.rate.burst_per_second; counted += 5) {
      await atOnce(5, () => countRequest(caller, "standard", atMs));
    }
    const { status, body, headers } = await shown(caller);
    expect([status, body["violated-policies"], headers["Retry-After"]]).toEqual([429, ["burst"], "1"]);
  });

  it("says that it does not know what is left when the counter cannot be asked", async () => {
    api.watched.interfere = () => failure("ProvisionedThroughputExceededException");
    const { status, windows } = await shown(newCaller());
    expect(status).toBe(200);
    expect(windows).toMatchObject({ minute: [null, null], burst: [null, null] });
  });
});
