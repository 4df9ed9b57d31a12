import * as z from "zod/mini";
import { described } from "../described.ts";
import { CalendarDate, ownFields, tableFormat } from "../fields.ts";

const Actor = z.string().check(z.regex(/^[\w-]{1,64}$/));
const Group = z.string().check(z.regex(/^[\w.-]{1,64}$/));

/** Query of `GET /usage`. */
export const UsageQuery = z.strictObject({
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC), at most 31 days with the first."),
  actor_id: described(z.optional(Actor), "Identifier of an application, an operator or a part of the service."),
  format: tableFormat,
  route_group: described(
    z.optional(Group),
    "First segment of a path: `clients`. Events and the stream are of no route group.",
  ),
});

const count = (what: string) => described(z.int(), `Number of ${what}.`);

const requestMembers = {
  requests: count("requests, refused ones included"),
  writes: count("requests with another method than GET"),
  read_units: described(z.number(), "Read units of the database; a read may take half a unit."),
  write_units: described(z.number(), "Write units of the database, indexes included."),
  function_ms: described(z.int(), "Time that functions worked on the requests, in milliseconds."),
  cost_usd: described(
    z.string(),
    "What the gateway, the functions and the database cost for the requests at list prices, in US dollars.",
  ),
};

const eventMembers = {
  events: count("events that were published"),
  deliveries: count("endpoints that these events went to, added up; retries and replays do not count"),
  cost_usd: described(
    z.string(),
    "What the database, the functions, the queues and the transfer cost at list prices for such events, by the units " +
      "that were measured for an event with as many endpoints, in US dollars.",
  ),
};

const perMessage = "a message of more than 32 KB counts once for each 32 KB that it begins";

const streamMembers = {
  messages_sent: count(`messages that connections of the stream took; ${perMessage}`),
  messages_received: count(`messages of clients of the stream; ${perMessage}`),
  connection_minutes: described(
    z.int(),
    "Minutes that connections of the stream were open, begun ones included, on the day on which they ended.",
  ),
  cost_usd: described(
    z.string(),
    "What the gateway costs at list prices for these messages and minutes, in US dollars; without the functions and " +
      "the database behind the stream.",
  ),
};

const costOf = (what: string) => described(z.string(), `Cost of ${what}, in US dollars.`);

const day = described(CalendarDate, "Day (UTC).");
const actor_id = described(z.string(), "Identifier of the application, the operator or the part of the service.");

/** Usage of a brokerage, by day and caller. */
export const Usage = z.object({
  object: described(z.literal("usage"), "Resource type; always this value."),
  from: described(CalendarDate, "First day (UTC)."),
  to: described(CalendarDate, "Last day (UTC)."),
  prices: described(
    z.object({
      region: described(z.string(), "Region that the list prices are of."),
      read_on: described(CalendarDate, "Day on which the price list was read."),
    }),
    "The price list that `cost_usd` is calculated with.",
  ),
  total: described(
    z.object({
      ...{ ...requestMembers, ...eventMembers, ...streamMembers },
      requests_cost_usd: costOf("the requests"),
      events_cost_usd: costOf("the events and their deliveries"),
      stream_cost_usd: costOf("the messages and minutes of the stream"),
      cost_usd: costOf("everything that is shown"),
    }),
    "Sums over everything that is shown.",
  ),
  forecast: described(
    z.nullable(
      z.object({
        month: described(z.string().check(z.regex(/^\d{4}-\d\d$/)), "The current month (UTC)."),
        counted_days: count("its days that are complete and shown"),
        cost_usd: costOf("the month if its other days cost as much on average as these"),
      }),
    ),
    "Forecast of the current month for what is shown. `null` unless `from` is its first day and a day is complete.",
  ),
  data: described(
    z.array(z.object({ day, actor_id, route_group: described(z.string(), "Route group."), ...requestMembers })),
    "Requests by day, caller and route group, in this order.",
  ),
  events: described(z.array(z.object({ day, actor_id, ...eventMembers })), "Events by day and actor, in this order."),
  stream: described(
    z.array(z.object({ day, actor_id, ...streamMembers })),
    "Messages and connections of the stream by day and the application or operator that held them, in this order.",
  ),
  _links: ownFields._links,
});

/** Usage, on the wire. */
export type UsageBody = z.infer<typeof Usage>;
