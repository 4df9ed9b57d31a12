import { inviteOperator, operatorBody } from "../../shared/domain/access/operator.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { drawOperatorKey } from "../../shared/oauth/application-draws.ts";
import { operatorEmail } from "../../shared/oauth/operator-email.ts";
import { createOperator } from "../../shared/routes/operators.ts";
import { env } from "../../shared/runtime/env.ts";
import { drawPersonKey } from "../../shared/runtime/person-key.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /operators` */
export const handler = await command(
  createOperator,
  async ({ body, load, context }) => {
    const refs = { tenant: ref.tenant(), key: ref.operatorKey(), claim: operatorEmail(body.email) };
    const { tenant, key, claim } = await load(refs);
    if (tenant === undefined) return notFound();
    const { holder } = claim === undefined ? {} : await load({ holder: ref.operator(claim.owner_id) });
    const drawn = { ...drawOperatorKey(), keys: drawPersonKey() };
    return inviteOperator(body, { counts: tenant, key, holder, ...drawn }, context);
  },
  (operator) => operatorBody(operator, env.stage),
);
