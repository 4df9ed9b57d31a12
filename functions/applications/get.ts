import { applicationBody } from "../../shared/domain/access/application.ts";
import { read } from "../../shared/http/operations.ts";
import { getApplication } from "../../shared/routes/applications.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /applications/{id}` */
export const handler = await read(getApplication, async ({ path, load }) => {
  const { application } = await load({ application: ref.application(path.id) });
  return application && applicationBody(application);
});
