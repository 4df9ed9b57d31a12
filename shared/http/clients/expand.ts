import { clientSummary } from "../../domain/accounts/client.ts";
import { refuseScope } from "../../domain/kernel/decision.ts";
import { sound } from "../../runtime/unreadable.ts";
import type { ClientSummaryBody } from "../../schema/client.ts";
import { clients } from "../../table/entities.ts";
import type { Page } from "../../table/list.ts";
import { type Reply, readEach } from "../../table/store.ts";
import type { Caller } from "../caller.ts";
import { type ListPlace, pageReply } from "../page.ts";
import { refused } from "../problem.ts";

/**
 * As {@link pageReply}, with the client of each item where the query has `expand=client`; `ownerOf` says whose an item
 * is, null where it is of none. The distinct clients are read at once, as they are now: no name is stored with an item.
 * @throws HttpProblem `insufficient_scope` if the caller does not hold `clients:read`
 */
export async function pageWithClients<T extends object>(
  { place, caller }: { readonly place: ListPlace; readonly caller: Caller },
  page: Page<T>,
  show: (item: T) => object,
  ownerOf: (item: T) => string | null,
): Promise<Reply> {
  if (place.query["expand"] !== "client") return pageReply(place, page, show);
  if (!caller.scopes.includes("clients:read")) throw refused(refuseScope("clients:read").refusal);
  const clientOf = await clientsOf(caller.tenant_id, page.items.map(ownerOf));
  return pageReply(place, page, (item) => ({ ...show(item), ...clientOf(ownerOf(item)) }));
}

async function clientsOf(
  tenant: string,
  owners: readonly (string | null)[],
): Promise<(id: string | null) => { readonly client?: ClientSummaryBody }> {
  const ids = [...new Set(owners)].filter((id) => id !== null);
  const keys = ids.map((id) => clients.key(tenant, id));
  const found = await readEach(keys, { kind: clients, consistent: false });
  const byId = new Map(ids.map((id, place) => [id, found[place]]));
  // An item whose client cannot be read is left out by its page.
  return (id) => {
    const client = id === null ? undefined : sound(byId.get(id));
    return client === undefined ? {} : { client: clientSummary(client) };
  };
}
