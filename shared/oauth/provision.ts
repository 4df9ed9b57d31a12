import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { overdueKeys } from "../data/due.ts";
import { applicationRefs, applications, tenants } from "../data/entities.ts";
import { readKeys } from "../data/store.ts";
import { table } from "../data/table.ts";
import { putNew, updateItem } from "../data/write.ts";
import { type Application, draftApplication } from "../domain/application.ts";
import { draftTenant } from "../domain/tenant.ts";
import { nowIso } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { env } from "../runtime/env.ts";
import { newId, newSecretWord } from "../runtime/ids.ts";
import { log } from "../runtime/log.ts";
import { id, text } from "../schema/fields.ts";
import { scopes } from "../schema/scope.ts";
import { ensureGatewayKey } from "./gateway-key.ts";

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

/** A new application; the one time that its secret is shown. */
export interface CreatedApplication {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
}

/**
 * Makes an application of a tenant, a new tenant when none is named, and its API key. Should the function end before
 * the key is made, the application waits in the due index and the next reconciliation makes it.
 * @throws Error when the tenant does not exist
 */
export async function createApplication(
  request: Extract<z.infer<typeof ProvisionRequest>, { action: "create_application" }>,
): Promise<CreatedApplication> {
  const now = nowIso();
  const tenantId = request.tenant_id ?? newId("brk");
  if (request.tenant_id !== null) {
    const [known] = await readKeys([tenants.key(tenantId)]);
    if (known === undefined) throw new Error(`There is no tenant ${tenantId}.`);
  }
  const secret = `sec_${env.stage === "production" ? "live" : "sandbox"}_${newSecretWord(43)}`;
  const application = draftApplication(
    { tenant_id: tenantId, environment: env.stage, name: request.name, scopes: request.scopes ?? scopes },
    {
      id: newId("app"),
      client_id: `app_${newSecretWord(24)}`,
      secret_sha256: sha256(secret),
      api_key: newSecretWord(40),
      now,
    },
  );
  const { client_id, id: application_id } = application;
  const reference = { client_id, application_id, owner_tenant_id: tenantId };
  await table.send(
    new TransactWriteCommand({
      TransactItems: [
        putNew(applications, application),
        putNew(applicationRefs, reference),
        ...(request.tenant_id === null ? [putNew(tenants, draftTenant(tenantId, now))] : []),
      ],
    }),
  );
  await settle(application);
  return { tenant_id: tenantId, application_id, client_id, client_secret: secret, scopes: application.scopes };
}

/** Settles every application that waits for its API key. One that fails is logged and waits for the next run. */
export async function reconcileApplications(): Promise<{ readonly settled: number; readonly failed: number }> {
  const found = await readKeys(await overdueKeys("APP"));
  let settled = 0;
  let failed = 0;
  for (const application of found as (Application | undefined)[]) {
    if (application === undefined || application.wake_at === null) continue;
    try {
      await settle(application);
      settled += 1;
    } catch (error) {
      failed += 1;
      log.error("An application waits for its API key.", {
        application_id: application.id,
        error: (error as Error).name,
      });
    }
  }
  return { settled, failed };
}

async function settle(application: Application): Promise<void> {
  const keyId = await ensureGatewayKey(application.id, application.api_key);
  const settled: Application = {
    ...application,
    api_key_id: keyId,
    wake_at: null,
    updated_at: nowIso(),
    version: application.version + 1,
  };
  try {
    await table.send(new TransactWriteCommand({ TransactItems: [updateItem(applications, application, settled)] }));
  } catch (error) {
    // Two runs at once settle the same application; the second finds it done.
    if ((error as Error).name !== "TransactionCanceledException") throw error;
  }
}
