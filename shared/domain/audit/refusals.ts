import { limits } from "../../limits.ts";
import type { RecordedRefusalCode } from "../../schema/audit/recorded-refusals.ts";
import type { AuditedResource, SealedValues } from "../kernel/audited.ts";
import type { Actor } from "../kernel/decision.ts";

/** A party that proved who it is, whom a request is refused to. */
export interface RefusedParty {
  readonly tenant_id: string;
  readonly actor: Actor;
  /** Seals what names an operator; absent for an application, and for an operator without a key. */
  readonly audit_key?: string | undefined;
}

/**
 * A request that was refused by policy or scope, as the function that refused it reports it; or one that changed
 * nothing and gave something out, an export or a ticket, which the audit records likewise.
 */
export interface PolicyRefusal {
  readonly tenant_id: string;
  /** The request, as in its `X-Request-Id` header: a refusal that is reported twice is one. */
  readonly request_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly actor: Actor;
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** Operation of the API, `create_client`, or `authenticate` where the authorizer refused a token. */
  readonly action: string;
  /** Why it was refused; null for one that was carried out. */
  readonly code: RecordedRefusalCode | null;
  /** Resource that the path names, whether it exists or not; null where it names none. */
  readonly resource: AuditedResource | null;
  /** Names of an operator; absent for an application. */
  readonly sealed?: readonly SealedValues[];
}

/** The refusals of one actor and action in one minute, counted together. */
export interface RefusalGroup {
  readonly tenant_id: string;
  readonly actor_id: string;
  readonly action: string;
  /** Minutes since 1970. */
  readonly minute: number;
}

/** How many refusals of a group were recorded. */
export interface RefusalTally extends RefusalGroup {
  /** Those with an entry each. */
  readonly single: number;
  /** Those that share an entry which is not written yet. */
  readonly counted: number;
  /** The first of these, which the entry shows; null where there is none. */
  readonly first: PolicyRefusal | null;
  /** When that entry is written, RFC 3339; null where there is none to write. */
  readonly wake_at: string | null;
  readonly version: number;
  /** Epoch seconds. */
  readonly expires_at: number;
}

/** Times where refusals are recorded. */
export interface RecordingTime {
  readonly now_ms: number;
  /** Milliseconds from now until refusals of a minute are counted whose messages are late. */
  readonly settles_ms: number;
}

/** Refusals that one transaction records. */
export interface RecordedRefusals {
  readonly before: RefusalTally | undefined;
  readonly after: RefusalTally;
  /** Those that get an entry each. */
  readonly singles: readonly PolicyRefusal[];
  /** Those that are counted. */
  readonly counted: readonly PolicyRefusal[];
}

/** The group that a refusal is counted with. */
export function groupOf({ tenant_id, actor, action, at, code }: PolicyRefusal): RefusalGroup {
  return {
    tenant_id,
    actor_id: actor.id,
    action: code === null ? `${action}:done` : action,
    minute: Math.floor(Date.parse(at) / limits.audit.refusals_minute_ms),
  };
}

/**
 * Records refusals of one group, in their order and as many as one transaction takes. As long as the minute has room
 * each is an entry, and few at once, so that a flood fills no transaction of the publisher; the others are counted.
 */
export function recordIn(
  before: RefusalTally | undefined,
  refusals: readonly PolicyRefusal[],
  { now_ms, settles_ms }: RecordingTime,
): RecordedRefusals {
  const [first] = refusals;
  if (first === undefined) throw new Error("There is no refusal to record.");
  const { refusals_per_minute, refusals_at_once, refusals_known_seconds } = limits.audit;
  const group = groupOf(first);
  const { single = 0, counted = 0, version = 0 } = before ?? {};
  const room = Math.max(0, refusals_per_minute - single);
  const singles = refusals.slice(0, Math.min(room, refusals_at_once));
  // The tally is a member of the transaction too.
  const others = room > 0 ? [] : refusals.slice(0, limits.commit.max_items - 1);
  const after: RefusalTally = {
    ...group,
    single: single + singles.length,
    counted: counted + others.length,
    first: before?.first ?? others[0] ?? null,
    wake_at: before?.wake_at ?? (others.length === 0 ? null : settledAt(group, now_ms, settles_ms)),
    version: version + 1,
    expires_at: Math.floor(now_ms / 1000) + refusals_known_seconds,
  };
  return { before, after, singles, counted: others };
}

/** When the entry of what is counted in a minute is written: some time after its end, or after what comes later. */
function settledAt({ minute }: RefusalGroup, nowMs: number, settlesMs: number): string {
  return new Date(Math.max(nowMs, (minute + 1) * limits.audit.refusals_minute_ms) + settlesMs).toISOString();
}

/** The tally after the entry of what was counted is written. Later refusals are counted from zero. */
export function afterCount(before: RefusalTally): RefusalTally {
  return { ...before, counted: 0, first: null, wake_at: null, version: before.version + 1 };
}
