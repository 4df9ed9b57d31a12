import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import { eventTypes, optInEventTypes } from "../event-types.ts";
import { echoedIdentifier, id } from "../fields.ts";
import { SymbolName } from "../symbol.ts";

const bounds = limits.stream;

const allTypes = [...eventTypes, ...optInEventTypes];

/** A name of an event type, or all types of a resource: `transaction.*`. */
const TypePattern = z.enum([
  ...allTypes,
  ...new Set(allTypes.map((type) => `${type.slice(0, type.indexOf("."))}.*` as const)),
]);

/** A number of an event, 0 for the time before the first one. */
const EventNumber = z.string().check(z.regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number, as text"));

const EventsChannel = z.strictObject({
  name: described(z.literal("events"), "Events in order of their sequence numbers, at least once each."),
  types: described(
    z.optional(z.array(TypePattern).check(z.minLength(1), z.maxLength(limits.webhooks.max_event_types))),
    "Event types to send, by name or as `transaction.*` for all types of a resource; all types, including those that " +
      "are opt-in for webhooks, if omitted.",
  ),
  account_id: described(z.optional(id("acc")), "Send only events of this account."),
  after_sequence: described(
    z.optional(EventNumber),
    "First send the stored events with a higher sequence number: pass that of the last event you received. Only new " +
      "events are sent if omitted.",
  ),
});

const AccountsChannel = z.strictObject({
  name: described(
    z.literal("accounts"),
    "Accounts as `GET /accounts/{id}` returns them: now, on every event of the account, and every five seconds while " +
      "prices move.",
  ),
  ids: described(
    z.array(id("acc")).check(z.minLength(1), z.maxLength(bounds.accounts_per_connection)),
    "Account identifiers; at most 200 in all subscriptions of a connection.",
  ),
});

const MarginChannel = z.strictObject({
  name: described(
    z.literal("margin"),
    "Accounts in a margin call or a stop-out: up to 200 of them now and every five seconds, and each on its margin " +
      "events.",
  ),
});

const QuotesChannel = z.strictObject({
  name: described(
    z.literal("quotes"),
    "The newest quotes of symbols; a quote that a newer one follows may be left out.",
  ),
  symbols: described(
    z.array(SymbolName).check(z.minLength(1), z.maxLength(bounds.symbols_per_connection)),
    "Symbol names; at most 100 in all subscriptions of a connection.",
  ),
  max_per_second: described(
    z.optional(z.int().check(z.minimum(1), z.maximum(bounds.max_quotes_per_second))),
    "Most quotes of a symbol in a second; 1 if omitted.",
  ),
});

const CommandsChannel = z.strictObject({
  name: described(
    z.literal("commands"),
    "Commands to a trading platform: up to 100 that have not ended, and then each one that is issued or settled.",
  ),
  source_id: described(id("src"), "Feed source that the commands are for."),
});

/** A channel of a subscription. */
export const Channel = z.discriminatedUnion("name", [
  EventsChannel,
  AccountsChannel,
  MarginChannel,
  QuotesChannel,
  CommandsChannel,
]);

const MessageId = echoedIdentifier(bounds.max_id_characters);

/** Starts to receive what channels send. */
export const SubscribeMessage = z.strictObject({
  type: described(z.literal("subscribe"), "Message type."),
  id: described(
    MessageId,
    "Your name for the subscription, unique in the connection. The same subscription again changes nothing. The " +
      "name of one that has ended is free after 10 seconds (`in_use` before).",
  ),
  channels: described(
    z.array(Channel).check(z.minLength(1), z.maxLength(bounds.channels_per_connection)),
    "Channels, one of each name at most; at most 20 in all subscriptions of a connection.",
  ),
});

/** Ends a subscription. */
export const UnsubscribeMessage = z.strictObject({
  type: described(z.literal("unsubscribe"), "Message type."),
  id: described(MessageId, "Name of the subscription."),
});

/** Asks for a `pong`, to test the connection and to keep it open. */
export const PingMessage = z.strictObject({
  type: described(z.literal("ping"), "Message type."),
  id: described(z.optional(MessageId), "Your name for the message, which its `pong` repeats."),
});

/** Any message of a client. */
export const ClientMessage = z.discriminatedUnion("type", [SubscribeMessage, UnsubscribeMessage, PingMessage]);

/** A channel on the wire, and as it is stored. */
export type StreamChannel = z.infer<typeof Channel>;
/** A message of a client on the wire. */
export type ClientMessageBody = z.infer<typeof ClientMessage>;
/** A subscription on the wire. */
export type SubscribeBody = z.infer<typeof SubscribeMessage>;
