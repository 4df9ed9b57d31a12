import { describe, expect, it } from "vitest";
import type { RawItem } from "../support/emulator/raw-table.ts";
import { type Evidence, judgeRun, type LoggedCall } from "../support/oracles/delivery-oracle.ts";

const tenant_id = "brk_01";
const number = (value: number) => ({ number: String(value) });

/** Two events to one endpoint: the first accepted at the second attempt, the second given up. */
const items: readonly RawItem[] = [
  { et: "SEQ", pk: "brk_01|SEQ", last: number(2) },
  { et: "WEBHOOK", pk: "brk_01|WHE", id: "whe_1", status: "enabled" },
  ...[1, 2].map((n) => ({
    et: "EVENT",
    pk: "brk_01|EVT|0",
    id: `evt_${n}`,
    sequence: number(n),
    type: "client.created",
    resource_id: `cli_${n}`,
    payload: `{"id":"evt_${n}"}`,
  })),
  ...[
    { n: 1, status: "succeeded", last: 2 },
    { n: 2, status: "exhausted", last: 6 },
  ].flatMap(({ n, status, last }) => [
    {
      et: "DELIVERY",
      pk: `brk_01#dlv_${n}`,
      id: `dlv_${n}`,
      event_id: `evt_${n}`,
      endpoint_id: "whe_1",
      status,
      attempt: number(last),
    },
    ...Array.from({ length: last }, (_, index) => ({
      et: "ATTEMPT",
      pk: `brk_01#dlv_${n}`,
      delivery_id: `dlv_${n}`,
      number: number(index + 1),
      claim: number(1),
    })),
  ]),
];

const call = (n: number, attempt: number, at_ms: number, status: number): LoggedCall => ({
  endpoint_id: "whe_1",
  event_id: `evt_${n}`,
  delivery_id: `dlv_${n}`,
  attempt,
  body: `{"id":"evt_${n}"}`,
  at_ms,
  status,
});
const starts = [0, 60, 360, 2160, 9360, 95_760];
const calls = [
  call(1, 1, 0, 500),
  call(1, 2, 60_000, 200),
  ...starts.map((start, index) => call(2, index + 1, start * 1000, 500)),
];
const good: Evidence = {
  tenant_id,
  endpoint_ids: ["whe_1"],
  confirmed: [1, 2].map((n) => ({ type: "client.created", resource_id: `cli_${n}` })),
  items,
  calls,
  dead_letters: ["dlv_1"],
  time_scale: 1,
};

/** The items, with the fields of those that match changed, or without them. */
function itemsWhere(match: Partial<RawItem>, change: RawItem | undefined): Pick<Evidence, "items"> {
  const hit = (item: RawItem) => Object.entries(match).every(([name, value]) => item[name] === value);
  return {
    items: items.flatMap((item) => (!hit(item) ? [item] : change === undefined ? [] : [{ ...item, ...change }])),
  };
}

const changed = (from: LoggedCall | undefined, fields: Partial<LoggedCall>) => ({
  calls: calls.map((each) => (each === from ? { ...each, ...fields } : each)),
});

describe("the oracle of deliveries", () => {
  it("finds nothing in a run in which nothing was lost", () => {
    expect(judgeRun(good)).toEqual([]);
  });

  it.each<readonly [string, Partial<Evidence>, RegExp]>([
    [
      "an event that is missing",
      itemsWhere({ id: "evt_1" }, undefined),
      /client.created of cli_1 is announced 0 times/,
    ],
    ["a gap in the numbers", itemsWhere({ id: "evt_2" }, { sequence: number(3) }), /event 3 stands at place 2/],
    ["a number that nothing has", itemsWhere({ et: "SEQ" }, { last: number(3) }), /counter stands at 3 after 2/],
    ["what was not published", { items: [...items, { et: "OUTBOX", pk: "brk_01#cli_3", sk: "x" }] }, /never published/],
    ["a delivery that is missing", itemsWhere({ id: "dlv_1" }, undefined), /evt_1 to whe_1 has no delivery/],
    ["a delivery that waits", itemsWhere({ id: "dlv_1" }, { status: "retrying" }), /is still retrying/],
    ["one that was cancelled for nothing", itemsWhere({ id: "dlv_1" }, { status: "cancelled" }), /its endpoint is on/],
    ["one given up early", itemsWhere({ id: "dlv_2" }, { attempt: number(5) }), /exhausted after 5 attempts/],
    ["a success without an accepted call", changed(calls[1], { status: 500 }), /no call was accepted/],
    ["an attempt without a record", { items: items.filter((item) => item !== items[5]) }, /attempt 1 has the claims/],
    ["a call that is early", changed(calls[1], { at_ms: 59_999 }), /attempt 2 came 1 ms early/],
    ["a call with other bytes", changed(calls[1], { body: "{}" }), /are not of its event/],
    ["a call to another endpoint", changed(calls[1], { endpoint_id: "whe_2" }), /not to its endpoint/],
    ["a call that is repeated", { calls: [...calls, call(1, 2, 60_000, 200)] }, /posted 2 times in 1 claims/],
    ["a call of no delivery", changed(calls[1], { delivery_id: "dlv_9" }), /dlv_9 was called for/],
    ["a dead letter of nothing", { dead_letters: ["dlv_9"] }, /the dead letter of dlv_9/],
  ])("finds %s", (_, fault, sentence) => {
    expect(judgeRun({ ...good, ...fault }).join("\n")).toMatch(sentence);
  });
});
