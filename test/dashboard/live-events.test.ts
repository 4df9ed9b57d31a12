import { describe, expect, it } from "vitest";
import { affectedBy, Bursts, coveredBy } from "../../infra/dashboard/app/api/live-events.ts";
import { routes } from "../../shared/routes/index.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";
import { eventually } from "../support/wait.ts";

const types = [...eventTypes, ...optInEventTypes];
const paths = routes.filter(({ method }) => method === "GET").map(({ path }) => path);

describe("the pages that an event changes", () => {
  it.each([
    ["transaction.completed", ["/transactions", "/transactions/queue", "/accounts/{id}", "/accounts/{id}/ledger"]],
    ["trade.opened", ["/accounts/{id}/positions", "/accounts/{id}/orders", "/trades", "/accounts/margin_watch"]],
    ["client.updated", ["/clients", "/clients/{id}", "/clients/{id}/accounts"]],
    ["drift.detected", ["/drift", "/feed/sources/{id}"]],
    ["feed.stale", ["/feed/sources"]],
    ["margin.call", ["/accounts/margin_watch", "/events", "/webhook_endpoints/{id}/deliveries"]],
  ])("of %s are read again", (type, changed) => {
    for (const path of changed) {
      expect(paths).toContain(path);
      expect({ path, affected: affectedBy(type, path) }).toEqual({ path, affected: true });
    }
    expect(affectedBy(type, "/symbols")).toBe(false);
    expect(affectedBy(type, "/applications/{id}")).toBe(false);
  });

  it("are those of the resource of each type, and all of an unknown type", () => {
    for (const type of types) expect({ type, events: affectedBy(type, "/events") }).toEqual({ type, events: true });
    const known = types.filter((type) => !affectedBy(type, "/symbols"));
    expect(types.filter((type) => !known.includes(type))).toEqual(["brokerage.restored"]);
    expect(affectedBy("newly.added", "/symbols")).toBe(true);
  });
});

describe("the polling of a page", () => {
  it("is slower only where a channel that is followed sends every change", () => {
    const covered = (...channels: string[]) => paths.filter((path) => coveredBy(path, new Set(channels)));
    expect(covered()).toEqual([]);
    expect(covered("accounts")).toEqual(["/accounts/{id}"]);
    expect(covered("quotes").toSorted()).toEqual(["/quotes", "/quotes/{symbol}"]);
    expect(covered("events").toSorted()).toEqual([
      "/clients",
      "/clients/queue",
      "/clients/{id}",
      "/clients/{id}/transactions",
      "/events",
      "/events/{id}",
      "/transactions",
      "/transactions/queue",
      "/transactions/summary",
      "/transactions/{id}",
      "/transactions/{id}/history",
    ]);
  });
});

describe("a burst of events", () => {
  it("is handed over at its beginning, then after growing gaps, and again when lists have caught up", async () => {
    const handed: { readonly types: readonly string[]; readonly atMs: number }[] = [];
    const bursts = new Bursts((each) => handed.push({ types: each, atMs: performance.now() }));
    for (let index = 0; index < 30; index += 1) bursts.add(index % 2 === 0 ? "client.created" : "trade.opened");
    expect(handed.map((each) => each.types)).toEqual([["client.created"]]);
    await eventually(() => (handed.length === 2 ? true : undefined));
    bursts.add("drift.detected");
    await eventually(() => (handed.length === 4 ? true : undefined));
    const both = ["client.created", "trade.opened"];
    expect(handed.slice(1).map((each) => each.types.toSorted())).toEqual([
      both,
      ["drift.detected"],
      ["client.created", "drift.detected", "trade.opened"],
    ]);
    const [first = 0, second = 0, third = 0, last = 0] = handed.map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThan(240);
    expect(third - second).toBeGreaterThan(480);
    expect(last - second).toBeGreaterThan(1_950);
    bursts.add("drift.detected");
    bursts.end();
    expect(handed).toHaveLength(5);
  });
});
