import { type AuditEntry, entryOf, type WaitingAudit } from "../domain/audit/entry.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { sha256 } from "../runtime/digest.ts";
import { secretMembers } from "../schema/audit/confidential.ts";
import { auditPage } from "../table/audit-entry.ts";
import { type AuditPage, type AuditPointer, type AuditRef, auditId, type Outbox } from "../table/entities.ts";
import type { WaitingEvent } from "../table/outbox.ts";
import type { AuditHead } from "../table/sequences.ts";

/** A commit that is published: its outbox item and its events. */
export interface PublishedCommit {
  readonly outbox: Outbox;
  readonly events: readonly WaitingEvent[];
}

/** The entries of the audit of a publishing transaction, and the head of the chain after them. */
export interface ChainedAudits {
  /** Undefined when no caller asked for any of the commits. */
  readonly page?: AuditPage;
  /** Where the entry of each commit is, by the commit. */
  readonly pointers: ReadonlyMap<PublishedCommit, AuditPointer>;
  readonly refs: readonly AuditRef[];
  readonly head: AuditHead;
}

/** Makes the entries of commits that a caller asked for, linked to the head of the chain and to each other. */
export function auditsOf(tenant_id: string, commits: readonly PublishedCommit[], head: AuditHead): ChainedAudits {
  const audited = commits.filter(({ outbox }) => outbox.audit !== undefined);
  if (audited.length === 0) return { pointers: new Map(), refs: [], head };
  const expires_at = Math.floor(nowMs() / 1000) + limits.audit.kept_seconds;
  const entries = audited.map((commit, place) => entryIn(commit, { sequence: head.sequence + 1 + place, place }));
  const pointers = new Map(
    audited.map((commit, place) => [commit, pointerTo(entries[place] as AuditEntry, head.sequence + 1 + place, place)]),
  );
  const refs = [...pointers].flatMap(([{ events }, pointer]) =>
    events.length > 0 ? [] : [{ ...pointer, tenant_id, expires_at }],
  );
  const before = head.expires_at === undefined ? {} : { previous_expires_at: head.expires_at };
  const { page, head: after } = auditPage(entries, head, { tenant_id, expires_at, ...before });
  return { page, pointers, refs, head: { ...after, expires_at } };
}

function entryIn(
  { outbox, events }: PublishedCommit,
  at: { readonly sequence: number; readonly place: number },
): AuditEntry {
  const { created_at, id: outboxId, audit = "" } = outbox;
  const id = auditId(Date.parse(created_at), outboxId, at);
  const bodies = events.map(({ body }) => body);
  return entryOf(JSON.parse(audit) as WaitingAudit, bodies, { id, created_at, secrets: secretMembers, digest: sha256 });
}

function pointerTo({ actor, resource }: AuditEntry, sequence: number, place: number): AuditPointer {
  return { actor_id: actor.id, resource_id: resource?.id ?? null, sequence, place };
}
