import { amendSettings, settingsBody } from "../../shared/domain/access/tenant.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateSettings } from "../../shared/routes/service.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /settings` */
export const handler = await command(
  updateSettings,
  async ({ body, load, context, expectVersion }) => {
    const { tenant } = await load({ tenant: ref.tenant() });
    if (tenant === undefined) return notFound();
    expectVersion(tenant.version);
    return amendSettings(tenant, body, context);
  },
  settingsBody,
);
