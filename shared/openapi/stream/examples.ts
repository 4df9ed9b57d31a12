import type { JsonObject } from "../document.ts";
import { account_id, exampleIds, links } from "../examples/identifiers.ts";
import { replyExamples } from "../examples.ts";

const event = replyExamples["BrokerageEvent"] as JsonObject;
const sequence = String(event["sequence"]);
const expires_at = "2026-11-21T08:30:00.123Z";

/** Members of a batch, an example of each type. */
const members = {
  event: { type: "event", subscriptions: ["all"], sequence, event },
  reference: {
    type: "event",
    subscriptions: ["all"],
    sequence,
    event: {
      id: event["id"],
      object: "event",
      type: event["type"],
      sequence,
      _links: links({ self: `/events/${event["id"]}` }),
    },
    truncated: true,
  },
  account: { type: "account", subscriptions: ["desk"], account: replyExamples["TradingAccount"] },
  quote: { type: "quote", subscriptions: ["desk"], quote: replyExamples["Quote"] },
  command: { type: "command", subscriptions: ["bridge"], command: replyExamples["Command"] },
  sync_end: { type: "sync_end", subscription: "all", channel: "events", sequence },
  expiring: { type: "expiring", expires_at },
};

/** An example of a message, with a name and a sentence. */
export interface MessageExample {
  readonly name: string;
  readonly summary: string;
  readonly payload: JsonObject;
}

const batch = (name: string, summary: string, ...messages: readonly object[]): MessageExample => ({
  name,
  summary,
  payload: { type: "batch", messages },
});

/** Examples of every message, by the name of its schema. */
export const messageExamples: Readonly<Record<string, readonly MessageExample[]>> = {
  SubscribeMessage: [
    {
      name: "resume",
      summary: "All events of transactions after the last one that was received",
      payload: {
        type: "subscribe",
        id: "all",
        channels: [{ name: "events", types: ["transaction.*"], after_sequence: "1200" }],
      },
    },
    {
      name: "desk",
      summary: "What a dealing desk watches",
      payload: {
        type: "subscribe",
        id: "desk",
        channels: [
          { name: "accounts", ids: [account_id] },
          { name: "margin" },
          { name: "quotes", symbols: ["EURUSD"], max_per_second: 2 },
        ],
      },
    },
    {
      name: "bridge",
      summary: "Commands to a trading platform",
      payload: { type: "subscribe", id: "bridge", channels: [{ name: "commands", source_id: exampleIds["feed"] }] },
    },
  ],
  UnsubscribeMessage: [
    { name: "unsubscribe", summary: "End a subscription", payload: { type: "unsubscribe", id: "desk" } },
  ],
  PingMessage: [{ name: "ping", summary: "Test the connection", payload: { type: "ping", id: "7" } }],
  HelloMessage: [
    {
      name: "hello",
      summary: "The connection is open",
      payload: { type: "hello", connection_id: "eXaMpLe1DoECHQg=", head_sequence: sequence, expires_at },
    },
  ],
  SubscribedMessage: [
    { name: "subscribed", summary: "The subscription is stored", payload: { type: "subscribed", id: "all" } },
  ],
  UnsubscribedMessage: [
    { name: "unsubscribed", summary: "The subscription has ended", payload: { type: "unsubscribed", id: "desk" } },
  ],
  PongMessage: [{ name: "pong", summary: "Answer to a ping", payload: { type: "pong", id: "7" } }],
  ErrorMessage: [
    {
      name: "error",
      summary: "A subscription that is not valid",
      payload: {
        type: "error",
        id: "desk",
        code: "validation_failed",
        detail: "The message has members that are not valid.",
        errors: [{ pointer: "#/channels/0/name", code: "invalid_value", detail: "must be the name of a channel" }],
      },
    },
  ],
  HeartbeatMessage: [
    { name: "heartbeat", summary: "The connection is alive", payload: { type: "heartbeat", sequence } },
  ],
  ClosingMessage: [
    {
      name: "closing",
      summary: "The service ends the connection",
      payload: { type: "closing", code: "expired", detail: "A connection lasts two hours. Connect again." },
    },
  ],
  BatchMessage: [
    batch("replay", "Events after the requested number, and the end of them", members.event, members.sync_end),
    batch("truncated", "An event that is too large for a message", members.reference),
    batch("state", "The newest state of an account and a symbol", members.account, members.quote),
    batch("command", "A command to a trading platform", members.command),
    batch("expiring", "The connection ends in a minute", members.expiring),
  ],
};
