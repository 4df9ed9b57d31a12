import type { StreamConnection } from "../domain/stream/connection.ts";
import { meteredMessages } from "../domain/usage/stream-count.ts";
import { newId } from "../runtime/ids.ts";
import { log } from "../runtime/log.ts";

/**
 * Counts the messages of connections of one brokerage by their holders, and says so in the log, where `GET /usage`
 * finds it: one line for many messages, and no call (ADR 0064).
 */
export class StreamMeter {
  private readonly tenant_id: string;
  private sent: Record<string, number> = {};
  private received: Record<string, number> = {};

  constructor(tenant_id: string) {
    this.tenant_id = tenant_id;
  }

  /** Counts a message that a connection of this holder took. */
  countSent(holderId: string, bytes: number): void {
    this.sent[holderId] = (this.sent[holderId] ?? 0) + meteredMessages(bytes);
  }

  /** Counts a message of a client. */
  countReceived(holderId: string, bytes: number): void {
    this.received[holderId] = (this.received[holderId] ?? 0) + meteredMessages(bytes);
  }

  /** Writes what was counted since the last time; nothing where that is nothing. */
  write(): void {
    const { tenant_id, sent, received } = this;
    const counted = Object.entries({ sent, received }).filter(([, by]) => Object.keys(by).length > 0);
    if (counted.length === 0) return;
    [this.sent, this.received] = [{}, {}];
    log.info("stream", { line_id: newId("stl"), tenant_id, ...Object.fromEntries(counted) });
  }
}

/** Says in the log when a connection was opened and ended: however often it says so, it is counted once, by its id. */
export function logConnection({
  connection_id,
  tenant_id,
  holder,
  connected_at,
  ended_at,
}: Pick<StreamConnection, "connection_id" | "tenant_id" | "holder" | "connected_at" | "ended_at">): void {
  log.info("connection", { connection_id, tenant_id, actor_id: holder.id, connected_at, ended_at });
}
