import { limits } from "../../limits.ts";

/** Usage of connections of the stream, as API Gateway meters it. */
export interface StreamUsage {
  /** Messages that connections took, and messages of their clients, each once for every 32 KB that it begins. */
  readonly messages_sent: number;
  readonly messages_received: number;
  /** Minutes that connections were open, begun ones included, counted when a connection has ended. */
  readonly connection_minutes: number;
}

/** No message and no connection. */
export const noStream: StreamUsage = { messages_sent: 0, messages_received: 0, connection_minutes: 0 };

/** The sum of two usages, member by member. */
export function addStream(a: StreamUsage, b: StreamUsage): StreamUsage {
  return {
    messages_sent: a.messages_sent + b.messages_sent,
    messages_received: a.messages_received + b.messages_received,
    connection_minutes: a.connection_minutes + b.connection_minutes,
  };
}

/** As how many messages one of so many bytes counts: an empty one is one. */
export function meteredMessages(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / limits.stream.metered_bytes));
}

/**
 * Begun minutes from the one moment to the other, both RFC 3339: at least one, and no more than API Gateway keeps a
 * connection open, however late its end is noticed.
 */
export function connectionMinutes(connected_at: string, ended_at: string): number {
  const minutes = Math.ceil((Date.parse(ended_at) - Date.parse(connected_at)) / 60_000);
  return Math.min(Math.max(1, minutes), limits.stream.connection_seconds / 60);
}
