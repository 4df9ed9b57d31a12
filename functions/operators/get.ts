import { isThere, operatorBody } from "../../shared/domain/access/operator.ts";
import { read } from "../../shared/http/operations.ts";
import { getOperator } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /operators/{id}` */
export const handler = await read(getOperator, async ({ path, load }) => {
  const { operator } = await load({ operator: ref.operator(path.id) });
  return isThere(operator) ? operatorBody(operator, env.stage) : undefined;
});
