import { StreamTicket } from "../schema/stream/ticket.ts";
import { route } from "./route.ts";

/** `POST /stream_tickets` */
export const createStreamTicket = route({
  id: "create_stream_ticket",
  method: "POST",
  path: "/stream_tickets",
  tag: "Stream",
  summary: "Get a ticket for the stream",
  description:
    "For clients that cannot send an `Authorization` header with a WebSocket handshake, such as browsers: connect to " +
    "`url` within 60 seconds. A ticket opens one connection, with the rights of the token at the time of connecting; " +
    "if the answer is lost, ask for another one. Requires a token with at least one of the scopes `events:read`, " +
    "`accounts:read`, `quotes:read` and `feed:read`. A server connects with its access token in the " +
    "`Authorization` header instead; no token is accepted in the URL.",
  file: "stream/create-ticket",
  scope: null,
  grants: [],
  globals: { count: ["stream_tickets"] },
  stream: true,
  named: true,
  reply: StreamTicket,
  status: 201,
  refusals: ["insufficient_scope"],
});

/** Rows of the stream. */
export const streamRoutes = [createStreamTicket] as const;
