import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchesOf, eventMember, stateMember } from "../../../shared/domain/stream/batches.ts";
import { accountTouched, commandTouched, sendsEvent } from "../../../shared/domain/stream/channels.ts";
import {
  advanced,
  type ConnectionCursors,
  nextRound,
  readCursors,
  storedCursors,
  withNew,
} from "../../../shared/domain/stream/cursors.ts";
import { looksByItself, nextStep, quickRuns, type Run } from "../../../shared/domain/stream/pace.ts";
import { dueQuotes, type SentQuotes, withSent } from "../../../shared/domain/stream/slots.ts";
import type { StreamSubscription } from "../../../shared/domain/stream/subscription.ts";
import { dutyOf } from "../../../shared/domain/stream/upkeep.ts";
import { limits } from "../../../shared/limits.ts";
import type { StreamChannel } from "../../../shared/schema/stream/client-messages.ts";

const bounds = limits.stream;

function subscription(revision: number, channels: StreamChannel[], head_sequence = 0): StreamSubscription {
  return { id: `s${revision}`, channels, revision, head_sequence };
}

describe("an event", () => {
  const event = { sequence: 7, type: "transaction.completed", account_id: "acc_1", resource_id: "txn_1" };
  it.each<readonly [string, StreamChannel[], boolean]>([
    ["is sent to all events", [{ name: "events" }], true],
    ["is sent by its type", [{ name: "events", types: ["client.created", "transaction.completed"] }], true],
    ["is sent by the types of its resource", [{ name: "events", types: ["transaction.*"] }], true],
    ["is not sent to another type", [{ name: "events", types: ["transaction.created", "trade.*"] }], false],
    ["is sent by its account", [{ name: "events", account_id: "acc_1" }], true],
    ["is not sent to another account", [{ name: "events", types: ["transaction.*"], account_id: "acc_2" }], false],
    ["is not sent where no events are asked for", [{ name: "accounts", ids: ["acc_1"] }], false],
  ])("%s", (_, channels, expected) => {
    expect(sendsEvent(subscription(1, channels), event)).toBe(expected);
  });

  it("touches the account that is listed, any account by its margin, and a command", () => {
    const listed = subscription(1, [{ name: "accounts", ids: ["acc_1"] }]);
    const margin = subscription(2, [{ name: "margin" }]);
    const commands = subscription(3, [{ name: "commands", source_id: "src_1" }]);
    const call = { ...event, type: "margin.call", account_id: "acc_9" };
    expect([listed, margin].map((each) => accountTouched(each, event))).toEqual(["acc_1", undefined]);
    expect([listed, margin].map((each) => accountTouched(each, call))).toEqual([undefined, "acc_9"]);
    expect(accountTouched(listed, { ...event, account_id: null })).toBeUndefined();
    expect(commandTouched(commands, event)).toBeUndefined();
    expect(commandTouched(commands, { ...event, type: "command.issued", resource_id: "cmd_1" })).toBe("cmd_1");
    expect(commandTouched(margin, { ...event, type: "command.issued" })).toBeUndefined();
  });

  it("that does not fit a batch is its id, type, number and link", () => {
    const whole = (length: number) => JSON.stringify({ text: "ä".repeat(length) });
    const reference = { id: "evt_1", type: "client.updated", sequence: 7, href: "https://x/v2/events/evt_1" };
    expect(JSON.parse(eventMember(["1"], reference, whole(10))).event).toEqual({ text: "ä".repeat(10) });
    const cut = eventMember(["1"], reference, whole(16_400));
    expect(JSON.parse(cut)).toEqual({
      ...{ type: "event", subscriptions: ["1"], sequence: "7", truncated: true },
      event: {
        ...{ id: "evt_1", object: "event", type: "client.updated", sequence: "7" },
        _links: { self: { href: "https://x/v2/events/evt_1" } },
      },
    });
    expect(batchesOf([cut])).toHaveLength(1);
  });

  it("is the account's id and link where its texts do not fit a batch", () => {
    const account = (note: string) => {
      const links = { self: { href: "https://x/v2/accounts/acc_1" }, client: { href: "https://x/v2/clients/cli_1" } };
      return JSON.stringify({ id: "acc_1", object: "account", metadata: { note }, _links: links });
    };
    expect(stateMember("account", ["1"], account("short"))).toContain('"metadata":{"note":"short"}');
    const cut = stateMember("account", ["1"], account('"'.repeat(16_400)));
    expect(JSON.parse(cut)).toEqual({
      ...{ type: "account", subscriptions: ["1"], truncated: true },
      account: { id: "acc_1", object: "account", _links: { self: { href: "https://x/v2/accounts/acc_1" } } },
    });
    expect(batchesOf([cut])).toHaveLength(1);
  });
});

