import { amendApplication, applicationBody } from "../../shared/domain/application.ts";
import { notFound } from "../../shared/domain/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateApplication } from "../../shared/routes/applications.ts";
import { rangesWithin } from "../../shared/runtime/address.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /applications/{id}` */
export const handler = await command(
  updateApplication,
  async ({ path, body, load, context, expectVersion }) => {
    const { application } = await load({ application: ref.application(path.id) });
    if (application === undefined) return notFound();
    expectVersion(application.version);
    return amendApplication(application, body, context, rangesWithin);
  },
  applicationBody,
);
