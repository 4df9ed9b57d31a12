import { describe, expect, it } from "vitest";
import { mix } from "../../infra/tools/cost/mix.ts";
import { routes } from "../../shared/routes/index.ts";
import { apiClient } from "../support/stack/api-client.ts";
import { seeded } from "../support/stack/chaos.ts";
import { startReceiver } from "../support/stack/receiver.ts";
import { Brokerage } from "./load/drive.ts";
import { isEarned, isFlat, latenciesOf, missingOf } from "./load/figures.ts";
import { draw, endpointAt, type Known, remember, routeOf } from "./load/requests.ts";

const credentials = { client_id: "app_1", client_secret: "secret" };
const known = (): Known => ({
  ...{ clients: ["cli_1"], accounts: ["acc_1"], transactions: ["txn_1"], events: ["evt_1"], pending: [] },
  ...{ funded: "acc_1", credentials },
});

describe("the mix", () => {
  it("names endpoints of the route table, in parts of 100", () => {
    expect(Object.keys(mix).filter((id) => !routes.some((route) => route.id === id))).toEqual([]);
    expect(Object.values(mix).reduce((sum, parts) => sum + parts, 0)).toBe(100);
    expect(() => routeOf("nothing")).toThrow("no endpoint nothing");
  });

  it("is drawn in its parts", () => {
    const random = seeded(1);
    const drawn = Array.from({ length: 20_000 }, () => endpointAt(random()));
    for (const [id, parts] of Object.entries(mix)) {
      const share = drawn.filter((one) => one === id).length / 200;
      expect(Math.abs(share - parts)).toBeLessThan(1);
    }
  });

  it.each(Object.keys(mix))("makes a request of %s without a placeholder left", (id) => {
    const { path, route, emits } = draw(id, known(), () => 0.5);
    expect(path).not.toMatch(/[{}]|\/\/|\/$/);
    expect(emits === undefined).toBe(route.method === "GET" || route.id === "create_token");
    if (emits !== undefined) expect(route.emits).toContain(emits);
  });

  it("completes each deposit once, and makes one where none waits", () => {
    const of = known();
    expect(draw("update_transaction", of, () => 0).route.id).toBe("create_deposit");
    remember(of, "create_deposit", "txn_2");
    expect(draw("update_transaction", of, () => 0).path).toBe("/transactions/txn_2");
    expect(draw("update_transaction", of, () => 0).route.id).toBe("create_deposit");
  });

  it("remembers the newest fifty of each kind", () => {
    const of = known();
    for (let number = 0; number < 60; number += 1) remember(of, "create_client", `cli_${number}`);
    expect(of.clients).toHaveLength(50);
    expect(of.clients.at(-1)).toBe("cli_59");
    expect(of.pending).toEqual([]);
  });

  it("lists events where it knows none, and reads those that were listed", () => {
    const of = { ...known(), events: [] };
    expect(draw("get_event", of, () => 0).route.id).toBe("list_events");
    remember(of, "list_events", "evt_2");
    expect(draw("get_event", of, () => 0).path).toBe("/events/evt_2");
  });
});

describe("the figures", () => {
  it("are those of what succeeded", () => {
    const answered = [1, 2, 3, 4, 100].map((ms) => ({ route: "a", status: ms === 100 ? 500 : 200, ms }));
    expect(latenciesOf(answered)).toEqual({ count: 4, p50: 2, p90: 4, p99: 4, longest: 4 });
  });

  it.each([
    ["the fifty-first request of a second", Array.from({ length: 51 }, (_, at) => at), 50, true],
    ["the fiftieth", Array.from({ length: 50 }, (_, at) => at), 49, false],
    ["the thousand and first of a minute", Array.from({ length: 1001 }, (_, at) => at * 59), 59_000, true],
    ["the thousandth", Array.from({ length: 1000 }, (_, at) => at * 59), 58_941, false],
  ])("tell whether a 429 is earned: %s", (_, sent, at, earned) => {
    expect(isEarned(sent, at)).toBe(earned);
  });

  it.each([
    ["a level", Array.from({ length: 40 }, (_, at) => 100 + (at % 5)), true],
    ["a warm-up", Array.from({ length: 40 }, (_, at) => (at < 10 ? at * 10 : 100)), true],
    ["growth without an end", Array.from({ length: 40 }, (_, at) => 100 + 3 * at), false],
    ["too few samples to tell", [1, 1000], true],
  ])("tell a leak from %s", (_, values, flat) => {
    expect(isFlat(values)).toBe(flat);
  });

  it("find a write without an event, one that came twice, and an event that was not received", () => {
    const published = new Map([
      ["evt_1", "client.created cli_1"],
      ["evt_2", "client.updated cli_1"],
    ]);
    const written = ["client.created cli_1", "client.updated cli_1", "client.updated cli_1", "client.created cli_2"];
    expect(missingOf({ written, published, received: new Set(["evt_2"]) })).toEqual({
      unpublished: ["client.updated cli_1", "client.created cli_2"],
      undelivered: ["evt_1"],
    });
    expect(missingOf({ written: written.slice(0, 2), published, received: new Set(published.keys()) })).toEqual({
      unpublished: [],
      undelivered: [],
    });
  });
});

it.each(["open", "closed"] as const)(
  "requests that get no answer are errors, and the %s loop goes on",
  async (loop) => {
    const { url: baseUrl, stop } = await startReceiver();
    await stop();
    const own = { api: apiClient(baseUrl, "token"), tenant_id: "brk_1", credentials, funded: "acc_1" };
    const brokerage = new Brokerage({ baseUrl }, own, seeded(1), new Set());
    const answered: unknown[] = [];
    await brokerage.load({ loop, seconds: 0.05, rate: 200 }, (one) => answered.push(one));
    expect(answered).toEqual([]);
    expect(brokerage.errors.length).toBeGreaterThan(1);
    for (const error of brokerage.errors) expect(error).toMatch(/^[a-z_]+ was not answered: .*ECONNREFUSED/);
  },
);
