import * as z from "zod/mini";
import { id, text } from "./fields.ts";
import { OperatorEmail } from "./people/operator.ts";
import { scopes } from "./scope.ts";

/**
 * Requests to the provisioning function: create an application, erase what the audit keeps of a client, or complete
 * what an earlier call left unfinished.
 */
export const ProvisionRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.literal("create_application"),
    /** Null creates a new tenant. */
    tenant_id: z.nullable(id("brk")),
    name: text(100),
    /** Null grants every scope. */
    scopes: z.nullable(z.array(z.enum(scopes)).check(z.minLength(1))),
    /** Email address of the first owner of a new tenant; without it the tenant has no operator yet. */
    owner: z.optional(OperatorEmail),
  }),
  z.strictObject({ action: z.literal("erase_client"), tenant_id: id("brk"), client_id: id("cli") }),
  z.strictObject({ action: z.literal("reconcile") }),
]);

/** Tag of every API key that this service creates, with the stage as value; keys without it are left alone. */
export const keyTag = "brokerage:stage";