it("batches hold all members in order, none is larger than a message, and neighbours would not fit one", () => {
  const member = fc.integer({ min: 1, max: 16_000 }).map((length) => JSON.stringify("ä".repeat(length)));
  fc.assert(
    fc.property(fc.array(member, { maxLength: 40 }), (members) => {
      const batches = batchesOf(members);
      const sizes = batches.map((batch) => Buffer.byteLength(batch));
      expect(batches.flatMap((batch) => JSON.parse(batch).messages)).toEqual(members.map((each) => JSON.parse(each)));
      expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(bounds.batch_bytes);
      const firsts = batches.map((batch) => Buffer.byteLength(JSON.stringify(JSON.parse(batch).messages[0])));
      for (const [at, size] of sizes.slice(0, -1).entries()) {
        expect(size + 1 + (firsts[at + 1] ?? 0)).toBeGreaterThan(bounds.batch_bytes);
      }
    }),
    { numRuns: 50 },
  );
  expect(() => batchesOf(["x".repeat(bounds.batch_bytes)])).toThrow(RangeError);
});

describe("cursors", () => {
  const events = (revision: number, after?: number) =>
    subscription(revision, [{ name: "events", ...(after === undefined ? {} : { after_sequence: String(after) }) }], 5);

  it("begin after the number that is asked for, after the head of the subscription, or at the head for states", () => {
    const states = subscription(3, [{ name: "margin" }], 2);
    const cursors = withNew(new Map(), [events(1, 3), events(2), states, events(4, 900)], 9);
    expect([...cursors.values()].map(({ at }) => at)).toEqual([3, 5, 9, 9]);
  });

  it("pass every number once for every subscription, however pages and crashes cut the rounds", () => {
    const places = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        places,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.boolean(),
        (starts, pages, stores) => {
          const subscriptions = starts.map((at, place) => events(place + 1, at));
          let cursors: ConnectionCursors = withNew(new Map(), subscriptions, 60);
          const seen = new Map(subscriptions.map(({ revision }) => [revision, [] as number[]]));
          for (let turn = 0; ; turn += 1) {
            const round = nextRound(cursors, 60);
            if (round === undefined) break;
            const to = Math.min(round.to, round.from + (pages[turn % pages.length] ?? 1));
            for (const revision of round.revisions) {
              for (let number = round.from + 1; number <= to; number += 1) seen.get(revision)?.push(number);
            }
            cursors = advanced(cursors, round, to);
            if (stores) cursors = readCursors(storedCursors(cursors), subscriptions);
          }
          for (const [place, start] of starts.entries()) {
            expect(seen.get(place + 1)).toEqual(Array.from({ length: 60 - start }, (_, at) => start + at + 1));
          }
        },
      ),
    );
  });

  it("of a subscription that ended are forgotten, also when another one has its name", () => {
    const stored = { "1": 40, "2+": 7 };
    const again = { ...events(3, 10), id: "s1" };
    expect([...readCursors(stored, [again, events(2)])]).toEqual([[2, { at: 7, synced: false }]]);
  });
});

describe("the pace of a run", () => {
  const run: Run = { began_ms: 100_000, quick_runs: 0, settles_ms: 0, hot_until_ms: 0 };
  const look = { began_ms: 100_000, found_ms: 100_010, pending: false };

  it("ends after one look for a lone event", () => {
    expect(nextStep(run, look, 100_020)).toEqual({ next: "end" });
    expect(quickRuns(100_000, {})).toBe(0);
    expect(quickRuns(100_000, { last_run_at_ms: 99_900, quick_runs: 1 })).toBe(2);
    expect(quickRuns(100_000, { last_run_at_ms: 99_000, quick_runs: 7 })).toBe(0);
  });

  it("looks by itself where runs follow each other, something waits, or the flag is new, and hands over", () => {
    const hot = { next: "look", hot_until_ms: 100_020 + bounds.hot_ms };
    expect(nextStep({ ...run, quick_runs: bounds.quick_runs }, look, 100_020)).toEqual(hot);
    expect(nextStep(run, { ...look, pending: true }, 100_020)).toEqual(hot);
    expect(nextStep({ ...run, settles_ms: 100_500 }, look, 100_020)).toEqual(hot);
    const late = 100_000 + bounds.loop_ms;
    const waiting = { ...look, began_ms: late - 1, pending: true };
    expect(nextStep({ ...run, hot_until_ms: late + 500 }, waiting, late)).toEqual({ next: "hand_over" });
  });

  it("hands over no more once nothing was found and nothing waits for the time of a flag", () => {
    const when = fc.record({
      quietFrom: fc.integer({ min: 0, max: 60_000 }),
      took_ms: fc.integer({ min: 1, max: 3000 }),
    });
    fc.assert(
      fc.property(when, fc.integer({ min: 0, max: 9 }), ({ quietFrom, took_ms }, quick_runs) => {
        let [now, found_ms, handed] = [1_000_000, 0, 0];
        const quiet = now + quietFrom;
        let state: Run = { ...run, began_ms: now, quick_runs, settles_ms: now + bounds.flag_settled_ms };
        for (;;) {
          const began_ms = now;
          now += took_ms;
          if (began_ms < quiet) found_ms = now;
          const step = nextStep(state, { began_ms, found_ms, pending: began_ms < quiet }, now);
          if (step.next === "end") break;
          if (step.next === "hand_over") {
            state = { ...state, began_ms: now, quick_runs: 0 };
            handed += 1;
          } else if (step.hot_until_ms !== undefined) state = { ...state, hot_until_ms: step.hot_until_ms };
        }
        const active_ms = Math.max(quietFrom, bounds.flag_settled_ms);
        expect(now - 1_000_000).toBeLessThanOrEqual(active_ms + 2 * (bounds.hot_ms + 2 * took_ms));
        expect(handed).toBeLessThanOrEqual((now - 1_000_000) / bounds.loop_ms);
      }),
    );
  });

  it("leaves no event between the last look and the first message, however clocks differ within the reserve", () => {
    const event = fc.record({ at: fc.integer({ min: 0, max: 7000 }), skew: fc.integer({ min: -490, max: 490 }) });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.integer({ min: 1, max: 400 }), (events, took_ms) => {
        const begin = 1_000_000;
        let now = begin;
        let state: Run = { ...run, began_ms: now, quick_runs: bounds.quick_runs };
        /** When the flag said until when no message is needed. */
        const said: { readonly at: number; readonly hot_until_ms: number }[] = [];
        let found_ms = 0;
        let lastLook = now;
        for (;;) {
          lastLook = now;
          const from = lastLook;
          if (events.some(({ at }) => begin + at <= from && begin + at > from - 300)) found_ms = now;
          now += took_ms;
          const step = nextStep(state, { began_ms: lastLook, found_ms, pending: false }, now);
          if (step.next !== "look") break;
          if (step.hot_until_ms !== undefined) {
            said.push({ at: now, hot_until_ms: step.hot_until_ms });
            state = { ...state, hot_until_ms: step.hot_until_ms };
          }
        }
        for (const { at, skew } of events) {
          const published = begin + at;
          const flag = said.findLast((each) => each.at <= published);
          const isSkipped = looksByItself({ hot_until_ms: flag?.hot_until_ms ?? 0 }, published + skew);
          if (isSkipped && now - begin < bounds.loop_ms) expect(lastLook).toBeGreaterThanOrEqual(published);
        }
      }),
    );
  });
});

