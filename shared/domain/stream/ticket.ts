import type { StreamPrincipal } from "./connection.ts";

/** A ticket that a browser connects to the stream with: it is good for one connection. Only its hash is stored. */
export interface StreamTicket extends StreamPrincipal {
  /** SHA-256 of the ticket, in hexadecimal digits. */
  readonly ticket_sha256: string;
  readonly tenant_id: string;
  /** End of its life in epoch seconds; compared on use, because DynamoDB deletes late. */
  readonly expires_at: number;
}
