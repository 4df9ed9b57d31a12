import { listParameter } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listAudit } from "../../shared/routes/audit.ts";
import { openedAudits } from "../../shared/table/audit/opening.ts";
import { linkedAudit, type ShownAudit } from "../../shared/table/audit-entry.ts";
import { pageOfAudit, pageOfPointers } from "../../shared/table/audit-pages.ts";

/** `GET /audit_log`: reads an index for a resource or an actor, otherwise the entries by number. */
export const handler = await list(listAudit, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const { actor, resource } = query;
  const request = pageRequest(place, "-sequence");
  const wanted = wantedBy(query);
  const page =
    resource !== undefined
      ? await pageOfPointers(tenant, { resource }, request, wanted ?? (() => true))
      : actor !== undefined
        ? await pageOfPointers(tenant, { actor }, request, wanted ?? (() => true))
        : await pageOfAudit(tenant, request, wanted);
  return pageReply(place, { ...page, items: await openedAudits(tenant, page.items) }, linkedAudit);
});

/** A filter by the parameters of a list; undefined without any. */
function wantedBy(query: Readonly<Record<string, string | undefined>>): ((entry: ShownAudit) => boolean) | undefined {
  const { actor, resource, action, from, to } = query;
  const outcomes = listParameter(query, "outcome");
  if ([actor, resource, action, outcomes, from, to].every((each) => each === undefined)) return undefined;
  const [low, high] = [from === undefined ? 0 : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
  return (entry) =>
    (actor === undefined || entry.actor.id === actor) &&
    (resource === undefined || entry.resource?.id === resource) &&
    (action === undefined || entry.action === action) &&
    (outcomes === undefined || outcomes.includes(entry.outcome)) &&
    Date.parse(entry.at) >= low &&
    Date.parse(entry.at) < high;
}
