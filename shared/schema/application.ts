import { isIP } from "node:net";
import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { described } from "./described.ts";
import { Actor } from "./event.ts";
import { id, name, ownFields, pageParameters, setOf, Timestamp } from "./fields.ts";
import { scopes } from "./scope.ts";

const Status = z.enum(["active", "revoked"]);
const Scopes = z.array(z.enum(scopes)).check(z.minLength(1), z.maxLength(scopes.length));

/** An IPv4 or IPv6 address or a CIDR range: `203.0.113.0/24` (RFC 4632, RFC 4291). */
const AddressRange = z
  .string()
  .check(z.maxLength(49), z.refine(isAddressRange, "must be an IP address or a range such as 203.0.113.0/24"));
const AddressRanges = z.array(AddressRange).check(z.maxLength(limits.applications.max_allowed_ips));

const SourceIds = z.array(id("src")).check(z.maxLength(limits.applications.max_source_ids));
const boundTo =
  "Feed sources that the application is bound to: it is refused at the paths of every other one, and registers none. " +
  "Empty for any source. An application with the scope `applications:write` is bound to none.";

function isAddressRange(value: string): boolean {
  const [base = "", bits, ...more] = value.split("/");
  const family = isIP(base);
  if (family === 0 || more.length > 0 || base.includes("%")) return false;
  return bits === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** `POST /applications`. Without `allowed_ips` the application may call from any address. */
export const CreateApplicationRequest = z.strictObject({
  name: described(name(100), "Display name."),
  scopes: described(Scopes, "Scopes of the application."),
  allowed_ips: described(
    z.optional(AddressRanges),
    "IP addresses and CIDR ranges that the application may call from; empty for any address.",
  ),
  source_ids: described(z.optional(SourceIds), boundTo),
});

/** `PATCH /applications/{id}`, a merge patch: null removes the restriction of addresses, or of sources. */
export const UpdateApplicationRequest = z.strictObject({
  name: described(z.optional(name(100)), "Display name."),
  scopes: described(z.optional(Scopes), "Scopes of the application."),
  allowed_ips: described(
    z.optional(z.nullable(AddressRanges)),
    "IP addresses and CIDR ranges that the application may call from; empty for any address.",
  ),
  source_ids: described(z.optional(z.nullable(SourceIds)), boundTo),
});

/** `POST /applications/{id}/rotate_secret`: how long the previous secret remains valid; 0 revokes it immediately. */
export const RotateApplicationSecretRequest = z.strictObject({
  grace_seconds: described(
    z.optional(z.int().check(z.minimum(0), z.maximum(limits.applications.max_grace_seconds))),
    "Seconds for which the previous secret remains valid; 0 revokes it immediately.",
  ),
});

/** Query of `GET /applications`. */
export const ListApplicationsQuery = z.strictObject({
  ...pageParameters,
  status: described(z.optional(setOf(Status.options)), "Application statuses, separated by commas."),
  sort: described(z.optional(z.enum(["-created_at"])), "Sort order; a leading hyphen means descending."),
});

const shown = {
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("application"), "Resource type; always this value."),
  name: described(z.string(), "Display name."),
  environment: described(z.enum(["sandbox", "production"]), "Environment that the application belongs to."),
  client_id: described(z.string(), "Client id for the token endpoint."),
  scopes: described(z.array(z.enum(scopes)), "Scopes of the application."),
  allowed_ips: described(
    z.array(z.string()),
    "IP addresses and CIDR ranges that the application may call from; empty for any address.",
  ),
  source_ids: described(z.array(z.string()), boundTo),
  status: described(Status, "Application status."),
  revoked_at: described(z.nullable(Timestamp), "Time of revocation; null if the application is not revoked."),
  access_token_ttl: described(z.int(), "Lifetime of an access token in seconds."),
  refresh_token_ttl: described(z.int(), "Lifetime of a refresh token in seconds; each can be used once."),
  secret_rotated_at: described(
    z.nullable(Timestamp),
    "Time of the last rotation of the secret; null if there is none.",
  ),
  previous_secret_expires_at: described(
    z.nullable(Timestamp),
    "Time at which the previous secret expires; null if there is none.",
  ),
  last_used_at: described(
    z.nullable(Timestamp),
    "Time at which the application last obtained a token, accurate to five minutes; null if never.",
  ),
  created_by: described(
    z.nullable(Actor),
    "The application or operator that created it; null if it was created by a terminal or before this was recorded.",
  ),
  operator_ids: described(
    z.array(z.string()),
    "Operators who created it or were shown a secret of it. With it, each of them is one person where four eyes are " +
      "required.",
  ),
  rate: described(
    z.object({
      per_minute: described(z.int(), "Requests per minute."),
      burst: described(z.int(), "Requests per second."),
      quotes_per_second: described(z.int(), "Quote requests per second, counted separately."),
    }),
    "Rate limits of the application.",
  ),
  ...ownFields,
};

/** An API application in responses. `last_used_at` is accurate to five minutes. */
export const ApiApplication = z.object(shown);

/** An API application with its new secret, which is returned only once. */
export const IssuedApiApplication = z.object({
  ...shown,
  client_secret: described(z.string(), "Client secret; returned only once."),
});

/** Body of `POST /applications` after validation. */
export type CreateApplication = z.infer<typeof CreateApplicationRequest>;
/** Body of `PATCH /applications/{id}` after validation. */
export type UpdateApplication = z.infer<typeof UpdateApplicationRequest>;
/** Body of `POST /applications/{id}/rotate_secret` after validation. */
export type RotateSecret = z.infer<typeof RotateApplicationSecretRequest>;
/** An application on the wire. */
export type ApplicationBody = z.infer<typeof ApiApplication>;
/** An application on the wire, with its secret. */
export type IssuedApplicationBody = z.infer<typeof IssuedApiApplication>;
