import * as z from "zod/mini";
import { roles } from "../roles.ts";
import { described } from "./described.ts";
import { EmailText, ownFields, Timestamp } from "./fields.ts";
import { scopes } from "./scope.ts";

/** `GET /health`: the API responds. It calls no other service, so it cannot be used to put load on the table. */
export const Health = z.object({
  status: described(z.literal("ok"), "Always `ok`."),
  environment: described(z.enum(["sandbox", "production"]), "Environment: `sandbox` or `production`."),
  time: described(Timestamp, "Current time of the service."),
});

/** `GET /me`: the application or operator of the token, with its scopes and limits. */
export const Me = z.object({
  object: described(z.literal("caller"), "Resource type; always this value."),
  application: described(
    z.nullable(
      z.object({
        id: described(z.string(), "Application identifier."),
        name: described(z.string(), "Display name."),
        client_id: described(z.string(), "Client id of the application."),
        status: described(z.enum(["active", "revoked"]), "Application status."),
      }),
    ),
    "The application that the token was issued to; null for an operator.",
  ),
  operator: described(
    z.nullable(
      z.object({
        id: described(z.string(), "Operator identifier."),
        name: described(z.string(), "Display name."),
        email: described(EmailText, "Email address that the operator signs in with."),
        role: described(z.enum(roles), "Role of the operator."),
      }),
    ),
    "The operator that the token was issued to; null for an application.",
  ),
  tenant_id: described(z.string(), "Brokerage identifier."),
  environment: described(z.enum(["sandbox", "production"]), "Environment: `sandbox` or `production`."),
  scopes: described(z.array(z.enum(scopes)), "Scopes of the token."),
  limits: described(
    z.object({
      per_minute: described(z.int(), "Requests per minute."),
      burst: described(z.int(), "Requests per second."),
      quotes_per_second: described(z.int(), "Quote requests per second, counted separately."),
    }),
    "Rate limits of the application.",
  ),
  _links: ownFields._links,
});

/** `GET /openapi.json`: the OpenAPI document. */
export const OpenApiDocument = z.record(z.string(), z.unknown());

/** The caller on the wire. */
export type MeBody = z.infer<typeof Me>;
