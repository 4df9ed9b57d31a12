import { issuedApplicationBody, registerApplication } from "../../shared/domain/access/application.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { secretCommand } from "../../shared/http/secret-command.ts";
import { drawApplication } from "../../shared/oauth/application-draws.ts";
import { createApplication } from "../../shared/routes/applications.ts";
import { ref } from "../../shared/table/store.ts";
import { sourceRefs } from "../../shared/trading/items.ts";

/** `POST /applications` */
export const handler = await secretCommand(
  createApplication,
  async ({ body, load, context }) => {
    const { tenant, ...sources } = await load({ tenant: ref.tenant(), ...sourceRefs(body.source_ids) });
    if (tenant === undefined) return notFound();
    return registerApplication(body, { tenant, sources }, drawApplication(), context);
  },
  issuedApplicationBody,
);
