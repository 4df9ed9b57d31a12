import { amendSettings, settingsBody } from "../../shared/domain/access/tenant.ts";
import { refuseDayEnd, withBegunDays } from "../../shared/domain/books/days.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { updateSettings } from "../../shared/routes/service.ts";
import { unstoredDays } from "../../shared/table/book-days.ts";
import { ref } from "../../shared/table/store.ts";

/** `PATCH /settings` */
export const handler = await command(
  updateSettings,
  async ({ body, load, context, expectVersion }) => {
    const { tenant } = await load({ tenant: ref.tenant() });
    if (tenant === undefined) return notFound();
    expectVersion(tenant.version);
    const refusal = refuseDayEnd(body.day_end);
    if (refusal !== undefined) return refusal;
    const decision = amendSettings(tenant, body, context);
    return body.day_end === undefined ? decision : withBegunDays(decision, await unstoredDays(tenant, context.now));
  },
  settingsBody,
);
