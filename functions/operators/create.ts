import { notFound } from "../../shared/domain/decision.ts";
import { inviteOperator, operatorBody } from "../../shared/domain/people/operator.ts";
import { command } from "../../shared/http/operations.ts";
import { drawOperatorKey } from "../../shared/oauth/application-draws.ts";
import { createOperator } from "../../shared/routes/operators.ts";
import { drawPersonKey } from "../../shared/runtime/person-key.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /operators` */
export const handler = await command(
  createOperator,
  async ({ body, load, context }) => {
    const { tenant, key } = await load({ tenant: ref.tenant(), key: ref.operatorKey() });
    if (tenant === undefined) return notFound();
    return inviteOperator(body, { counts: tenant, key, ...drawOperatorKey(), keys: drawPersonKey() }, context);
  },
  operatorBody,
);
