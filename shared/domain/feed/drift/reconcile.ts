import { limits } from "../../../limits.ts";
import { type Context, type DomainEvent, later } from "../../kernel/decision.ts";
import { sameValue } from "../../kernel/equality.ts";
import type { PlatformCommand } from "../../records/command.ts";
import type { Drift, DriftPositions } from "../../records/drift.ts";
import { announcing } from "../command/announce.ts";
import { isCorrection } from "../command/command.ts";
import { givenUp } from "../command/correction.ts";
import { type Comparison, type Difference, positionSubject, subjectOf } from "./compare.ts";
import { acceptedOf, type DriftChange, type DriftDecision, driftEvent, type Reconciliation } from "./drift.ts";

/** A snapshot as far as drifts name it. */
export interface SnapshotRef {
  readonly source_id: string;
  readonly snapshot_id: string;
  readonly as_of_seq: string;
  readonly taken_at: string;
}

/** The login that was compared, with its account where it has one. */
export interface Compared {
  readonly platform_login: string;
  readonly account_id: string | null;
  readonly client_id: string | null;
  readonly balance_seq: number | null;
  readonly pos_version: number | null;
  readonly comparison: Comparison;
  /** Whether the books of the account were compared, or only whether it is there. */
  readonly books: boolean;
  readonly explained_by: Drift["explained_by"];
  /** All positions of an account that is not known here, where its difference names a digest of them. */
  readonly positions?: DriftPositions["positions"];
}

/** The stored reconciliation of a login, with its open drifts. */
export interface Remembered {
  readonly reconciliation: Reconciliation | undefined;
  /** The newest snapshot of the source; absent where the comparison found no difference. */
  readonly head?: Order | undefined;
  readonly drifts: readonly Drift[];
  /** The commands of these drifts. */
  readonly commands: readonly PlatformCommand[];
}

/** Result of a comparison once it is stored. */
export interface Reconciled {
  readonly status: "equal" | "moved_on" | "drifting" | "superseded";
  readonly moved_on_since: string | undefined;
}

type Decided = Extract<DriftDecision<Reconciled>, { ok: true }>;

type Order = Pick<SnapshotRef, "as_of_seq" | "taken_at">;

/** Whether a snapshot is older than another one: by its number, and of one number by its time. */
export function isOlder(one: Order, other: Order): boolean {
  const [a, b] = [BigInt(one.as_of_seq), BigInt(other.as_of_seq)];
  return a === b ? one.taken_at < other.taken_at : a < b;
}

/**
 * Decides what the comparison of a login makes of its drifts: a new difference is a drift, one that is gone resolves
 * its drift as agreed, and one that was accepted is reported again only when it has changed. A snapshot that is older
 * than the newest one changes nothing.
 */
export function reconcile(
  { reconciliation: before, head, drifts, commands }: Remembered,
  compared: Compared,
  snapshot: SnapshotRef,
  context: Context,
): Decided {
  const { comparison } = compared;
  const newer = [before, head].some((each) => each !== undefined && isOlder(snapshot, each));
  if (newer) return decided({ status: "superseded", moved_on_since: before?.moved_on_since }, []);
  const known = before?.accepted ?? {};
  const reported = comparison.differences.filter((each) => known[subjectOf(each)] !== acceptedOf(each));
  const bySubject = new Map(reported.map((each) => [subjectOf(each), each]));
  const differing = new Set(comparison.differences.map(subjectOf));
  const isGone = (subject: string, symbol: string | null = null) =>
    !differing.has(subject) && wasCompared([subject, ...(symbol === null ? [] : [positionSubject(symbol)])], compared);
  const open = new Map(drifts.filter(({ status }) => status === "open").map((each) => [subjectOf(each), each]));
  const changes: DriftChange[] = [];
  const events: DomainEvent[] = [];
  const left = new Map([...open].map(([subject, { id }]) => [subject, id]));
  const room = () => changes.length < limits.snapshots.reported_at_once;
  for (const [subject, drift] of open) {
    if (room() && isGone(subject, drift.symbol)) {
      const after = agreed(drift, context);
      changes.push({ op: "update", entity: "drift", before: drift, after }, ...endOf(drift, commands, context));
      events.push(driftEvent("drift.resolved", after));
      left.delete(subject);
    }
  }
  for (const [subject, difference] of bySubject) {
    const drift = open.get(subject);
    if (!room()) break;
    if (drift === undefined) {
      const item = detected(difference, compared, snapshot, context);
      changes.push({ op: "create", entity: "drift", item }, ...keptPositions(item, undefined, compared));
      events.push(driftEvent("drift.detected", item));
      left.set(subject, item.id);
    } else if (!isSame(drift, difference, compared)) {
      const after = seen(drift, difference, compared, snapshot, context);
      const ended = acceptedOf(drift) === acceptedOf(after) ? [] : endOf(drift, commands, context);
      const kept = keptPositions(after, drift.positions_digest, compared);
      changes.push({ op: "update", entity: "drift", before: drift, after }, ...kept, ...ended);
    }
  }
  const accepted = Object.fromEntries(
    Object.entries(known).filter(([subject]) => !isGone(subject) && !bySubject.has(subject)),
  );
  const status = reported.length > 0 ? "drifting" : comparison.status === "moved_on" ? "moved_on" : "equal";
  const since = status === "moved_on" ? { moved_on_since: before?.moved_on_since ?? context.now } : {};
  const after = {
    ...remembered(before, compared, snapshot, context),
    ...since,
    open: Object.fromEntries(left),
    accepted,
  };
  const result = { status, moved_on_since: after.moved_on_since } as const;
  return decided(result, [...changes, ...reconciliationChange(before, after)], events);
}

