import { PutCommand } from "@aws-sdk/lib-dynamodb";
import type { Context, Refusal } from "../../domain/kernel/decision.ts";
import type { Change } from "../../domain/records/change.ts";
import { limits } from "../../limits.ts";
import { nowMs, pause } from "../../runtime/clock.ts";
import { isThrottle } from "../../runtime/unavailable.ts";
import { announcementOf } from "../audit/announcement.ts";
import { type StoredReply, storedReplies } from "../entities.ts";
import { isStill } from "../expression.ts";
import {
  type ApiCommand,
  type CommitOutcome,
  type Committable,
  type IdempotencyScope,
  identityOf,
  type Load,
  loadItems,
  type PreparedChange,
  type Ref,
  type Reply,
} from "../store.ts";
import { readRawItem, table } from "../table.ts";
import { backoffMs, onlyThrottled, reasonsOf, sendTransaction } from "../transact.ts";
import { checkMember, keyIn, putReply, type TransactItem, writeOf } from "../write.ts";

/** Thrown by a load that finds a stored answer: the decision ends there. */
class StoredReplyFound extends Error {
  readonly stored: StoredReply;
  constructor(stored: StoredReply) {
    super("A stored answer was found.");
    this.stored = stored;
  }
}

/**
 * Runs a command to its end: load, decide, commit. A conflict means "not decided" and a failed condition means "decide
 * again"; both start over from new reads with full jitter, until the tries or the time are used up (ADR 0002). A stored
 * answer of the same key is looked for in the first read of every try, before any decision.
 */
export async function execute<R>(command: ApiCommand<R>): Promise<CommitOutcome> {
  let conflicts = 0;
  let decisions = 0;
  while (command.remainingMs() > limits.commit.reserve_ms) {
    const attempt = await attemptOnce(command);
    if (attempt.kind !== "again") return attempt;
    if (attempt.conflict) conflicts += 1;
    else decisions += 1;
    if (conflicts >= limits.commit.conflict_tries || decisions >= limits.commit.decision_tries) break;
    await pause(
      Math.min(backoffMs(conflicts + decisions), Math.max(0, command.remainingMs() - limits.commit.reserve_ms)),
    );
  }
  return { kind: "contended" };
}

type Attempt = CommitOutcome | { readonly kind: "again"; readonly conflict: boolean };

async function attemptOnce<R>(command: ApiCommand<R>): Promise<Attempt> {
  const context = command.newContext();
  const reads = readsOf(command);
  let decision: Committable<R>;
  try {
    decision = await command.decide(reads.load, context);
    if (reads.owesStanding()) await reads.load({});
  } catch (error) {
    if (error instanceof StoredReplyFound) return replayOf(error.stored, command.idempotency);
    throw error;
  }
  if (!decision.ok) return settleRefusal(command, decision.refusal);
  const reply = command.show(decision.result);
  if (decision.changes.length === 0) return settleUnchanged(command, reply);
  return commit(command, decision, reply, { context, held: reads.held() });
}

/** The reads of one decision. */
interface Reads {
  readonly load: Load;
  /** Whether the decision has read nothing, and so not who commands. */
  readonly owesStanding: () => boolean;
  /** The condition that who commands is as they were read; undefined where the commit does not ask for it. */
  readonly held: () => ReturnType<typeof checkMember> | undefined;
}

/**
 * The first read of a decision carries along the stored answer and who commands, so looking for them costs no round
 * trip. A stored answer comes first: it changes nothing, and who lost the answer to the rotation of their own secret
 * gets in by it alone.
 */
function readsOf<R>({ tenant_id, idempotency: scope, standing }: ApiCommand<R>): Reads {
  let first = true;
  let caller: { readonly version: number } | undefined;
  const load: Load = async (refs) => {
    if (!first || (scope === undefined && standing === undefined)) return loadItems(tenant_id, refs);
    first = false;
    const { stored_reply, who_commands, ...found } = await loadItems(tenant_id, {
      ...refs,
      ...(scope === undefined ? {} : { stored_reply: storedReplyRef(scope) }),
      ...(standing === undefined ? {} : { who_commands: standing.ref }),
    });
    const reply = stored_reply as StoredReply | undefined;
    if (reply !== undefined && reply.expires_at >= nowMs() / 1000) throw new StoredReplyFound(reply);
    standing?.check(who_commands);
    caller = who_commands as typeof caller;
    return found as never;
  };
  return {
    load,
    owesStanding: () => first && standing !== undefined,
    held: () => {
      if (standing?.held !== true || caller === undefined) return undefined;
      return checkMember(standing.ref.keyIn(tenant_id), isStill({ version: caller.version }));
    },
  };
}

function storedReplyRef({ application_id, key_hash }: IdempotencyScope): Ref<StoredReply> {
  return { keyIn: (tenant) => storedReplies.key(tenant, application_id, key_hash) };
}

