import { isIP } from "node:net";
import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { Links, name, pageParameters, setOf, Timestamp } from "./fields.ts";
import { scopes } from "./scope.ts";

const Status = z.enum(["active", "revoked"]);
const Scopes = z.array(z.enum(scopes)).check(z.minLength(1), z.maxLength(scopes.length));

/** An address or a range of addresses, IPv4 or IPv6: `203.0.113.0/24` (RFC 4632, RFC 4291). */
const AddressRange = z
  .string()
  .check(z.maxLength(49), z.refine(isAddressRange, "must be an IP address or a range such as 203.0.113.0/24"));
const AddressRanges = z.array(AddressRange).check(z.maxLength(limits.applications.max_allowed_ips));

function isAddressRange(value: string): boolean {
  const [base = "", bits, ...more] = value.split("/");
  const family = isIP(base);
  if (family === 0 || more.length > 0 || base.includes("%")) return false;
  return bits === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/** `POST /applications`. Without `allowed_ips` it may call from anywhere. */
export const CreateApplicationRequest = z.strictObject({
  name: name(100),
  scopes: Scopes,
  allowed_ips: z.optional(AddressRanges),
});

/** `PATCH /applications/{id}`, a merge patch: null lets it call from anywhere again. */
export const UpdateApplicationRequest = z.strictObject({
  name: z.optional(name(100)),
  scopes: z.optional(Scopes),
  allowed_ips: z.optional(z.nullable(AddressRanges)),
});

/** `POST /applications/{id}/rotate_secret`: how long the secret before works beside the new one; 0 ends it at once. */
export const RotateApplicationSecretRequest = z.strictObject({
  grace_seconds: z.optional(z.int().check(z.minimum(0), z.maximum(limits.applications.max_grace_seconds))),
});

/** Query of `GET /applications`. */
export const ListApplicationsQuery = z.strictObject({
  ...pageParameters,
  status: z.optional(setOf(Status.options)),
  sort: z.optional(z.enum(["-created_at"])),
});

const shown = {
  id: z.string(),
  object: z.literal("application"),
  name: z.string(),
  environment: z.enum(["sandbox", "production"]),
  client_id: z.string(),
  scopes: z.array(z.enum(scopes)),
  allowed_ips: z.array(z.string()),
  status: Status,
  revoked_at: z.nullable(Timestamp),
  access_token_ttl: z.int(),
  refresh_token_ttl: z.int(),
  secret_rotated_at: z.nullable(Timestamp),
  previous_secret_expires_at: z.nullable(Timestamp),
  last_used_at: z.nullable(Timestamp),
  rate: z.object({ per_minute: z.int(), burst: z.int(), quotes_per_second: z.int() }),
  created_at: Timestamp,
  updated_at: Timestamp,
  version: z.int().check(z.minimum(1)),
  _links: Links,
};

/** An API application as the API shows it. `last_used_at` is when it last got a token, to five minutes. */
export const ApiApplication = z.object(shown);

/** An API application with its new secret, which is shown this once. */
export const IssuedApiApplication = z.object({ ...shown, client_secret: z.string() });

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
