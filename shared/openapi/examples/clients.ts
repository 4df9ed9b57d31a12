import type { JsonObject } from "../document.ts";
import { client_id, completed_at, created_at, exampleIds, links } from "./identifiers.ts";

const client: JsonObject = {
  id: client_id,
  object: "client",
  type: "individual",
  email: "ana@example.com",
  name: "Ana Silva",
  first_name: "Ana",
  last_name: "Silva",
  company_name: null,
  external_id: "crm-4711",
  middle_name: null,
  phone: "+351912345678",
  date_of_birth: "1990-12-31",
  nationality: "PT",
  country: "PT",
  address: { line1: "Rua Augusta 1", city: "Lisboa", postal_code: "1100-048", country: "PT" },
  registration_number: null,
  language: "pt",
  time_zone: "Europe/Lisbon",
  classification: "retail",
  risk_level: "low",
  tags: ["vip"],
  status: "active",
  suspended_reason: null,
  closed_at: null,
  verification_status: "verified",
  verification: {
    level: "full",
    provider: "identity-provider",
    reference: "check-991",
    submitted_at: created_at,
    verified_at: completed_at,
    verified_by: exampleIds["applications"],
    expires_at: null,
    checks: ["identity_document", "liveness", "sanctions", "pep"],
    rejection_reasons: [],
    retry_allowed: null,
    comment: null,
  },
  account_count: 1,
  created_at,
  updated_at: completed_at,
  version: 2,
  metadata: { branch: "lisbon" },
  _links: links({ self: `/clients/${client_id}`, accounts: `/clients/${client_id}/accounts` }),
};

/** Examples of the replies about clients, by component. */
export const clientsReplies: Readonly<Record<string, unknown>> = {
  BrokerageClient: client,
};
