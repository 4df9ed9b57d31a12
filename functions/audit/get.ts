import { read } from "../../shared/http/operations.ts";
import { getAudit } from "../../shared/routes/audit.ts";
import { linkedAudit } from "../../shared/table/audit-entry.ts";
import { auditById } from "../../shared/table/audit-pages.ts";

/** `GET /audit_log/{id}` */
export const handler = await read(getAudit, async ({ caller: { tenant_id }, path: { id } }) => {
  const entry = await auditById(tenant_id, id);
  return entry && linkedAudit(entry);
});
