import type {
  StreamBrokerage,
  StreamConnection,
  StreamFlag,
  StreamHolder,
  StreamSet,
} from "../../domain/stream/connection.ts";
import type { StreamTicket } from "../../domain/stream/ticket.ts";
import type { Entity, Key } from "./keys.ts";

// All of it is in the volatile table: after a restore of the main table, clients connect again.

/** Tickets by their hash, in partitions that no tenant owns: who connects names no tenant. */
export const streamTickets = {
  et: "STREAMTICKET",
  key: (ticketSha256: string): Key => ({
    pk: `GLOBAL|STREAMTICKET|${ticketSha256}`,
    sk: "TICKET",
    volatile: true,
  }),
  keyOf: (item: StreamTicket): Key => streamTickets.key(item.ticket_sha256),
} satisfies Entity<StreamTicket> & Record<string, unknown>;

/** The partition of everything that a brokerage has of the stream. */
function partition(tenant: string): string {
  return `${tenant}|STREAM`;
}

/** Open connections with their subscriptions. */
export const streamConnections = {
  et: "STREAMCON",
  partition,
  key: (tenant: string, id: string): Key => ({ pk: partition(tenant), sk: `CON#${id}`, volatile: true }),
  keyOf: (item: StreamConnection): Key => streamConnections.key(item.tenant_id, item.connection_id),
} satisfies Entity<StreamConnection> & Record<string, unknown>;

/** Sets of connections that are served together. */
export const streamSets = {
  et: "STREAMSET",
  key: (tenant: string, set: number): Key => ({ pk: partition(tenant), sk: `SET#${set}`, volatile: true }),
  keyOf: (item: StreamSet): Key => streamSets.key(item.tenant_id, item.set),
} satisfies Entity<StreamSet> & Record<string, unknown>;

/** Says which sets of a brokerage have connections; a brokerage without connections has none. */
export const streamFlags = {
  et: "STREAMFLAG",
  key: (tenant: string): Key => ({ pk: partition(tenant), sk: "FLAG", volatile: true }),
  keyOf: (item: StreamFlag): Key => streamFlags.key(item.tenant_id),
} satisfies Entity<StreamFlag> & Record<string, unknown>;

/** Connections of one application or operator, which are limited. */
export const streamHolders = {
  et: "STREAMHOLDER",
  key: (tenant: string, holder: string): Key => ({ pk: partition(tenant), sk: `HOLDER#${holder}`, volatile: true }),
  keyOf: (item: StreamHolder): Key => streamHolders.key(item.tenant_id, item.holder_id),
} satisfies Entity<StreamHolder> & Record<string, unknown>;

/** Brokerages that have a flag, in one partition that no tenant owns: the sweep goes through them. */
export const streamDirectory = {
  et: "STREAMDIR",
  partition: "GLOBAL|STREAMS",
  key: (tenant: string): Key => ({ pk: streamDirectory.partition, sk: tenant, volatile: true }),
  keyOf: (item: StreamBrokerage): Key => streamDirectory.key(item.tenant_id),
} satisfies Entity<StreamBrokerage> & Record<string, unknown>;
