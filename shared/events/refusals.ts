import {
  afterCount,
  groupOf,
  type PolicyRefusal,
  type RecordedRefusals,
  type RefusalTally,
  recordIn,
} from "../domain/audit/refusals.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs, pause } from "../runtime/clock.ts";
import { newId } from "../runtime/ids.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { isThrottle, Unavailable } from "../runtime/unavailable.ts";
import { isRecordedRefusal } from "../schema/audit/recorded-refusals.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { recordedRefusals, refusalTallies } from "../table/entities.ts";
import { putRefusal } from "../table/outbox.ts";
import { readAll } from "../table/store.ts";
import { backoffMs, transactOnce } from "../table/transact.ts";
import { putNew, type TransactItem, updateItem } from "../table/write.ts";

/** A message of the queue of refusals. */
export interface RefusalMessage {
  /** Id of the message. */
  readonly id: string;
  readonly text: string;
}

interface Reported {
  readonly id: string;
  readonly refusal: PolicyRefusal;
}

/**
 * Records what messages report: each refusal once, however often its message comes, as an entry of the audit or as one
 * of those that are counted (ADR 0059). Returns the ids of the messages that have to come again: an unrecognised one
 * among them, which ends in the dead letters.
 */
export async function recordRefusals(messages: readonly RefusalMessage[]): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const groups = new Map<string, Reported[]>();
  for (const { id, text } of messages) {
    const refusal = refusalIn(text);
    if (refusal === undefined) {
      failed.add(id);
      log.error("The audit received a message of an unknown form.", { message_id: id });
      continue;
    }
    const { pk } = refusalTallies.keyOf(groupOf(refusal));
    groups.set(pk, [...(groups.get(pk) ?? []), { id, refusal }]);
  }
  await inParallel(limits.audit.refusals_in_parallel, [...groups.values()], async (own) => {
    try {
      await recordGroup(own.map(({ refusal }) => refusal));
    } catch (error) {
      for (const { id } of own) failed.add(id);
      log.error("Refusals could not be recorded.", { refusals: own.length, ...causeOf(error) });
    }
  });
  return failed;
}

/** Records refusals of one group, as many at once as a transaction holds. */
async function recordGroup(refusals: readonly PolicyRefusal[]): Promise<void> {
  const byRequest = new Map(refusals.map((refusal) => [refusal.request_id, refusal]));
  let left = [...byRequest.values()].toSorted((a, b) => (a.at < b.at ? -1 : 1));
  let attempt = 0;
  let tally = await tallyOf(left);
  while (left.length > 0) {
    const step = recordIn(tally, left, { now_ms: nowMs(), settles_ms: delayMs(limits.audit.refusals_settle_seconds) });
    const result = await commit(step);
    const done = result === "recorded" ? new Set([...step.singles, ...step.counted]) : result;
    if (done !== "again") left = left.filter((refusal) => !done.has(refusal));
    if (result === "recorded") {
      [tally, attempt] = [step.after, 0];
      await pause(delayMs((step.singles.length * limits.audit.refusal_pause_ms) / 1000));
      continue;
    }
    if (result === "again") {
      attempt += 1;
      if (attempt === limits.commit.conflict_tries) throw new Unavailable("The tally of refusals is too contended.");
      await pause(backoffMs(attempt));
    }
    tally = await tallyOf(left);
  }
}

async function tallyOf([first]: readonly PolicyRefusal[]): Promise<RefusalTally | undefined> {
  if (first === undefined) return undefined;
  const [tally] = await readAll(refusalTallies, [refusalTallies.keyOf(groupOf(first))]);
  return tally;
}

/**
 * One try to record refusals: their marks, their entries and the tally in one transaction. Returns those that were
 * recorded already, or the order to try again from the tally as it is now.
 */
async function commit(step: RecordedRefusals): Promise<"recorded" | "again" | ReadonlySet<PolicyRefusal>> {
  const { before, after, singles, counted } = step;
  const marked = [...singles, ...counted];
  const { expires_at } = after;
  const outcome = await transactOnce([
    before === undefined ? putNew(refusalTallies, after) : updateItem(refusalTallies, before, after),
    ...marked.map(({ tenant_id, request_id }) => putNew(recordedRefusals, { tenant_id, request_id, expires_at })),
    ...singles.map((refusal) => entryOf(refusal, 1)),
  ]);
  if (outcome.ok) return "recorded";
  const { codes, error } = outcome;
  const known = marked.filter((_, at) => codes[at + 1] === "ConditionalCheckFailed");
  if (known.length > 0) return new Set(known);
  if (codes.every((code) => ordinary.has(code) || isThrottle(code))) return "again";
  throw error;
}

const ordinary = new Set(["None", "ConditionalCheckFailed", "TransactionConflict"]);

function entryOf(refusal: PolicyRefusal, count: number): TransactItem {
  return putRefusal(refusal, count, { now: nowIso(), newId }, delayMs);
}

/** Writes the entries of the refusals that were counted, of each group whose minute is over; a part of the sweep. */
export function writeCountedRefusals(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("REFUSAL", hasTime, {
    entity: refusalTallies,
    isDue: ({ wake_at }) => wake_at !== null && wake_at <= nowIso(),
    parallel: limits.audit.refusals_in_parallel,
    run: async (tally) => {
      const { first, counted } = tally;
      const written = await transactOnce([
        updateItem(refusalTallies, tally, afterCount(tally)),
        ...(first === null ? [] : [entryOf(first, counted)]),
      ]);
      // A later change of the tally is in it when the sweep comes again.
      return written.ok ? 1 : 0;
    },
    report: ({ tenant_id, actor_id }, error) =>
      log.error("Counted refusals could not be recorded in the audit log; they are retried.", {
        tenant_id,
        actor_id,
        ...causeOf(error),
      }),
  });
}

/** A refusal as a message carries it; undefined for anything else. */
function refusalIn(text: string): PolicyRefusal | undefined {
  let read: Partial<PolicyRefusal>;
  try {
    read = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { tenant_id, request_id, at, actor, ip, user_agent = null, action, code, resource = null, sealed } = read;
  const texts = [tenant_id, request_id, at, ip, action, actor?.id, actor?.name];
  if (texts.some((each) => typeof each !== "string") || !/^brk_[0-9A-Z]{26}$/.test(tenant_id ?? "")) return undefined;
  if (Number.isNaN(Date.parse(at ?? "")) || !(code === null || isRecordedRefusal(code ?? ""))) return undefined;
  // The name and the address of an operator are in these values alone.
  const person = sealed === undefined ? {} : { sealed };
  return { tenant_id, request_id, at, actor, ip, user_agent, action, code, resource, ...person } as PolicyRefusal;
}
