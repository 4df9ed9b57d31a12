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
    "Rate limits of the caller. For an operator, one limit covers all requests: `burst` per second.",
  ),
  _links: ownFields._links,
});

const RateWindow = z.object({
  name: described(
    z.enum(["minute", "burst", "quotes", "feed", "feed_quotes"]),
    "Window: `minute` and `burst` count all requests but those of the other windows. These are `quotes` " +
      "(`GET /quotes`, `GET /quotes/{symbol}`), `feed` (batches, snapshots, retries of rejected items, taking and " +
      "acknowledging commands) and `feed_quotes` (prices of a feed source). An operator has only `burst`, which " +
      "counts all of theirs.",
  ),
  limit: described(z.int(), "Requests that the window takes."),
  used: described(z.nullable(z.int()), "Requests that it has taken; null if the counter could not be read."),
  remaining: described(z.nullable(z.int()), "Requests that it still takes; null if the counter could not be read."),
  period_seconds: described(z.int(), "Length of the window: a clock minute or a clock second."),
  resets_at: described(Timestamp, "Start of the next window."),
});

/** `GET /status/limits`: what the caller has left of its rate limits. */
export const RateLimits = z.object({
  object: described(z.literal("rate_limits"), "Resource type; always this value."),
  caller: described(
    z.object({
      type: described(z.enum(["application", "operator"]), "Type of the caller."),
      id: described(z.string(), "Identifier of the application or operator."),
    }),
    "The application or operator that the requests are counted for; all its tokens share the limits.",
  ),
  as_of: described(Timestamp, "Time of this request. It is counted itself."),
  windows: described(z.array(RateWindow), "Windows that are counted exactly; requests that are refused do not count."),
  gateway: described(
    z.object({
      per_second: described(z.int(), "Requests per second."),
      burst: described(z.int(), "Requests at once."),
    }),
    "Throttle in front of the windows, for all requests of the caller together. It is approximate.",
  ),
  token_endpoint: described(
    z.object({
      failures_per_minute: described(z.int(), "Failed authentications per address and clock minute."),
    }),
    "Limit of `POST /oauth/token`, which counts failures by the address of the sender and not by application.",
  ),
  _links: ownFields._links,
});

/** The rest of a caller's limits, on the wire. */
export type RateLimitsBody = z.infer<typeof RateLimits>;

/** `GET /openapi.json`: the OpenAPI document. */
export const OpenApiDocument = z.record(z.string(), z.unknown());

/** `GET /asyncapi.json`: the AsyncAPI document. */
export const AsyncApiDocument = z.record(z.string(), z.unknown());

/** The caller on the wire. */
export type MeBody = z.infer<typeof Me>;
