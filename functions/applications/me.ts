import { callerBody } from "../../shared/domain/application.ts";
import { read } from "../../shared/http/operations.ts";
import { getMe } from "../../shared/routes/service.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /me` */
export const handler = await read(getMe, async ({ caller, load }) => {
  const { application } = await load({ application: ref.application(caller.actor.id) });
  return application && callerBody(application, caller);
});
