import { handoverBody } from "../../shared/domain/access/handover.ts";
import { read } from "../../shared/http/operations.ts";
import { handoverSources } from "../../shared/money/pages.ts";
import { getOperatorHandover } from "../../shared/routes/operators.ts";
import { nowIso } from "../../shared/runtime/clock.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /operators/{id}/handover`, of a removed operator too. */
export const handler = await read(getOperatorHandover, async ({ path, load }) => {
  const { operator, tenant } = await load({ operator: ref.operator(path.id), tenant: ref.tenant() });
  if (operator === undefined || tenant === undefined) return undefined;
  return handoverBody(operator, await handoverSources(tenant), { now: nowIso(), environment: env.stage });
});
