import type { Client } from "../../domain/records/client.ts";
import { limits } from "../../limits.ts";
import { clients } from "../../table/entities.ts";
import { type Page, pageOfIndex, pageWith } from "../../table/list.ts";
import { refusedParameter } from "../filters.ts";
import { type ListPlace, pageRequest } from "../page.ts";

/**
 * A page of the clients whose identity people decide, at a moment (RFC 3339). One that has left the place where the
 * index has it is left out: it is found where it is now, if anywhere.
 * @throws HttpProblem `invalid_parameter`, `invalid_cursor`
 */
export async function pageOfClientQueue(tenant: string, place: ListPlace, now: string): Promise<Page<Client>> {
  const { kind, within_days } = place.query;
  const isRenewal = kind === "renewal";
  if (!isRenewal && within_days !== undefined) {
    throw refusedParameter("within_days", "not_allowed", "goes with kind=renewal only");
  }
  const days = Number(within_days ?? limits.verification.renewal_days);
  const until = new Date(Date.parse(now) + days * 86_400_000).toISOString();
  const partition = clients.queue(tenant, isRenewal ? "renewal" : "pending");
  const request = { ...pageRequest(place, "due_at"), ...(isRenewal ? { ceiling: clients.queueEnd(until) } : {}) };
  const page = await pageOfIndex<Client>("client", [partition], request);
  return pageWith(
    page,
    page.items.map((client, at) => {
      const { client_pk, client_sk } = clients.indexesOf(client);
      return client_pk === partition && client_sk === page.sorts[at] ? client : undefined;
    }),
  );
}
