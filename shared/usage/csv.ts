import type { Answer } from "../http/exchange.ts";
import { tableAnswer } from "../http/tables/table-reply.ts";
import type { UsageBody } from "../schema/reports/usage.ts";

const columns = [
  ...["day", "actor_id", "route_group", "requests", "writes", "read_units", "write_units", "function_ms", "cost_usd"],
  ...["events", "deliveries", "messages_sent", "messages_received", "connection_minutes"],
] as const;

/**
 * Usage as a table: a line for each row of requests, then one for each row of events and of the stream; a line is empty
 * in the columns of the others, so that every column can be added up.
 */
export function usageTable({ data, events, stream }: UsageBody): Answer {
  return tableAnswer(columns, [...data, ...events, ...stream]);
}
