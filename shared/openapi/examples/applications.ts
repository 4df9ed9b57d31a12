import type { JsonObject } from "../document.ts";
import { actor, completed_at, created_at, exampleIds, links } from "./identifiers.ts";

const apiApplication: JsonObject = {
  id: actor.id,
  object: "application",
  name: "CRM",
  environment: "sandbox",
  client_id: "app_Zk3mX9qLw2RtYv7BnC4dPs8h",
  scopes: ["clients:read", "clients:write"],
  allowed_ips: ["203.0.113.0/24"],
  source_ids: [],
  status: "active",
  revoked_at: null,
  access_token_ttl: 3600,
  refresh_token_ttl: 2_592_000,
  secret_rotated_at: null,
  previous_secret_expires_at: null,
  last_used_at: completed_at,
  created_by: { type: "operator", id: exampleIds["operators"], name: "Ana Silva" },
  operator_ids: [...actor.operator_ids],
  rate: { per_minute: 1000, burst: 50, quotes_per_second: 100 },
  created_at,
  updated_at: created_at,
  version: 1,
  _links: links({ self: `/applications/${actor.id}` }),
};

/** Examples of the replies about applications, by component. */
export const applicationsReplies: Readonly<Record<string, unknown>> = {
  ApiApplication: apiApplication,
  IssuedApiApplication: {
    ...apiApplication,
    last_used_at: null,
    client_secret: "sec_sandbox_0000000000000000000000000000000000000000000",
  },
};
