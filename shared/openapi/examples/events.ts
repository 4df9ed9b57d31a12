import { eventTexts } from "../../schema/event-types.ts";
import type { JsonObject } from "../document.ts";
import { account } from "./accounts.ts";
import { auditSeal } from "./audit.ts";
import { commandNotice } from "./commands.ts";
import { drift } from "./drift.ts";
import { feedSource } from "./feed.ts";
import { actor, completed_at, created_at, event_id, exampleRequestId, links, transaction_id } from "./identifiers.ts";
import { addedOwner, endedOperator } from "./operators.ts";
import { reconciliation } from "./reports.ts";
import { opened, trade } from "./trading.ts";
import { transaction } from "./transactions.ts";

const restore = {
  id: "rst_01JD000000000000000000000K",
  object: "restore",
  restored_to: created_at,
  last_valid_sequence: "41",
  resumed_after_sequence: "63",
  version: 1,
  created_at: completed_at,
  _links: links({ self: "/events?after_sequence=63" }),
};

/** An account of 2000.00 USD that bought 1.00 EURUSD and sold 0.50 USDJPY, at its margin call. */
const called = {
  balance: "2000.00",
  credit: "0.00",
  held: "0.00",
  available_balance: "2000.00",
  floating_pnl: "-409.81",
  equity: "1590.19",
  used_margin: "1600.10",
  free_margin: "-9.91",
  margin_level: "99.38",
  withdrawable: "0.00",
  margin_status: "margin_call",
  metrics_as_of: completed_at,
  metrics_stale: false,
};

/** The same account at its stop-out level. */
const beforeStopOut = {
  ...called,
  floating_pnl: "-1359.22",
  equity: "640.78",
  free_margin: "-959.32",
  margin_level: "40.04",
  margin_status: "stop_out",
};

/** And after the first position was closed. */
const afterStopOut = {
  ...called,
  balance: "840.00",
  available_balance: "840.00",
  floating_pnl: "-199.22",
  equity: "640.78",
  used_margin: "500.00",
  free_margin: "140.78",
  margin_level: "128.15",
  withdrawable: "140.78",
  margin_status: "normal",
};

const trading: JsonObject = { ...account, type: "demo", leverage: 100, balance_version: 1 };

const liquidated: JsonObject = {
  ...trading,
  ...afterStopOut,
  balance_version: 2,
  stop_out: {
    order: "most_losing_first",
    mode: "full",
    started_at: completed_at,
    before: beforeStopOut,
    after: afterStopOut,
    closed_trade_ids: ["trd_01JD000000000000000000000D"],
  },
};

/** Content of an event, by its type, if it differs from what `GET` returns. */
interface EventData {
  readonly object: JsonObject;
  readonly previous?: JsonObject;
}

/** Samples of events with more than the current resource. */
export const eventData: Readonly<Record<string, EventData>> = {
  "trade.opened": { object: opened },
  "trade.closed": { object: trade, previous: { status: "open" } },
  "margin.call": { object: { ...trading, ...called }, previous: { margin_status: "normal" } },
  "margin.recovered": {
    object: { ...trading, ...afterStopOut, balance_version: 2 },
    previous: { margin_status: "margin_call" },
  },
  "stop.out": { object: liquidated },
  "drift.resolved": {
    object: {
      ...drift,
      status: "resolved",
      resolution: { action: "agreed", by: null, reason: null, transaction_id: null, trade_id: null },
      resolved_at: completed_at,
      version: 2,
    },
    previous: { status: "open" },
  },
  "feed.stale": { object: { ...feedSource, lag_ms: 61_000, stale: true }, previous: { stale: false } },
  "feed.recovered": { object: { ...feedSource, version: 4 }, previous: { stale: true } },
  "feed.snapshots_late": {
    object: { ...feedSource, snapshots_late_since: completed_at, version: 5 },
    previous: { snapshots_late_since: null },
  },
  "feed.snapshots_resumed": {
    object: { ...feedSource, version: 6 },
    previous: { snapshots_late_since: completed_at },
  },
  "feed.clock_off": {
    object: {
      ...feedSource,
      clock_off: { since: completed_at, reported_at: "2026-11-21T09:31:12.000Z" },
      version: 7,
    },
    previous: { clock_off: null },
  },
  "audit.sealed": { object: auditSeal },
  "brokerage.restored": { object: restore },
  "owner.added": { object: addedOwner },
  "operator.ended": { object: endedOperator, previous: { role: "developer", status: "active", version: 2 } },
  "reconciliation.difference_found": { object: reconciliation },
  "command.settled": { object: { ...commandNotice, version: 3 }, previous: { status: "taken" } },
};

/** Examples of the replies about events, by component. */
export const eventsReplies: Readonly<Record<string, unknown>> = {
  BrokerageEvent: {
    id: event_id,
    object: "event",
    type: "transaction.completed",
    api_version: "v2",
    created_at: completed_at,
    timestamp: completed_at,
    environment: "sandbox",
    resource: { type: "transaction", id: transaction_id, version: 2 },
    actor,
    request_id: exampleRequestId,
    data: { object: transaction, previous: { status: "pending", version: 1 } },
    sequence: "184467",
    _links: links({ self: `/events/${event_id}`, resource: `/transactions/${transaction_id}` }),
  },
  EventTypeCatalogue: {
    object: "list",
    data: [
      {
        type: "client.created",
        description: eventTexts["client.created"],
        opt_in: false,
        schema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
        sample: { id: event_id, object: "event", type: "client.created" },
      },
    ],
  },
  LiquidatedAccount: liquidated,
};
