import { limits } from "../../limits.ts";
import type { RecordedRefusalCode } from "../../schema/audit/recorded-refusals.ts";
import type { ProblemCode } from "../../schema/problem.ts";
import type { AuditedChange, AuditedResource, SealedValues } from "../kernel/audited.ts";
import type { Actor } from "../kernel/decision.ts";
import type { Digest } from "./chain.ts";
import { bounded, changesOf, type EventChange, withoutMembers } from "./changes.ts";
import { erasedMark, personalIn, personalOf, withoutNames, withValues } from "./personal.ts";

/** The audit part of a command that waits in the outbox, without what the events of the same commit carry. */
export interface WaitingAudit {
  /** Operation of the API, or of the service: `create_client`. */
  readonly action: string;
  /** Address of the caller; null where none called. */
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly at?: string;
  readonly actor?: Actor;
  readonly request_id?: string | null;
  readonly resource?: AuditedResource;
  readonly changes?: readonly AuditedChange[];
  /** The personal values of all that, whose places hold `sealedMark`. */
  readonly sealed?: readonly SealedValues[];
  /** Why it was refused; absent where it was not. */
  readonly code?: ProblemCode | RecordedRefusalCode;
  /** How many refusals one entry stands for; 1 where it is absent. */
  readonly count?: number;
}

/** The part of an event that its audit entry is made from, with who caused it and when. */
export interface AuditedEvent extends EventChange {
  readonly created_at: string;
  readonly actor: Actor;
  readonly request_id: string | null;
}

/** One entry of the audit, before it is in the chain. */
export interface AuditEntry {
  readonly id: string;
  readonly object: "audit_entry";
  readonly at: string;
  readonly actor: Actor;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
  readonly action: string;
  readonly resource: AuditedResource | null;
  readonly outcome: "succeeded" | "refused";
  readonly code: ProblemCode | RecordedRefusalCode | null;
  readonly changes: readonly AuditedChange[];
  /** Personal values, by person; absent where there are none. */
  readonly sealed?: readonly SealedValues[];
  readonly count: number;
}

/** Input to an entry besides its event. */
export interface EntryContext {
  readonly id: string;
  /** Time of the commit, for an entry without an event. */
  readonly created_at: string;
  readonly secrets: ReadonlySet<string>;
  readonly digest: Digest;
}

/**
 * The entry of a commit, with what its events tell: who asked, when, and what changed. A personal value that reaches it
 * in clear is erased: what seals values stands before the outbox, and an entry is kept for years.
 */
export function entryOf(waiting: WaitingAudit, events: readonly AuditedEvent[], context: EntryContext): AuditEntry {
  const [first] = events;
  const resource = waiting.resource ?? (first && { type: first.resource.type, id: first.resource.id });
  const told = withoutMembers(waiting.changes ?? changesOf(events), context.secrets);
  const changes = withoutNames(told) as readonly AuditedChange[];
  const { sealed = [] } = waiting;
  const entry = {
    id: context.id,
    object: "audit_entry",
    at: waiting.at ?? first?.created_at ?? context.created_at,
    actor: waiting.actor ?? first?.actor ?? { type: "system", id: "audit", name: "audit" },
    ip: waiting.ip,
    user_agent: waiting.user_agent,
    request_id: waiting.request_id ?? first?.request_id ?? null,
    action: waiting.action,
    resource: resource ?? null,
    outcome: waiting.code === undefined ? "succeeded" : "refused",
    code: waiting.code ?? null,
    changes,
    ...(sealed.length === 0 ? {} : { sealed }),
    count: waiting.count ?? 1,
  } satisfies AuditEntry;
  const clear = [...personalOf(entry), ...personalIn(changes)].flatMap(({ members }) => members);
  const safe = clear.length === 0 ? entry : withValues(entry, clear, () => erasedMark);
  const sealedBytes = sealed.reduce((sum, { text }) => sum + text.length, 0);
  return { ...safe, changes: bounded(safe.changes, context.digest, limits.audit.max_changes_bytes - sealedBytes) };
}
