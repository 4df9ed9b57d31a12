import { resetCredentials } from "../../shared/domain/access/credentials.ts";
import { isThere, operatorBody } from "../../shared/domain/access/operator.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { resetOperatorCredentials } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /operators/{id}/reset_credentials` */
export const handler = await command(
  resetOperatorCredentials,
  async ({ path, load, context }) => {
    const { operator, tenant } = await load({ operator: ref.operator(path.id), tenant: ref.tenant() });
    return isThere(operator) && tenant !== undefined ? resetCredentials(operator, tenant, context) : notFound();
  },
  (operator) => operatorBody(operator, env.stage),
);
