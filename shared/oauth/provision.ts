import type * as z from "zod/mini";
import { draftApplication } from "../domain/access/application.ts";
import { firstOwner } from "../domain/access/operator.ts";
import { draftTenant } from "../domain/access/tenant.ts";
import { delayMs, nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import { drawPersonKey } from "../runtime/person-key.ts";
import type { ProvisionRequest } from "../schema/provision.ts";
import { scopes } from "../schema/scope.ts";
import { newContext } from "../table/context.ts";
import { applicationRefs, applications, type Key, tenants } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { putAudit } from "../table/outbox.ts";
import { readKeys } from "../table/store.ts";
import { transact } from "../table/transact.ts";
import { changeMember, putNew, type TransactItem, writeOf } from "../table/write.ts";
import { drawApplication, drawOperatorKey } from "./application-draws.ts";
import { settleApplication } from "./settle.ts";

/** AWS alone knows the person at a terminal: its trail of invocations has the id that the audit entry shows. */
const terminal = { type: "system", id: "terminal", name: "terminal" } as const;

/** A new application; the one time that its secret is shown. */
export interface CreatedApplication {
  readonly tenant_id: string;
  readonly application_id: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
  /** The first owner of a new tenant, where one was asked for. */
  readonly owner_id?: string;
}

/**
 * Makes an application of a tenant, a new tenant when none is named, and its API key. The items of `seed` are written
 * with a new tenant. Should the function end before the key is made, the application waits in the due index and the
 * next reconciliation makes it.
 * @throws Error when the tenant does not exist
 */
export async function provisionApplication(
  request: Extract<z.infer<typeof ProvisionRequest>, { action: "create_application" }>,
  seed: (tenantId: string, now: string) => readonly TransactItem[],
  request_id: string,
): Promise<CreatedApplication> {
  const now = nowIso();
  const tenantId = request.tenant_id ?? newId("brk");
  if (request.tenant_id !== null) {
    if (request.owner !== undefined) throw new Error("Only a new tenant gets its first owner here.");
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
  const owner_id = request.owner === undefined ? undefined : newId("opr");
  const counted =
    request.tenant_id === null
      ? [newTenant(tenantId, now, owner_id), ...ownerOf(request.owner, tenantId, owner_id, now), ...seed(tenantId, now)]
      : [oneMore(tenants.key(tenantId))];
  const resource = { type: "application", id: application_id };
  const { name, status } = application;
  const after = { name, scopes: application.scopes, status, ...(owner_id === undefined ? {} : { owner_id }) };
  const context = newContext({ tenant_id: tenantId, actor: terminal, request_id, scopes: [] });
  const origin = { action: request.action, ip: null, user_agent: null };
  const audit = putAudit({ resource, changes: [{ resource, before: null, after }] }, origin, context, delayMs);
  await transact([putNew(applications, application), putNew(applicationRefs, reference), ...counted, audit]);
  await settleApplication(applications.keyOf(application));
  const made = { tenant_id: tenantId, application_id, client_id, client_secret: secret, scopes: application.scopes };
  return owner_id === undefined ? made : { ...made, owner_id };
}

function newTenant(id: string, now: string, owner: string | undefined): TransactItem {
  return putNew(tenants, {
    ...draftTenant(id, now),
    applications: 1,
    operators: owner === undefined ? 0 : 1,
  });
}

/** The first owner, whose user of the pool is made when the stream shows the operator. */
function ownerOf(email: string | undefined, tenant_id: string, operator_id: string | undefined, now: string) {
  if (email === undefined || operator_id === undefined) return [];
  const draws = { operator_id, key_id: newId("opk"), tenant_id, ...drawOperatorKey(), keys: drawPersonKey() };
  return firstOwner(email, draws, now).map((change) => writeOf(change, tenant_id));
}

/** The operator may go past the bound that a tenant itself has, to let a locked out tenant in again. */
function oneMore(key: Key): TransactItem {
  return changeMember(key, { add: { applications: 1 }, when: [isStored] });
}
