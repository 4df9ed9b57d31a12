import { ledgerBody } from "../../shared/domain/accounts/account.ts";
import type { Ledger } from "../../shared/domain/records/ledger.ts";
import { and, inRange, matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listLedger } from "../../shared/routes/accounts.ts";
import { ledgers } from "../../shared/table/entities.ts";
import { pageOfPartition } from "../../shared/table/list.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /accounts/{id}/ledger` */
export const handler = await list(listLedger, async ({ path, caller, place, query, load }) => {
  const { id } = path;
  const partition = ledgers.partition(caller.tenant_id, id);
  const keep = and(matching(query, ["kind"]), inRange(query, "created"));
  const [{ account }, page] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfPartition<Ledger>(partition, { ...pageRequest(place, "-balance_version"), ...keep }),
  ]);
  return account && pageReply(place, page, ledgerBody);
});
