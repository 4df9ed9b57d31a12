import { describe, expect, it } from "vitest";
import { messageVerdict } from "../../../shared/domain/stream/message-rate.ts";
import { decideEnd, decideSubscription } from "../../../shared/domain/stream/subscribe.ts";
import { channelScopes, followsPrices, type StreamSubscription } from "../../../shared/domain/stream/subscription.ts";
import { limits } from "../../../shared/limits.ts";
import { scopes } from "../../../shared/schema/scope.ts";
import type { StreamChannel, SubscribeBody } from "../../../shared/schema/stream/client-messages.ts";

const now_ms = 1_790_000_000_000;
const none = { head_sequence: 40, missing: [], now_ms };
const channel: Readonly<Record<StreamChannel["name"], StreamChannel>> = {
  events: { name: "events", after_sequence: "40" },
  accounts: { name: "accounts", ids: ["acc_1"] },
  margin: { name: "margin" },
  quotes: { name: "quotes", symbols: ["EURUSD"] },
  commands: { name: "commands", source_id: "src_1" },
};
const all = Object.values(channel);
const held = (id: string, ...channels: StreamChannel[]): StreamSubscription => ({
  ...{ id, channels, revision: 1, head_sequence: 7 },
});
const connection = (...subscriptions: StreamSubscription[]) => ({ scopes, subscriptions, revision: 4 });
const codesOf = (decision: ReturnType<typeof decideSubscription>) =>
  decision.ok ? [] : (decision.refusal.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`);

describe("a subscription", () => {
  it("has the next revision and the number that its events begin after", () => {
    const decision = decideSubscription(
      connection(held("1", channel.margin)),
      { type: "subscribe", id: "2", channels: all },
      none,
    );
    expect(decision).toEqual({
      ok: true,
      subscriptions: [held("1", channel.margin), { id: "2", channels: all, revision: 5, head_sequence: 40 }],
    });
  });

  it.each(all)("to $name needs the scope of its endpoint and no other", (one) => {
    const message: SubscribeBody = { type: "subscribe", id: "1", channels: [one] };
    const needed = channelScopes[one.name];
    expect(decideSubscription({ ...connection(), scopes: [needed] }, message, none).ok).toBe(true);
    const others = scopes.filter((scope) => scope !== needed);
    const refused = decideSubscription({ ...connection(), scopes: others }, message, none);
    expect(refused).toMatchObject({ ok: false, refusal: { code: "insufficient_scope" } });
  });

  it("to the commands of a source needs an application that is not bound to others", () => {
    const message: SubscribeBody = { type: "subscribe", id: "1", channels: [channel.margin, channel.commands] };
    const bound = (source_id: string) =>
      decideSubscription({ ...connection(), source_ids: [source_id] }, message, none);
    expect(bound("src_1").ok).toBe(true);
    expect(bound("src_2")).toMatchObject({ ok: false, refusal: { code: "source_not_allowed" } });
    expect(codesOf(bound("src_2"))).toEqual(["#/channels/1/source_id source_not_allowed"]);
  });

  it("that comes twice is held once, as it was, also where the connection is full", () => {
    const channels = Array.from({ length: limits.stream.channels_per_connection }, () => channel.margin);
    const full = connection(held("1", ...channels));
    const again = decideSubscription(full, { type: "subscribe", id: "1", channels: structuredClone(channels) }, none);
    expect(again).toEqual({ ok: true, subscriptions: full.subscriptions });
    const other = decideSubscription(
      connection(held("1", channel.events)),
      { type: "subscribe", id: "1", channels: [{ name: "events", after_sequence: "39" }] },
      none,
    );
    expect(codesOf(other)).toEqual(["#/id in_use"]);
  });

  it("names every fault at once", () => {
    const full = held("1", ...Array.from({ length: limits.stream.channels_per_connection }, () => channel.margin));
    const channels = [channel.events, channel.events];
    const decision = decideSubscription(connection(full), { type: "subscribe", id: "1", channels }, none);
    expect(codesOf(decision)).toEqual(["#/id in_use", "#/channels/1/name repeated", "#/channels too_many_channels"]);
  });

  it.each([
    ["0", []],
    ["40", []],
    ["41", ["#/channels/0/after_sequence too_big"]],
    ["999999999999999", ["#/channels/0/after_sequence too_big"]],
  ])("after %s, where 40 is the last number, has the faults %j", (after_sequence, wanted) => {
    const channels = [{ name: "events", after_sequence } as const];
    expect(codesOf(decideSubscription(connection(), { type: "subscribe", id: "1", channels }, none))).toEqual(wanted);
  });

  it("of what another one has counts it once", () => {
    const ids = Array.from({ length: limits.stream.accounts_per_connection }, (_, at) => `acc_${at}`);
    const same: StreamChannel = { name: "accounts", ids };
    const message = (...more: string[]): SubscribeBody => {
      return { type: "subscribe", id: "2", channels: [{ name: "accounts", ids: [...ids.slice(1), ...more] }] };
    };
    expect(decideSubscription(connection(held("1", same)), message(), none).ok).toBe(true);
    expect(codesOf(decideSubscription(connection(held("1", same)), message("acc_x"), none))).toEqual([
      "#/channels/0/ids too_many_accounts",
    ]);
  });

  it("is refused for what is missing", () => {
    const missing = [{ pointer: "#/channels/0/ids/0", code: "account_not_found", detail: "does not exist" }];
    const message: SubscribeBody = { type: "subscribe", id: "1", channels: [channel.accounts] };
    expect(codesOf(decideSubscription(connection(), message, { ...none, missing }))).toEqual([
      "#/channels/0/ids/0 account_not_found",
    ]);
  });

  it("ends by its name, and no other does", () => {
    const two = connection(held("1", channel.margin), held("2", channel.events));
    expect(decideEnd(two, "1", now_ms)).toEqual({
      ok: true,
      subscriptions: [held("2", channel.events)],
      ended_names: { "1": now_ms },
    });
    expect(decideEnd(two, "3", now_ms)).toMatchObject({ ok: false, refusal: { code: "not_found" } });
  });

  it("cannot have the name of one whose messages may still arrive, and the name is free after ten seconds", () => {
    const two = connection(held("1", channel.margin), held("2", channel.events));
    const ended = decideEnd(two, "1", now_ms);
    expect(ended).toMatchObject({ ok: true, ended_names: { "1": now_ms } });
    const after = { ...connection(held("2", channel.events)), ended_names: { "1": now_ms } };
    const again = (id: string, after_ms: number) =>
      codesOf(
        decideSubscription(
          after,
          { type: "subscribe", id, channels: [channel.margin] },
          { ...none, now_ms: now_ms + after_ms },
        ),
      );
    expect([again("1", 0), again("1", 9_999)]).toEqual([["#/id in_use"], ["#/id in_use"]]);
    expect([again("1", 10_000), again("3", 0), again("constructor", 0)]).toEqual([[], [], []]);
    expect(decideEnd(after, "2", now_ms + 9_000)).toMatchObject({ ended_names: { "1": now_ms, "2": now_ms + 9_000 } });
    expect(decideEnd(after, "2", now_ms + 10_000)).toMatchObject({ ended_names: { "2": now_ms + 10_000 } });
  });
});

describe("prices", () => {
  it("move what shows money or quotes, and neither events nor commands", () => {
    expect(all.filter(followsPrices).map(({ name }) => name)).toEqual(["accounts", "margin", "quotes"]);
  });
});

describe("the verdict on a message", () => {
  it.each([
    [1, "answer"],
    [10, "answer"],
    [11, "refuse"],
    [20, "refuse"],
    [21, "end"],
    [22, "ignore"],
  ])("number %i of its second: %s", (rate_count, verdict) => {
    expect(messageVerdict({ rate_count })).toBe(verdict);
  });
});
