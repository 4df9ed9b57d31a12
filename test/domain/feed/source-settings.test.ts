import { describe, expect, it } from "vitest";
import { amendSource, registerSource, sourceBody } from "../../../shared/domain/feed/source.ts";
import type { TradingDecision } from "../../../shared/domain/records/trading-change.ts";
import { CreateFeedSourceRequest, UpdateFeedSourceRequest } from "../../../shared/schema/feed/source.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";

function accepted<R>(decision: TradingDecision<R>) {
  if (!decision.ok) throw new Error(decision.refusal.detail);
  return decision;
}

const registered = (more = {}) =>
  accepted(registerSource({ name: "mt5:live-1", platform: "mt5", ...more }, 0, decisionContext())).result;
const defaults = { display_name: null, silent_after_seconds: 60, snapshot_interval_seconds: 60 };
const noPolicy = { four_eyes: false };
const own = { display_name: "Live", silent_after_seconds: 90, snapshot_interval_seconds: 300 };
const bodyOf = (source: ReturnType<typeof registered>) => sourceBody(source, undefined, decisionTime);

describe("the settings of a source", () => {
  it("are those of its registration, changed one by one, and the defaults again by null", () => {
    expect(bodyOf(registered())).toMatchObject(defaults);
    const seen = { source: registered(own), pulse: undefined };
    expect(bodyOf(seen.source)).toMatchObject(own);
    const named = accepted(amendSource(seen, { display_name: "Main" }, noPolicy, decisionContext())).result.source;
    expect(bodyOf(named)).toMatchObject({ ...own, display_name: "Main", name: "mt5:live-1", version: 2 });
    const none = { display_name: null, silent_after_seconds: null, snapshot_interval_seconds: null };
    expect(bodyOf(accepted(amendSource(seen, none, noPolicy, decisionContext())).result.source)).toMatchObject(
      defaults,
    );
  });

  it("change nothing where they are so already", () => {
    const seen = { source: registered(own), pulse: undefined };
    const same = { ...own, authoritative: "platform", paused: false } as const;
    expect(amendSource(seen, same, noPolicy, decisionContext())).toMatchObject({ ok: true, changes: [] });
    expect(
      amendSource({ ...seen, source: registered() }, { display_name: null }, noPolicy, decisionContext()),
    ).toMatchObject({
      changes: [],
    });
  });

  it("that change when it is silent let it be looked at now", () => {
    const { source } = { source: { ...registered(), watch_at: "2030-01-01T00:00:00.000Z" } };
    const amended = (patch: object) =>
      accepted(amendSource({ source, pulse: undefined }, patch, noPolicy, decisionContext())).result.source.watch_at;
    expect(amended({ silent_after_seconds: 30 })).toBe(decisionTime);
    expect(amended({ paused: true })).toBe(source.watch_at);
  });

  it.each([
    ["silent_after_seconds", 29],
    ["silent_after_seconds", 601],
    ["silent_after_seconds", 60.5],
    ["snapshot_interval_seconds", 9],
    ["snapshot_interval_seconds", 86_401],
    ["display_name", ""],
  ])("are refused with %s %s", (name, value) => {
    expect(UpdateFeedSourceRequest.safeParse({ [name]: value }).success).toBe(false);
    const created = { name: "mt5:live-1", platform: "mt5", [name]: value };
    expect(CreateFeedSourceRequest.safeParse(created).success).toBe(false);
  });
});
