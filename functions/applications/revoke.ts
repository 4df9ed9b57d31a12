import { applicationBody, revokeApplication as revoke } from "../../shared/domain/access/application.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { revokeApplication } from "../../shared/routes/applications.ts";
import { ref } from "../../shared/table/store.ts";

/** `DELETE /applications/{id}` */
export const handler = await command(
  revokeApplication,
  async ({ path, load, context, expectVersion }) => {
    const { application } = await load({ application: ref.application(path.id) });
    if (application === undefined) return notFound();
    expectVersion(application.version);
    return revoke(application, context);
  },
  applicationBody,
);
