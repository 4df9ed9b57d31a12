import { positionNow } from "../../shared/domain/trading/live.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listPositions } from "../../shared/routes/trading.ts";
import { pageOfPositions } from "../../shared/trading/pages.ts";

/** `GET /positions` */
export const handler = await list(listPositions, async ({ caller, place, query }) => {
  const { page, ...moment } = await pageOfPositions(caller.tenant_id, place, query["account_id"]);
  return pageReply(place, page, (held) => positionNow(held, moment));
});
