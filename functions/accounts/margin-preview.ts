import { refuseScope } from "../../shared/domain/kernel/decision.ts";
import { read } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { createMarginPreview } from "../../shared/routes/accounts.ts";
import { systemContext } from "../../shared/table/context.ts";
import { previewOf } from "../../shared/trading/preview.ts";

/** `POST /accounts/{id}/margin_preview` */
export const handler = await read(createMarginPreview, async ({ path, body, caller, load }) => {
  const previewed = await previewOf(load, systemContext(caller.tenant_id, "preview"), path.id, body);
  if (previewed === undefined) return undefined;
  if (!caller.scopes.includes("accounts:read")) throw refused(refuseScope("accounts:read").refusal);
  if (!previewed.ok) throw refused(previewed.refusal);
  return previewed.body;
});
