import { callerBody } from "../../shared/domain/access/application.ts";
import { isThere, operatorCallerBody } from "../../shared/domain/access/operator.ts";
import { read } from "../../shared/http/operations.ts";
import { getMe } from "../../shared/routes/service.ts";
import { env } from "../../shared/runtime/env.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /me` */
export const handler = await read(getMe, async ({ caller, load }) => {
  const { scopes, actor } = caller;
  if (actor.type === "operator") {
    const { operator } = await load({ operator: ref.operator(actor.id) });
    return isThere(operator) ? operatorCallerBody(operator, { scopes, environment: env.stage }) : undefined;
  }
  const { application } = await load({ application: ref.application(actor.id) });
  return application && callerBody(application, caller);
});
