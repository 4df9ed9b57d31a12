import { positionNow } from "../../shared/domain/trading/live.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccountPositions } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { pageOfPositions } from "../../shared/trading/pages.ts";

/** `GET /accounts/{id}/positions` */
export const handler = await list(listAccountPositions, async ({ path, caller, place, load }) => {
  const { id } = path;
  const [{ account }, { page, ...moment }] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfPositions(caller.tenant_id, place, id),
  ]);
  return account && pageReply(place, page, (held) => positionNow(held, moment));
});
