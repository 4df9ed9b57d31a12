import type { Client } from "../../domain/records/client.ts";
import { delayMs, nowIso } from "../../runtime/clock.ts";
import { systemContext } from "../context.ts";
import { clients, findables, personKeys, reviews } from "../entities.ts";
import { isStill, isStored } from "../expression.ts";
import { changeItem } from "../items.ts";
import { putAudit } from "../outbox.ts";
import { keyIn, pagesOf } from "../partition.ts";
import { readKeys } from "../store.ts";
import { indexes } from "../table-shape.ts";
import { transactOnce } from "../transact.ts";
import { changeMember, typeTag } from "../write.ts";

/**
 * Destroys what opens the audit of a person, for good: the note of it stays in its place, so that no other key is made.
 * Repeated, it changes nothing.
 */
export async function destroyPersonKey(tenant_id: string, person_id: string): Promise<void> {
  const note = { ...typeTag(personKeys.et), tenant_id, person_id, destroyed_at: nowIso() };
  const isThere = { attribute: "destroyed_at", is: "absent" } as const;
  const change = { set: note, remove: ["private_key"], when: [isThere] };
  await changeItem(personKeys.key(tenant_id, person_id), change, "again");
}

/** Takes the texts away that a client is found by: they are in the keys of indexes alone. */
async function hideClient(tenant: string, id: string): Promise<void> {
  const remove = Object.values(indexes).flatMap(({ partition, sort }) => [partition, sort]);
  for (const key of [findables.namesKey(tenant, id), findables.phoneKey(tenant, id)]) {
    await changeItem(key, { remove, when: [isStored] }, "again");
  }
}

/** Takes the texts and the verification out of the reviews of a client; who decided what, and when, stays. */
async function eraseReviews(tenant: string, id: string): Promise<void> {
  const set = { comment: null, internal_comment: null, note: null, verification: null };
  for await (const { items } of pagesOf(reviews.partition(tenant, id), { attributes: ["pk", "sk"] })) {
    for (const item of items) await changeItem(keyIn(item), { set, when: [isStored] }, "again");
  }
}

/** Result of an erasure for the audit of a client. */
export interface ErasedClient {
  readonly client_id: string;
  /** False when an earlier command has erased it. */
  readonly erased_now: boolean;
}

/**
 * Erases what the audit and the reviews keep of a closed client, which gets no further reviews: destroys its key and
 * what the search finds it by, takes the texts out of its reviews, then takes the public key from the client and leaves
 * an entry of the audit. A command that ended in between is completed by the next
 * one.
 * @throws Error when there is no such client, or it is not closed
 */
export async function eraseClientAudit(tenant: string, id: string): Promise<ErasedClient> {
  const [found] = await readKeys([clients.key(tenant, id)]);
  const client = found as Client | undefined;
  if (client === undefined) throw new Error(`The tenant ${tenant} has no client ${id}.`);
  const { status, audit_key } = client;
  if (status !== "closed") throw new Error(`The client is ${status}: only a closed one can be erased from the audit.`);
  await destroyPersonKey(tenant, id);
  await hideClient(tenant, id);
  await eraseReviews(tenant, id);
  if (audit_key === undefined) return { client_id: id, erased_now: false };
  const resource = { type: "client", id };
  const origin = { action: "erase_client", ip: null, user_agent: null };
  const written = await transactOnce([
    changeMember(clients.key(tenant, id), { remove: ["audit_key"], when: [isStored, ...isStill({ audit_key })] }),
    putAudit({ resource, changes: [] }, origin, systemContext(tenant, "erasure"), delayMs),
  ]);
  if (!written.ok && written.codes[0] !== "ConditionalCheckFailed") throw written.error;
  return { client_id: id, erased_now: written.ok };
}