async function commit<R>(
  command: ApiCommand<R>,
  decision: Extract<Committable<R>, { ok: true }>,
  reply: Reply,
  { context, held }: { readonly context: Context; readonly held: TransactItem | undefined },
): Promise<Attempt> {
  const tenant = command.tenant_id;
  const stored = command.idempotency && (await storedReplyOf(command.idempotency, tenant, reply));
  const changes = decision.changes.map((change) => (change.op === "prepared" ? change.item : writeOf(change, tenant)));
  const items: TransactItem[] = [
    ...changes,
    // A caller that changes its own item has its version as a condition already.
    ...(held === undefined || changes.some((change) => isSameItem(change, held)) ? [] : [held]),
    ...announcementOf(command, decision, context),
    ...(stored === undefined ? [] : [putReply(stored, Math.floor(nowMs() / 1000))]),
  ];
  try {
    await sendTransaction(items);
    return { kind: "fresh", reply };
  } catch (error) {
    return afterCancellation(error, command, decision.changes, {
      reply: stored === undefined ? -1 : items.length - 1,
      held: held === undefined ? -1 : items.indexOf(held),
    });
  }
}

/**
 * Cause of a cancelled transaction, most telling reason first: a stored answer, a conflict, a stale decision, a taken
 * value.
 */
async function afterCancellation<R>(
  error: unknown,
  command: ApiCommand<R>,
  changes: readonly (Change | PreparedChange)[],
  { reply: replyIndex, held }: { readonly reply: number; readonly held: number },
): Promise<Attempt> {
  const reasons = reasonsOf(error);
  // A call that was given up may have been carried out: to decide again would be to do it twice.
  if ((error as Error).name !== "TransactionCanceledException" || onlyThrottled(reasons)) throw error;
  const failed = (index: number) => reasons[index]?.Code === "ConditionalCheckFailed";
  if (replyIndex >= 0 && failed(replyIndex)) {
    const item = reasons[replyIndex]?.Item;
    if (item === undefined) return { kind: "again", conflict: true };
    return replayOf(readRawItem<StoredReply>(item), command.idempotency);
  }
  if (reasons.some(({ Code }) => Code === "TransactionConflict" || isThrottle(Code)))
    return { kind: "again", conflict: true };
  const taken = changes.findIndex((change, index) => change.op === "claim" && failed(index));
  const stale = failed(held) || changes.some((change, index) => change.op !== "claim" && failed(index));
  const claim = changes[taken];
  if (!stale && claim?.op === "claim" && claim.drawn !== true) return settleRefusal(command, claim.refusal);
  if (stale || claim !== undefined) return { kind: "again", conflict: false };
  throw error;
}

function isSameItem(one: TransactItem, other: TransactItem): boolean {
  return identityOf(keyIn(one)) === identityOf(keyIn(other));
}

async function settleRefusal<R>(command: ApiCommand<R>, refusal: Refusal): Promise<Attempt> {
  const { reply, stored } = command.showRefusal(refusal);
  return stored ? settleUnchanged(command, reply) : { kind: "fresh", reply };
}

/**
 * Keeps the answer of a request that changed nothing; who comes second under the same key gets the first one's answer.
 */
async function settleUnchanged<R>(command: ApiCommand<R>, reply: Reply): Promise<Attempt> {
  if (command.idempotency === undefined) return { kind: "fresh", reply };
  const stored = await storedReplyOf(command.idempotency, command.tenant_id, reply);
  const { Put: put } = putReply(stored, Math.floor(nowMs() / 1000));
  try {
    await table.send(new PutCommand(put));
    return { kind: "fresh", reply };
  } catch (error) {
    const { name, Item: item } = error as { name?: string; Item?: Record<string, unknown> };
    if (name === "TransactionConflictException") return { kind: "again", conflict: true };
    if (name !== "ConditionalCheckFailedException" || item === undefined) throw error;
    return replayOf(readRawItem<StoredReply>(item), command.idempotency);
  }
}

async function replayOf(stored: StoredReply, scope: IdempotencyScope | undefined): Promise<CommitOutcome> {
  if (stored.fingerprint !== scope?.fingerprint) return { kind: "key_reused" };
  const body = scope.sealing === undefined ? stored.body : await scope.sealing.open(stored.body);
  return { kind: "replayed", reply: { status: stored.status, headers: stored.headers, body } };
}

async function storedReplyOf(scope: IdempotencyScope, tenant: string, reply: Reply): Promise<StoredReply> {
  return {
    tenant_id: tenant,
    application_id: scope.application_id,
    key_hash: scope.key_hash,
    fingerprint: scope.fingerprint,
    status: reply.status,
    headers: reply.headers,
    body: scope.sealing === undefined ? reply.body : await scope.sealing.seal(reply.body),
    expires_at: Math.floor(nowMs() / 1000) + limits.idempotency.kept_seconds,
  };
}
