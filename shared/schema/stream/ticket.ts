import * as z from "zod/mini";
import { described } from "../described.ts";
import { Address, Timestamp } from "../fields.ts";

/** `POST /stream_tickets`: a ticket for one connection. */
export const StreamTicket = z.object({
  object: described(z.literal("stream_ticket"), "Resource type; always this value."),
  ticket: described(z.string(), "The ticket: a secret that opens one connection and cannot be read again."),
  expires_at: described(Timestamp, "End of the ticket, 60 seconds after it was issued."),
  url: described(Address, "Address to connect to, with the ticket."),
});

/** A new ticket on the wire. */
export type StreamTicketBody = z.infer<typeof StreamTicket>;
