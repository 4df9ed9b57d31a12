import { issuedApplicationBody, rotateSecret } from "../../shared/domain/access/application.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { secretCommand } from "../../shared/http/secret-command.ts";
import { drawSecret } from "../../shared/oauth/application-draws.ts";
import { rotateApplicationSecret } from "../../shared/routes/applications.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /applications/{id}/rotate_secret` */
export const handler = await secretCommand(
  rotateApplicationSecret,
  async ({ path, body, load, context }) => {
    const { application } = await load({ application: ref.application(path.id) });
    if (application === undefined) return notFound();
    return rotateSecret(application, body, drawSecret(), context);
  },
  issuedApplicationBody,
);
