import { AuditEntry, AuditVerification, ListAuditQuery, VerifyAuditQuery } from "../schema/audit/entry.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** `GET /audit_log` */
export const listAudit = route({
  id: "list_audit_entries",
  method: "GET",
  path: "/audit_log",
  tag: "Audit",
  summary: "List audit entries",
  description:
    "What applications and operators asked for, newest first: one entry for each command, and one for each request " +
    "that was refused by policy or scope (`outcome=refused`). Of more than 60 refusals of one caller and operation " +
    "in a minute, the others share one entry with their `count`. Entries are kept for 90 days. They follow a request " +
    "within seconds, a `count` within minutes.",
  file: "audit/list",
  scope: "audit:read",
  grants: ["query", "query:list", "query:client", "read", "read:keys"],
  query: ListAuditQuery,
  reply: page(AuditEntry),
  refusals: ["invalid_cursor"],
});

/** `GET /audit_log/verification` */
export const verifyAudit = route({
  id: "verify_audit_log",
  method: "GET",
  path: "/audit_log/verification",
  tag: "Audit",
  summary: "Verify the audit log",
  description:
    "Computes the hashes of the entries again and names the first entry that was changed, removed, inserted or " +
    "moved. One request checks up to 10,000 entries.",
  file: "audit/verify",
  scope: "audit:read",
  grants: ["query", "read"],
  query: VerifyAuditQuery,
  reply: AuditVerification,
});

/** `GET /audit_log/{id}` */
export const getAudit = route({
  id: "get_audit_entry",
  method: "GET",
  path: "/audit_log/{id}",
  tag: "Audit",
  summary: "Get an audit entry",
  description:
    "Its hash covers everything but the links: SHA-256 of `previous_hash` and the canonical JSON (RFC 8785) of the " +
    "other members. Personal values are hashed as they are stored, encrypted: see `sealed`.",
  file: "audit/get",
  scope: "audit:read",
  grants: ["read", "read:keys"],
  reply: AuditEntry,
});

/** Rows of the audit log. */
export const auditRoutes = [listAudit, verifyAudit, getAudit] as const;