it("quotes are sent at most so often to each subscription, and the last price of a burst is sent", () => {
  const quotes = (revision: number, max_per_second?: number) =>
    subscription(revision, [{ name: "quotes", symbols: ["EURUSD"], ...(max_per_second ? { max_per_second } : {}) }]);
  const subscriptions = [quotes(1), quotes(2, 5)];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 60 }), (ticks) => {
      const last = Math.max(...ticks);
      let sent: SentQuotes = new Map();
      const times = new Map<number, { at: number; version: number }[]>([
        [1, []],
        [2, []],
      ]);
      for (let now = 0, waits = true; now <= last + 200 || waits; now += 200) {
        const version = ticks.filter((at) => at <= now).length;
        const found = dueQuotes(subscriptions, new Map([["EURUSD", version]]), sent, now);
        for (const { subscriptions: owed } of found.due) {
          for (const { revision } of owed) times.get(revision)?.push({ at: now, version });
        }
        sent = withSent(sent, found.due, now);
        waits = found.waiting;
      }
      for (const [revision, interval] of [
        [1, 1000],
        [2, 200],
      ] as const) {
        const own = times.get(revision) ?? [];
        for (const [at, { at: time }] of own.slice(1).entries()) {
          expect(time - (own[at]?.at ?? 0)).toBeGreaterThanOrEqual(interval);
        }
        expect(own.at(-1)?.version).toBe(ticks.length);
      }
    }),
  );
});

describe("the sweep of a minute", () => {
  const minute_ms = 60_000;
  const begun = Date.parse("2026-11-23T12:00:00.000Z");
  const connection = {
    connected_at: new Date(begun).toISOString(),
    closes_at: begun / 1000 + bounds.connection_seconds,
    scopes: ["events:read"] as const,
  };
  const at = (minutes: number, scopes: Parameters<typeof dutyOf>[1] = ["events:read"]) =>
    dutyOf(connection, scopes, { now_ms: begun + minutes * minute_ms + 2000, minute_ms });

  it("sends a sign of life every five minutes, and announces the end a minute or two before it", () => {
    const duties = Array.from({ length: 120 }, (_, minute) => at(minute));
    const beats = duties.flatMap(({ heartbeat }, minute) => (heartbeat ? [minute] : []));
    expect(beats).toEqual(Array.from({ length: 23 }, (_, count) => 5 * (count + 1)));
    expect(duties.flatMap(({ expiring }, minute) => (expiring ? [minute] : []))).toEqual([118]);
    expect(duties.flatMap(({ ends }, minute) => (ends ? [[minute, ends]] : []))).toEqual([[119, "expired"]]);
  });

  it("ends a connection whose holder has no access any more, or has lost a scope that it was opened with", () => {
    expect(dutyOf(connection, undefined, { now_ms: begun, minute_ms })).toEqual({ ends: "access_ended" });
    expect(at(7, ["accounts:read"])).toEqual({ ends: "access_changed" });
    expect(at(7, ["accounts:read", "events:read"])).toEqual({});
  });
});
