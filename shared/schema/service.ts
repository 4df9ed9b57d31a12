import * as z from "zod/mini";
import { Links, Timestamp } from "./fields.ts";
import { scopes } from "./scope.ts";

/** `GET /health`: the API answers. Nothing behind it is asked, so it cannot be used to load the table. */
export const Health = z.object({
  status: z.literal("ok"),
  environment: z.enum(["sandbox", "production"]),
  time: Timestamp,
});

/** `GET /me`: who the token speaks for and what it may do. */
export const Me = z.object({
  object: z.literal("caller"),
  application: z.object({
    id: z.string(),
    name: z.string(),
    client_id: z.string(),
    status: z.enum(["active", "revoked"]),
  }),
  tenant_id: z.string(),
  environment: z.enum(["sandbox", "production"]),
  scopes: z.array(z.enum(scopes)),
  limits: z.object({ per_minute: z.int(), burst: z.int(), quotes_per_second: z.int() }),
  _links: Links,
});

/** `GET /openapi.json`: the description of the API. */
export const OpenApiDocument = z.record(z.string(), z.unknown());

/** The caller on the wire. */
export type MeBody = z.infer<typeof Me>;
