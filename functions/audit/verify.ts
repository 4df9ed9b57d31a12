import { read } from "../../shared/http/operations.ts";
import { HttpProblem } from "../../shared/http/problem.ts";
import { limits } from "../../shared/limits.ts";
import { verifyAudit } from "../../shared/routes/audit.ts";
import { checkAudit } from "../../shared/table/audit-check.ts";

/** `GET /audit_log/verification` */
export const handler = await read(verifyAudit, async ({ caller: { tenant_id }, query: { from, to } }) => {
  const range = { from: Number(from ?? 1), ...(to === undefined ? {} : { to: Number(to) }) };
  if (range.to !== undefined && range.to < range.from) {
    throw new HttpProblem("invalid_parameter", "A query parameter is not valid.", {
      errors: [{ parameter: "to", code: "out_of_range", detail: "must not be below from" }],
    });
  }
  const report = await checkAudit(tenant_id, { ...range, most: limits.audit.verified_entries });
  const { broken, checked, head, more } = report;
  return {
    object: "audit_verification",
    intact: broken === null,
    broken: broken && { kind: broken.kind, sequence: String(broken.sequence), id: broken.id },
    from: report.from === undefined ? null : String(report.from),
    to: report.to === undefined ? null : String(report.to),
    checked,
    hash: head.hash,
    has_more: more,
    _links: { self: { href: "/v2/audit_log/verification" } },
  };
});
