import {
  ApiApplication,
  CreateApplicationRequest,
  IssuedApiApplication,
  ListApplicationsQuery,
  RotateApplicationSecretRequest,
  UpdateApplicationRequest,
} from "../schema/application.ts";
import { page } from "../schema/fields.ts";
import { route } from "./route.ts";

/** `GET /applications` */
export const listApplications = route({
  id: "list_applications",
  method: "GET",
  path: "/applications",
  tag: "Applications",
  summary: "List applications",
  description: "Newest first, including revoked applications. Secrets are never shown again.",
  file: "applications/list",
  scope: "applications:write",
  grants: ["query:list", "read"],
  query: ListApplicationsQuery,
  reply: page(ApiApplication),
  refusals: ["invalid_cursor"],
});

/** `POST /applications` */
export const createApplication = route({
  id: "create_application",
  method: "POST",
  path: "/applications",
  tag: "Applications",
  summary: "Create an application",
  description:
    "The secret is shown only in this response. The application can get tokens once its API key is provisioned, " +
    "usually within seconds; until then the token endpoint answers 503. The application can only be given scopes " +
    "that the caller's token holds.",
  file: "applications/create",
  scope: "applications:write",
  governs: ["applications", "brokerages"],
  standing: "held",
  grants: ["read", "put", "update", "check"],
  globals: { put: ["client_ids"] },
  secrets: ["service_key"],
  secret: true,
  body: CreateApplicationRequest,
  reply: IssuedApiApplication,
  status: 201,
  example: { name: "CRM", scopes: ["clients:read", "clients:write"], allowed_ips: ["203.0.113.0/24"] },
  refusals: ["insufficient_scope", "too_many_applications"],
});

/** `GET /applications/{id}` */
export const getApplication = route({
  id: "get_application",
  method: "GET",
  path: "/applications/{id}",
  tag: "Applications",
  summary: "Get an application",
  description: "Returns the application, with the times of its last token and of its last secret rotation.",
  file: "applications/get",
  scope: "applications:write",
  grants: ["read"],
  reply: ApiApplication,
});

/** `PATCH /applications/{id}` */
export const updateApplication = route({
  id: "update_application",
  method: "PATCH",
  path: "/applications/{id}",
  tag: "Applications",
  summary: "Update an application",
  description:
    "A merge patch (RFC 7396). Removing a scope or an address takes effect within a minute, also for tokens that " +
    "were already issued; an added scope takes effect with the next token. The " +
    "caller's token must hold every scope of the application, before and after.",
  file: "applications/update",
  scope: "applications:write",
  governs: ["applications"],
  standing: "read",
  grants: ["read", "put", "update"],
  body: UpdateApplicationRequest,
  media: "merge_patch",
  reply: ApiApplication,
  example: { allowed_ips: ["203.0.113.0/24", "2001:db8::/32"] },
  refusals: ["insufficient_scope", "application_revoked"],
});

/** `DELETE /applications/{id}` */
export const revokeApplication = route({
  id: "revoke_application",
  method: "DELETE",
  path: "/applications/{id}",
  tag: "Applications",
  summary: "Revoke an application",
  description:
    "Permanent. The application gets no more tokens, and tokens that were already issued are refused within a " +
    "minute. The caller's token must hold every scope of the application.",
  file: "applications/revoke",
  scope: "applications:write",
  governs: ["applications", "brokerages"],
  standing: "read",
  grants: ["read", "put", "update"],
  reply: ApiApplication,
  refusals: ["insufficient_scope"],
});

/** `POST /applications/{id}/rotate_secret` */
export const rotateApplicationSecret = route({
  id: "rotate_application_secret",
  method: "POST",
  path: "/applications/{id}/rotate_secret",
  tag: "Applications",
  summary: "Rotate the secret of an application",
  description:
    "The new secret is shown only in this response. The previous secret remains valid for `grace_seconds`, one day " +
    "by default. Then it is refused, and within a minute so are the tokens that were issued for it. While it is " +
    "valid, only a rotation with `grace_seconds` 0 is accepted, which ends every older secret. The caller's token " +
    "must hold every scope of the application.",
  file: "applications/rotate-secret",
  scope: "applications:write",
  governs: ["applications"],
  standing: "held",
  grants: ["read", "put", "update", "check"],
  secrets: ["service_key"],
  secret: true,
  body: RotateApplicationSecretRequest,
  reply: IssuedApiApplication,
  example: { grace_seconds: 3600 },
  refusals: ["insufficient_scope", "application_revoked", "secret_rotation_in_progress"],
});

/** Rows of the applications. */
export const applicationRoutes = [
  listApplications,
  createApplication,
  getApplication,
  updateApplication,
  revokeApplication,
  rotateApplicationSecret,
] as const;
