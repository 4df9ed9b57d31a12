import type * as z from "zod/mini";
import { applicationRefs, applications, type Key, tenants } from "../data/entities.ts";
import { seedMarket } from "../data/sandbox-seed.ts";
import { readKeys, transact } from "../data/store.ts";
import { putNew, type TransactItem } from "../data/write.ts";
import { draftApplication } from "../domain/application.ts";
import { draftTenant } from "../domain/tenant.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import type { ProvisionRequest } from "../schema/provision.ts";
import { scopes } from "../schema/scope.ts";
import { drawApplication } from "./application-draws.ts";
import { settleApplication } from "./settle.ts";

/** A new application; the one time that its secret is shown. */
export interface CreatedApplication {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
}

/**
 * Makes an application of a tenant, a new tenant when none is named, and its API key. A new tenant of the sandbox gets
 * a market of its own with it. Should the function end before
 * the key is made, the application waits in the due index and the next reconciliation makes it.
 * @throws Error when the tenant does not exist
 */
export async function provisionApplication(
  request: Extract<z.infer<typeof ProvisionRequest>, { action: "create_application" }>,
): Promise<CreatedApplication> {
  const now = nowIso();
  const tenantId = request.tenant_id ?? newId("brk");
  if (request.tenant_id !== null) {
    const [known] = await readKeys([tenants.key(tenantId)]);
    if (known === undefined) throw new Error(`There is no tenant ${tenantId}.`);
  }
  const { secret, sha256, client_id, api_key_seed } = drawApplication();
  const application = draftApplication(
    {
      tenant_id: tenantId,
      environment: env.stage,
      name: request.name,
      scopes: request.scopes ?? scopes,
      allowed_ips: [],
    },
    { id: newId("app"), client_id, secret_sha256: sha256, api_key_seed, now },
  );
  const { id: application_id } = application;
  const reference = { client_id, application_id, owner_tenant_id: tenantId };
  const counted = request.tenant_id === null ? newTenant(tenantId, now) : [oneMore(tenants.key(tenantId))];
  await transact([putNew(applications, application), putNew(applicationRefs, reference), ...counted]);
  await settleApplication(applications.keyOf(application));
  return { tenant_id: tenantId, application_id, client_id, client_secret: secret, scopes: application.scopes };
}

function newTenant(id: string, now: string): TransactItem[] {
  const tenant = putNew(tenants, { ...draftTenant(id, now), applications: 1 });
  return [tenant, ...(env.stage === "sandbox" ? seedMarket(id, now) : [])];
}

/** The operator may go past the bound that a tenant itself has, to let a locked out tenant in again. */
function oneMore(key: Key): TransactItem {
  return {
    Update: {
      TableName: env.tableName,
      Key: key,
      UpdateExpression: "ADD applications :one",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeValues: { ":one": 1 },
    },
  };
}
