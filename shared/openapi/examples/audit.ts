import type { JsonObject } from "../document.ts";
import { completed_at, created_at, exampleIds, exampleRequestId, links, transaction_id } from "./identifiers.ts";

const resource = { type: "transaction", id: transaction_id };
const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const id = exampleIds["audit_log"];
const operator_id = exampleIds["operators"];

const previous_hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/** A sealed day, in its event. */
export const auditSeal: JsonObject = {
  id: "aus_01JD000000000000000000000J",
  object: "audit_seal",
  day: created_at.slice(0, 10),
  entries: 12,
  last_sequence: "42",
  previous_hash,
  hash,
  sealed_at: completed_at,
  version: 7,
  _links: links({ self: "/audit_log/verification?from=31&to=42" }),
};

/** Examples of the replies about the audit log, by component. */
export const auditReplies: Readonly<Record<string, unknown>> = {
  AuditSeal: auditSeal,
  AuditEntry: {
    id,
    object: "audit_entry",
    sequence: "42",
    at: created_at,
    actor: { type: "operator", id: operator_id, name: "Ana Silva" },
    ip: "203.0.113.7",
    user_agent: "Mozilla/5.0",
    request_id: exampleRequestId,
    action: "update_transaction",
    resource,
    outcome: "succeeded",
    code: null,
    changes: [{ resource, before: { status: "pending" }, after: { status: "completed" } }],
    sealed: [
      {
        person: operator_id,
        members: ["/actor/name", "/ip", "/user_agent"],
        text:
          "v1.R0W-z14wCIAJlsJWsAUWhxLaeBEn9qZHJjIMAXGCRzmHl6vOB7eBfA3Oh4TlVKmN2kBqzv5c8YVo1QdJ0mF3sWnXb7RtUyEaPgCiHkL" +
          "w9ZsDf4Gh8Jk2Lq",
      },
    ],
    count: 1,
    previous_hash,
    hash,
    _links: links({ self: `/audit_log/${id}` }),
  },
  AuditVerification: {
    object: "audit_verification",
    intact: true,
    broken: null,
    from: "1",
    to: "42",
    checked: 42,
    hash,
    has_more: false,
    _links: links({ self: "/audit_log/verification" }),
  },
};
