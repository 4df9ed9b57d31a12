import { settingsBody } from "../../shared/domain/access/tenant.ts";
import { read } from "../../shared/http/operations.ts";
import { getSettings } from "../../shared/routes/service.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /settings` */
export const handler = await read(getSettings, async ({ load }) => {
  const { tenant } = await load({ tenant: ref.tenant() });
  return tenant && settingsBody(tenant);
});
