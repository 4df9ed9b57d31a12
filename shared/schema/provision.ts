import * as z from "zod/mini";
import { id, text } from "./fields.ts";
import { scopes } from "./scope.ts";

/** What the provisioning function can be asked: a new application, or to settle what an earlier call left open. */
export const ProvisionRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.literal("create_application"),
    /** Null makes a new tenant. */
    tenant_id: z.nullable(id("brk")),
    name: text(100),
    /** Null gives every scope. */
    scopes: z.nullable(z.array(z.enum(scopes)).check(z.minLength(1))),
  }),
  z.strictObject({ action: z.literal("reconcile") }),
]);

/** Tag of every API key that this service makes, with the stage as its value: keys without it are not touched. */
export const keyTag = "brokerage:stage";
