import * as z from "zod/mini";
import { TradingAccount } from "../account.ts";
import { described } from "../described.ts";
import { BrokerageEvent, EventTypeSchema } from "../event.ts";
import { Command } from "../feed/command.ts";
import { Links, Timestamp } from "../fields.ts";
import { Quote } from "../quote.ts";

const EventNumber = described(z.string(), "Sequence number of an event, as in `GET /events`.");
const subscriptions = described(z.array(z.string()), "Your names of the subscriptions that the message is sent for.");
const id = "Your name for the subscription or message.";

/** The first message of a connection; it may be repeated. */
export const HelloMessage = z.object({
  type: described(z.literal("hello"), "Message type."),
  connection_id: described(z.string(), "Identifier of the connection; name it in support requests."),
  head_sequence: described(z.string(), "Sequence number of the last published event; `0` before the first."),
  expires_at: described(
    Timestamp,
    "Latest end of the connection, two hours after it was opened; the service ends it within the minute before.",
  ),
});

/** The subscription is stored; what its channels send follows. */
export const SubscribedMessage = z.object({
  type: described(z.literal("subscribed"), "Message type."),
  id: described(z.string(), id),
});

/** The subscription has ended; messages that were on their way may still follow. */
export const UnsubscribedMessage = z.object({
  type: described(z.literal("unsubscribed"), "Message type."),
  id: described(z.string(), id),
});

/** Answers a `ping`. */
export const PongMessage = z.object({
  type: described(z.literal("pong"), "Message type."),
  id: described(z.optional(z.string()), id),
});

const Fault = z.object({
  pointer: described(z.string(), "JSON Pointer into the message, as a URI fragment: `#/channels/0/ids/3` (RFC 6901)."),
  code: described(z.string(), "Machine-readable reason."),
  detail: described(z.string(), "Human-readable explanation."),
});

/** A message of the client was refused; the connection stays open. */
export const ErrorMessage = z.object({
  type: described(z.literal("error"), "Message type."),
  id: described(z.optional(z.string()), `${id} Absent if the message had none that could be read.`),
  code: described(z.string(), "Machine-readable reason, one of the codes of the REST API's problems."),
  detail: described(z.string(), "Human-readable explanation."),
  errors: described(z.optional(z.array(Fault)), "The members that are not valid."),
});

/** Sent every five minutes, so that a quiet connection stays open. */
export const HeartbeatMessage = z.object({
  type: described(z.literal("heartbeat"), "Message type."),
  sequence: described(z.string(), "Sequence number of the last published event; `0` before the first."),
});

/**
 * Why the service ends a connection: `expired` in the last of its 120 minutes; `access_ended` when the application or
 * operator was revoked, suspended or removed, or the token that opened it was revoked; `access_changed` when its scopes
 * changed, or the client secret behind its token ended; `too_slow` when messages were not taken in time;
 * `too_many_messages` when the client kept sending above its limit; `going_away` for any other reason.
 */
export const closingCodes = [
  "expired",
  "access_ended",
  "access_changed",
  "too_slow",
  "too_many_messages",
  "going_away",
] as const;

/** The last message of a connection that the service ends. */
export const ClosingMessage = z.object({
  type: described(z.literal("closing"), "Message type."),
  code: described(z.enum(closingCodes), "Why the connection ends."),
  detail: described(z.string(), "Human-readable explanation."),
});

/** Replaces an event that does not fit a message. */
const EventReference = z.object({
  id: described(z.string(), "Event identifier."),
  object: described(z.literal("event"), "Resource type; always this value."),
  type: described(EventTypeSchema, "Event type."),
  sequence: EventNumber,
  _links: described(Links, "Link to the event."),
});

/** An event. */
export const EventMember = z.object({
  type: described(z.literal("event"), "Message type."),
  subscriptions,
  sequence: EventNumber,
  event: described(
    z.union([BrokerageEvent, EventReference]),
    "The event exactly as `GET /events/{id}` returns it; if it does not fit a message, its id, type, number and link.",
  ),
  truncated: described(z.optional(z.literal(true)), "Set when the event did not fit a message: get it by its link."),
});

/** Replaces an account that does not fit a message. */
const AccountReference = z.object({
  id: described(z.string(), "Account identifier."),
  object: described(z.literal("account"), "Resource type; always this value."),
  _links: described(Links, "Link to the account."),
});

/** An account as it is now. */
export const AccountMember = z.object({
  type: described(z.literal("account"), "Message type."),
  subscriptions,
  account: described(
    z.union([TradingAccount, AccountReference]),
    "The account as `GET /accounts/{id}` returns it; if it does not fit a message, its id and link.",
  ),
  truncated: described(z.optional(z.literal(true)), "Set when the account did not fit a message: get it by its link."),
});

/** The newest quote of a symbol. */
export const QuoteMember = z.object({
  type: described(z.literal("quote"), "Message type."),
  subscriptions,
  quote: described(Quote, "The quote as `GET /quotes/{symbol}` returns it."),
});

/** A command to a trading platform. */
export const CommandMember = z.object({
  type: described(z.literal("command"), "Message type."),
  subscriptions,
  command: described(Command, "The command as `GET /feed/sources/{id}/commands/{command_id}` returns it."),
});

/** The replay or the snapshot of a channel is complete; what follows is live. */
export const SyncEndMember = z.object({
  type: described(z.literal("sync_end"), "Message type."),
  subscription: described(z.string(), "Your name of the subscription."),
  channel: described(z.enum(["events", "accounts", "margin", "quotes", "commands"]), "Name of the channel."),
  sequence: described(z.string(), "Sequence number that the replay or the snapshot reaches."),
  truncated: described(
    z.optional(z.literal(true)),
    "Set when there are more than 200 accounts or 100 commands: get the others by `GET`.",
  ),
});

/** Sent 60 seconds before the end of the connection: connect again and resume. */
export const ExpiringMember = z.object({
  type: described(z.literal("expiring"), "Message type."),
  expires_at: described(Timestamp, "Latest end of the connection; the service ends it within the minute before."),
});

/** Members of a batch. */
export const BatchMember = z.discriminatedUnion("type", [
  EventMember,
  AccountMember,
  QuoteMember,
  CommandMember,
  SyncEndMember,
  ExpiringMember,
]);

/** Messages that are sent together, at most 32 KB, in order. */
export const BatchMessage = z.object({
  type: described(z.literal("batch"), "Message type."),
  messages: described(z.array(BatchMember), "The messages, in order."),
});

/** Any message of the service. */
export const ServerMessage = z.discriminatedUnion("type", [
  HelloMessage,
  SubscribedMessage,
  UnsubscribedMessage,
  PongMessage,
  ErrorMessage,
  HeartbeatMessage,
  ClosingMessage,
  BatchMessage,
]);

/** Why the service ends a connection. */
export type ClosingCode = (typeof closingCodes)[number];
/** A member of a batch on the wire. */
export type BatchMemberBody = z.infer<typeof BatchMember>;
/** A message of the service on the wire. */
export type ServerMessageBody = z.infer<typeof ServerMessage>;
