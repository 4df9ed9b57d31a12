import { BrokerageEvent, EventTypeCatalogue, ListEventsQuery } from "../schema/event.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** `GET /events` */
export const listEvents = route({
  id: "list_events",
  method: "GET",
  path: "/events",
  tag: "Events",
  summary: "List events",
  description:
    "Published events in the order of their sequence. A reader who continues from the last sequence they saw misses " +
    "no event; filtered by `resource_id`, `account_id` or `client_id`, the list may show an event moments after a " +
    "later one.",
  file: "events/list",
  scope: "events:read",
  grants: ["query", "query:state", "query:owner", "read"],
  query: ListEventsQuery,
  reply: page(BrokerageEvent),
  refusals: ["invalid_cursor"],
});

/** `GET /events/{id}` */
export const getEvent = route({
  id: "get_event",
  method: "GET",
  path: "/events/{id}",
  tag: "Events",
  summary: "Get an event",
  description: "Returns the same bytes that webhooks deliver. Events are kept for 90 days.",
  file: "events/get",
  scope: "events:read",
  grants: ["read"],
  reply: BrokerageEvent,
});

/** `GET /event_types` */
export const listEventTypes = route({
  id: "list_event_types",
  method: "GET",
  path: "/event_types",
  tag: "Events",
  summary: "List event types",
  description: "Every event type with the JSON Schema of its events and a sample.",
  file: "events/list-types",
  scope: "events:read",
  grants: [],
  reply: EventTypeCatalogue,
});

/** Rows of the event endpoints. */
export const eventRoutes = [listEvents, getEvent, listEventTypes] as const;
