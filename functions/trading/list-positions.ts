import { positionNow } from "../../shared/domain/trading/live.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { list } from "../../shared/http/operations.ts";
import { listPositions } from "../../shared/routes/trading.ts";
import { pageOfPositions } from "../../shared/trading/pages.ts";

/** `GET /positions` */
export const handler = await list(listPositions, async ({ caller, place, query }) => {
  const { page, ...moment } = await pageOfPositions(caller.tenant_id, place, query["account_id"]);
  const show = (held: (typeof page.items)[number]) => positionNow(held, moment);
  return pageWithClients({ place, caller }, page, show, ({ position }) => position.client_id);
});
