import { refuse } from "../../shared/domain/kernel/decision.ts";
import { allowsStream } from "../../shared/domain/stream/handshake.ts";
import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { createStreamTicket } from "../../shared/routes/stream.ts";
import { issueTicket } from "../../shared/stream/tickets.ts";

/** `POST /stream_tickets`: a lost answer is asked for again, so nothing is stored of it but the hash of the ticket. */
export const handler = await ingest(createStreamTicket, async ({ caller, reportGiven }) => {
  if (!allowsStream(caller.scopes)) {
    throw refused(
      refuse("insufficient_scope", "The token has no scope that a channel of the stream requires.").refusal,
    );
  }
  const [ticket] = await Promise.all([issueTicket(caller), reportGiven()]);
  return ticket;
});
