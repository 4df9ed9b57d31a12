import { operatorBody } from "../../shared/domain/access/operator.ts";
import type { Operator } from "../../shared/domain/records/operator.ts";
import { operatorFilters, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listOperators } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { operators } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /operators` */
export const handler = await list(listOperators, async ({ caller, place }) => {
  const request = resourcePage(place, operatorFilters);
  const page = await pageOfIndex<Operator>("list", [operators.all(caller.tenant_id)], request);
  return pageReply(place, page, (operator) => operatorBody(operator, env.stage));
});
