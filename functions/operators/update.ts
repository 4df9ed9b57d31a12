import { amendOperator, isThere, operatorBody } from "../../shared/domain/access/operator.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateOperator } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /operators/{id}` */
export const handler = await command(
  updateOperator,
  async ({ path, body, load, context, expectVersion }) => {
    const { operator, tenant } = await load({ operator: ref.operator(path.id), tenant: ref.tenant() });
    if (!isThere(operator) || tenant === undefined) return notFound();
    expectVersion(operator.version);
    return amendOperator(operator, body, tenant, context);
  },
  (operator) => operatorBody(operator, env.stage),
);
