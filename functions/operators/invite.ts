import { notFound } from "../../shared/domain/decision.ts";
import { inviteAgain, isThere, operatorBody } from "../../shared/domain/people/operator.ts";
import { command } from "../../shared/http/operations.ts";
import { inviteOperator } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /operators/{id}/invite` */
export const handler = await command(
  inviteOperator,
  async ({ path, load, context }) => {
    const { operator } = await load({ operator: ref.operator(path.id) });
    return isThere(operator) ? inviteAgain(operator, context) : notFound();
  },
  (operator) => operatorBody(operator, env.stage),
);
