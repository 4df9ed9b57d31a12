import { isThere, removedOperatorBody, removeOperator } from "../../shared/domain/access/operator.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { deleteOperator } from "../../shared/routes/operators.ts";
import { ref } from "../../shared/table/store.ts";

/** `DELETE /operators/{id}` */
export const handler = await command(
  deleteOperator,
  async ({ path, load, context, expectVersion }) => {
    const { operator, tenant } = await load({ operator: ref.operator(path.id), tenant: ref.tenant() });
    if (!isThere(operator) || tenant === undefined) return notFound();
    expectVersion(operator.version);
    return removeOperator(operator, tenant, context);
  },
  removedOperatorBody,
);
