import { read } from "../../shared/http/operations.ts";
import { getAudit } from "../../shared/routes/audit.ts";
import { openedAudits } from "../../shared/table/audit/opening.ts";
import { linkedAudit } from "../../shared/table/audit-entry.ts";
import { auditById } from "../../shared/table/audit-pages.ts";

/** `GET /audit_log/{id}` */
export const handler = await read(getAudit, async ({ caller: { tenant_id }, path: { id } }) => {
  const found = await auditById(tenant_id, id);
  const [entry] = await openedAudits(tenant_id, found === undefined ? [] : [found]);
  return entry && linkedAudit(entry);
});
