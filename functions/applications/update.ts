import { amendApplication, applicationBody } from "../../shared/domain/access/application.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateApplication } from "../../shared/routes/applications.ts";
import { ref } from "../../shared/table/store.ts";
import { sourceRefs } from "../../shared/trading/items.ts";

/** `PATCH /applications/{id}` */
export const handler = await command(
  updateApplication,
  async ({ path, body, load, context, expectVersion }) => {
    const { application, ...sources } = await load({
      application: ref.application(path.id),
      ...sourceRefs(body.source_ids),
    });
    if (application === undefined) return notFound();
    expectVersion(application.version);
    return amendApplication(application, body, sources, context);
  },
  applicationBody,
);
