import type { Actor } from "../domain/kernel/decision.ts";
import type { StreamPrincipal } from "../domain/stream/connection.ts";
import type { StreamTicket } from "../domain/stream/ticket.ts";
import type { Caller } from "../http/caller.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { env } from "../runtime/env.ts";
import { newSecretWord } from "../runtime/ids.ts";
import type { StreamTicketBody } from "../schema/stream/ticket.ts";
import { streamTickets } from "../table/entities.ts";
import { isNew } from "../table/expression.ts";
import { changeItem, takeStored } from "../table/items.ts";

/** Issues a ticket for a caller. It is stored by its hash alone, so what is stored opens no connection. */
export async function issueTicket({
  tenant_id,
  actor,
  client_id,
  family_id,
  session,
  scopes,
}: Caller): Promise<StreamTicketBody> {
  const ticket = `stk_${newSecretWord(limits.stream.ticket_characters)}`;
  const expires_at = Math.floor(nowMs() / 1000) + limits.stream.ticket_seconds;
  const stored: StreamTicket = {
    ...{ ticket_sha256: sha256(ticket), tenant_id, client_id, scopes, expires_at },
    ...(family_id !== "" && { family_id }),
    ...(session !== undefined && { session }),
    holder: holderOf(actor),
  };
  // Counted requests may update items of the volatile table, and there is no further right for this.
  await changeItem(streamTickets.keyOf(stored), { set: { et: streamTickets.et, ...stored }, when: [isNew] });
  return {
    object: "stream_ticket",
    ticket,
    expires_at: new Date(expires_at * 1000).toISOString(),
    url: `${env.streamUrl}?ticket=${ticket}`,
  };
}

/** The holder of a ticket or of a connection. */
export function holderOf({ type, id }: Actor): StreamPrincipal["holder"] {
  if (type === "system") throw new Error("The service itself opens no connection.");
  return { type, id };
}

/** Uses up a ticket: of several connections with it one gets it. Undefined when it is unknown, used or expired. */
export async function takeTicket(ticket: string): Promise<StreamTicket | undefined> {
  const found = await takeStored<StreamTicket>(streamTickets.key(sha256(ticket)));
  return found !== undefined && found.expires_at * 1000 > nowMs() ? found : undefined;
}
