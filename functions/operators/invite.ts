import { inviteAgain } from "../../shared/domain/access/credentials.ts";
import { isThere, operatorBody } from "../../shared/domain/access/operator.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { inviteOperator } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /operators/{id}/invite` */
export const handler = await command(
  inviteOperator,
  async ({ path, load, context }) => {
    const { operator, tenant } = await load({ operator: ref.operator(path.id), tenant: ref.tenant() });
    return isThere(operator) && tenant !== undefined ? inviteAgain(operator, tenant, context) : notFound();
  },
  (operator) => operatorBody(operator, env.stage),
);
