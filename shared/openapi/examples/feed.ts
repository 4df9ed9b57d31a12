import { completed_at, created_at, exampleIds, exampleNames, links, transaction_id } from "./identifiers.ts";

const feedResults = [
  { seq: "918", status: "applied", trade_id: "trd_01JD000000000000000000000A" },
  { seq: "919", status: "rejected", code: "unknown_position", detail: "Its position_id is not known." },
];

/** A source of a trading platform. */
export const feedSource = {
  id: exampleIds["feed"],
  object: "feed_source",
  name: "mt5:live-1",
  platform: "mt5",
  authoritative: "platform",
  display_name: "MetaTrader 5, live",
  proposed_authoritative: null,
  swap_reporting: "nightly",
  silent_after_seconds: 60,
  snapshot_interval_seconds: 60,
  snapshots_late_since: null,
  clock_off: null,
  status: "active",
  paused: false,
  ended_at: null,
  expected_next_seq: "920",
  accepted_through: "919",
  quote_epoch: 1,
  last_batch_at: completed_at,
  lag_ms: 1200,
  stale: false,
  created_at,
  updated_at: completed_at,
  version: 3,
  _links: links({
    self: `/feed/sources/${exampleIds["feed"]}`,
    commands: `/feed/sources/${exampleIds["feed"]}/commands`,
    rejects: `/feed/sources/${exampleIds["feed"]}/rejects`,
  }),
};

/** Examples of the replies about the feed, by component. */
export const feedReplies: Readonly<Record<string, unknown>> = {
  FeedQuoteReceipt: {
    object: "feed_quote_receipt",
    accepted: 1,
    results: [
      { symbol: "EURUSD", seq: "771", status: "accepted" },
      { symbol: "GBPUSD", seq: "770", status: "refused", code: "old_sequence" },
    ],
  },
  FeedReceipt: {
    object: "feed_receipt",
    accepted_through: "919",
    expected_next_seq: "920",
    results: feedResults,
  },
  FeedReject: {
    object: "feed_reject",
    reject_id: "919",
    source_id: exampleIds["feed"],
    seq: "919",
    status: "open",
    item: { seq: "919", type: "execution", data: { action: "close", position_id: "P-40", price: "1.10350" } },
    code: "unknown_position",
    detail: "Its position_id is not known.",
    errors: [{ pointer: "#/data/position_id", code: "unknown_position", detail: "is not known" }],
    candidates: [],
    booked: null,
    resolution: null,
    reason: null,
    tries: 1,
    created_at,
    updated_at: created_at,
    version: 1,
    _links: links({
      source: `/feed/sources/${exampleIds["feed"]}`,
      retry: `/feed/sources/${exampleIds["feed"]}/rejects/919/retry`,
      dismiss: `/feed/sources/${exampleIds["feed"]}/rejects/919/dismiss`,
    }),
  },
  FeedResult: {
    seq: "918",
    status: "applied",
    code: "unknown_position",
    detail: "Its position_id is not known.",
    trade_id: "trd_01JD000000000000000000000A",
    order_id: "ord_01JD000000000000000000000C",
    transaction_id,
    command_id: exampleNames.command_id,
    reported_at: "1970-01-01T00:00:00.000Z",
    related_to: "txn_01JD000000000000000000000E",
    candidates: ["txn_01JD000000000000000000000E"],
  },
  FeedSource: feedSource,
};