function decided(result: Reconciled, changes: readonly DriftChange[], events: readonly DomainEvent[] = []): Decided {
  return announcing<Decided>({ ok: true, result, changes, events });
}

/** Ends the command of a drift that is gone, or of another amount: one that may still move money goes on. */
function endOf(
  { command_id: id }: Drift,
  commands: readonly PlatformCommand[],
  context: Context,
): readonly DriftChange[] {
  const command = commands.find((each) => each.id === id);
  const ended = isCorrection(command) ? givenUp(command, context) : undefined;
  return ended?.ok ? ended.result : [];
}

/**
 * Whether a comparison has looked at what has these subjects: not at what moved on or is no amount, nor at the books of
 * an account that is gone. With netting a position has the subject of its symbol too.
 */
function wasCompared(subjects: readonly string[], { books, comparison }: Compared): boolean {
  if (subjects.includes("account")) return true;
  return books && !subjects.some((subject) => comparison.uncompared.includes(subject));
}

function isSame(
  drift: Drift,
  { kind, ours, theirs, open_price, platform_account, positions_digest }: Difference,
  { balance_seq, pos_version }: Compared,
): boolean {
  const unmoved = drift.balance_seq === balance_seq && drift.pos_version === pos_version;
  const same = drift.kind === kind && drift.ours === ours && drift.theirs === theirs;
  const detailed = drift.open_price === open_price && sameValue(drift.platform_account, platform_account);
  return same && detailed && drift.positions_digest === positions_digest && unmoved;
}

/** Writes of all positions of an account, where they differ from those that are kept. */
function keptPositions(
  { id: drift_id, tenant_id, positions_digest }: Drift,
  known: Drift["positions_digest"],
  { positions }: Compared,
): readonly DriftChange[] {
  if (positions === undefined || positions_digest === undefined || positions_digest === known) return [];
  return [{ op: "keep", entity: "drift_positions", item: { tenant_id, drift_id, positions } }];
}

function detected(difference: Difference, compared: Compared, snapshot: SnapshotRef, context: Context): Drift {
  const { platform_login, account_id, client_id, balance_seq, pos_version, explained_by } = compared;
  return {
    id: context.newId("drf"),
    tenant_id: context.tenant_id,
    ...snapshot,
    ...{ platform_login, account_id, client_id, balance_seq, pos_version },
    ...difference,
    explained_by,
    status: "open",
    command_id: null,
    proposal: null,
    resolution: null,
    resolved_at: null,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
}

/** The drift as a newer snapshot finds it. A proposal about it named other numbers, so it ends. */
function seen(
  before: Drift,
  difference: Difference,
  { balance_seq, pos_version, explained_by }: Compared,
  snapshot: SnapshotRef,
  { now }: Context,
): Drift {
  const numbers = { balance_seq, pos_version, explained_by, proposal: null };
  const updated_at = later(before.updated_at, now);
  const { platform_account: _account, positions_digest: _positions, ...rest } = before;
  return { ...rest, ...difference, ...snapshot, ...numbers, updated_at, version: before.version + 1 };
}

function agreed(before: Drift, { now }: Context): Drift {
  const updated_at = later(before.updated_at, now);
  const resolution = { action: "agreed", by: null, reason: null, transaction_id: null, trade_id: null } as const;
  const ended = { status: "resolved", resolution, proposal: null, resolved_at: updated_at } as const;
  return { ...before, ...ended, updated_at, version: before.version + 1 };
}

function remembered(
  before: Reconciliation | undefined,
  { platform_login }: Compared,
  { source_id, as_of_seq, taken_at }: SnapshotRef,
  { tenant_id }: Context,
) {
  return { tenant_id, source_id, platform_login, as_of_seq, taken_at, version: (before?.version ?? 0) + 1 };
}

/** The change of what is remembered; none while there is nothing to remember and was nothing before. */
function reconciliationChange(before: Reconciliation | undefined, after: Reconciliation): readonly DriftChange[] {
  if (before === undefined) {
    return isEmpty(after) ? [] : [{ op: "create", entity: "reconciliation", item: after }];
  }
  return isEmpty(before) && isEmpty(after) ? [] : [{ op: "update", entity: "reconciliation", before, after }];
}

function isEmpty({ open, accepted, moved_on_since }: Reconciliation): boolean {
  return Object.keys(open).length + Object.keys(accepted).length === 0 && moved_on_since === undefined;
}
