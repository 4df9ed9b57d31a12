import { timingSafeEqual } from "node:crypto";
import { applicationRefs, applications } from "../data/entities.ts";
import { readKeys } from "../data/store.ts";
import type { Application } from "../domain/application.ts";
import { sha256 } from "../runtime/digest.ts";

/**
 * The active application of a client id when the secret is right, else undefined. An unknown id costs the same hash and
 * comparison as a wrong secret, so neither the answer nor the work done tells them apart.
 */
export async function authenticateClient(clientId: string, secret: string): Promise<Application | undefined> {
  const offered = Buffer.from(sha256(secret), "hex");
  const application = /^app_[A-Za-z0-9]{24}$/.test(clientId) ? await applicationOf(clientId) : undefined;
  const stored = Buffer.from(application?.secret_sha256 ?? sha256("no such application"), "hex");
  const same = timingSafeEqual(offered, stored);
  return same && application?.status === "active" ? application : undefined;
}

async function applicationOf(clientId: string): Promise<Application | undefined> {
  const [found] = await readKeys([applicationRefs.key(clientId)]);
  const reference = found as { owner_tenant_id: string; application_id: string } | undefined;
  if (reference === undefined) return undefined;
  const [application] = await readKeys([applications.key(reference.owner_tenant_id, reference.application_id)]);
  return application as Application | undefined;
}
