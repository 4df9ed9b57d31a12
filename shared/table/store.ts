import { BatchGetCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import type { Account, Balance } from "../domain/account.ts";
import type { Application } from "../domain/application.ts";
import type { Client } from "../domain/client.ts";
import type { Change, Context, Decision, DomainEvent, Refusal } from "../domain/decision.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { TransferQuote } from "../domain/internal-money/transfer-quote.ts";
import type { Operator, OperatorKey } from "../domain/people/operator.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { WebhookCount, WebhookEndpoint, WebhookHealth } from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { isThrottle, Unavailable } from "../runtime/unavailable.ts";
import { readable, sound, type UnreadableItem } from "../runtime/unreadable.ts";
import { announcementOf } from "./audit/announcement.ts";
import {
  accounts,
  applications,
  balances,
  clients,
  deliveries,
  type Entity,
  type Key,
  operatorKeys,
  operators,
  type StoredReply,
  storedReplies,
  tenants,
  transactions,
  transferQuotes,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "./entities.ts";
import { isStill } from "./expression.ts";
import type { UntoldAudit } from "./outbox.ts";
import { readRawItem, table, tableOf, tryRead } from "./table.ts";
import { backoffMs, onlyThrottled, reasonsOf, sendTransaction } from "./transact.ts";
import { checkMember, keyIn, putReply, type TransactItem, writeOf } from "./write.ts";

/**
 * A stored item that a handler asks for, typed by its kind. The tenant is filled in from the token, never from the
 * request.
 */
export interface Ref<T> {
  readonly keyIn: (tenant: string) => Key;
  readonly kind?: T;
}

/** References by identifier, one per stored kind. */
export const ref = {
  application: (id: string): Ref<Application> => ({ keyIn: (tenant) => applications.key(tenant, id) }),
  operator: (id: string): Ref<Operator> => ({ keyIn: (tenant) => operators.key(tenant, id) }),
  operatorKey: (): Ref<OperatorKey> => ({ keyIn: (tenant) => operatorKeys.key(tenant) }),
  tenant: (): Ref<Tenant> => ({ keyIn: (tenant) => tenants.key(tenant) }),
  client: (id: string): Ref<Client> => ({ keyIn: (tenant) => clients.key(tenant, id) }),
  account: (id: string): Ref<Account> => ({ keyIn: (tenant) => accounts.key(tenant, id) }),
  balance: (accountId: string): Ref<Balance> => ({ keyIn: (tenant) => balances.key(tenant, accountId) }),
  transaction: (id: string): Ref<Transaction> => ({ keyIn: (tenant) => transactions.key(tenant, id) }),
  transferQuote: (clientId: string): Ref<TransferQuote> => ({
    keyIn: (tenant) => transferQuotes.key(tenant, clientId),
  }),
  webhook: (id: string): Ref<WebhookEndpoint> => ({ keyIn: (tenant) => webhooks.key(tenant, id) }),
  webhookCount: (): Ref<WebhookCount> => ({ keyIn: (tenant) => webhookCounts.key(tenant) }),
  webhookHealth: (id: string): Ref<WebhookHealth> => ({ keyIn: (tenant) => webhookHealths.key(tenant, id) }),
  delivery: (id: string): Ref<Delivery> => ({ keyIn: (tenant) => deliveries.key(tenant, id) }),
};

type Loaded<R extends Readonly<Record<string, Ref<unknown>>>> = {
  -readonly [K in keyof R]: NonNullable<R[K]> extends Ref<infer T> ? T | undefined : never;
};

/** Reads several items at once, strongly consistent. What does not exist is undefined. */
export type Load = <R extends Readonly<Record<string, Ref<unknown>>>>(refs: R) => Promise<Loaded<R>>;

/** How a request's answer is stored under its Idempotency-Key. */
export interface IdempotencyScope {
  readonly application_id: string;
  readonly key_hash: string;
  /** SHA-256 over method, path and the raw bytes of the body; where a secret is shown, over the people too. */
  readonly fingerprint: string;
  /** How the body of the stored answer is sealed where it shows a secret; absent when it is stored as it is. */
  readonly sealing?: Sealing;
}

/** Seals texts and opens them again. */
export interface Sealing {
  readonly seal: (text: string) => Promise<string>;
  /** @throws Error when the text was sealed otherwise */
  readonly open: (sealed: string) => Promise<string>;
}

/** An answer as it is stored and given again. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * What came of a command: a fresh answer, a stored one given again, a key used for another request, or no decision in
 * time.
 */
export type Outcome =
  | { readonly kind: "fresh"; readonly reply: Reply }
  | { readonly kind: "replayed"; readonly reply: Reply }
  | { readonly kind: "key_reused" }
  | { readonly kind: "contended" };

/** A change that is already in the table's form. */
export interface PreparedChange {
  readonly op: "prepared";
  readonly item: TransactItem;
}

/** A decision that can be committed: one of the domain, or one whose changes the data layer has prepared. */
export type Committable<R> =
  | {
      readonly ok: true;
      readonly result: R;
      readonly changes: readonly (Change | PreparedChange)[];
      readonly events: readonly DomainEvent[];
    }
  | Extract<Decision<R>, { ok: false }>;

/** What a command reads of who commands: an application or an operator. */
export interface CallerStanding {
  readonly ref: Ref<{ readonly version: number }>;
  /** @throws an error that is the answer, where they may not command any more */
  readonly check: (stored: unknown) => void;
  /** Whether the commit holds only while they are as they were read. */
  readonly held: boolean;
}

/** A command to run: `decide` may run several times, each time from new reads. */
export interface Command<R> {
  readonly tenant_id: string;
  readonly idempotency?: IdempotencyScope | undefined;
  readonly standing?: CallerStanding | undefined;
  readonly newContext: () => Context;
  readonly decide: (load: Load, context: Context) => Promise<Committable<R>>;
  readonly show: (result: R) => Reply;
  /** What the audit keeps of a commit without an event, or about a person, sealed; absent where it keeps nothing. */
  readonly audited?: (result: R, changes: readonly (Change | PreparedChange)[]) => UntoldAudit;
  readonly showRefusal: (refusal: Refusal) => { readonly reply: Reply; readonly stored: boolean };
  /** Milliseconds left until the function is ended. */
  readonly remainingMs: () => number;
}

/** Thrown by a load that finds a stored answer: the decision ends there. */
class StoredReplyFound extends Error {
  readonly stored: StoredReply;
  constructor(stored: StoredReply) {
    super("A stored answer was found.");
    this.stored = stored;
  }
}

/**
 * Reads items of a tenant in one BatchGetItem, unprocessed keys again until all are there.
 * @throws Unavailable when several answers in a row brought none of them
 */
export async function loadItems<R extends Readonly<Record<string, Ref<unknown>>>>(
  tenant: string,
  refs: R,
): Promise<Loaded<R>> {
  const keys = Object.values(refs).map((each) => each.keyIn(tenant));
  const found = await readKeys(keys);
  const names = Object.keys(refs).map((name, index) => [name, found[index]]);
  return Object.fromEntries(names) as Loaded<R>;
}

/**
 * Items by key, in the order of the keys; strongly consistent by default. A hundred keys to a call, side by
 * side, whichever table they are in.
 * @throws UnreadableItem when one of them cannot be read
 */
export async function readKeys(keys: readonly Key[], consistent = true): Promise<(unknown | undefined)[]> {
  return (await readEach(keys, { consistent })).map(sound);
}

/** As {@link readKeys}, each by itself: in the place of an item that cannot be read is the error that says so. */
export async function readEach<T>(
  keys: readonly Key[],
  { kind, consistent = true }: { readonly kind?: Entity<T>; readonly consistent?: boolean } = {},
): Promise<(T | UnreadableItem | undefined)[]> {
  return (await readStored(keys, consistent)).map((stored) => stored && tryRead<T>(stored, kind));
}

/** Items as they are stored, see {@link readKeys}. */
export async function readStored(keys: readonly Key[], consistent: boolean): Promise<(Stored | undefined)[]> {
  const names = keys.map(identityOf);
  const distinct = [...new Map(keys.map((key, place) => [names[place], key])).values()];
  const found = new Map<string, Stored>();
  const calls: Promise<void>[] = [];
  for (let start = 0; start < distinct.length; start += limits.commit.keys_per_read) {
    calls.push(readInto(found, distinct.slice(start, start + limits.commit.keys_per_read), consistent));
  }
  await Promise.all(calls);
  return names.map((name) => found.get(name));
}

/** As {@link readKeys}, items of one kind. */
export async function readAll<T>(kind: Entity<T>, keys: readonly Key[], consistent = true): Promise<(T | undefined)[]> {
  return (await readEach(keys, { kind, consistent })).map(sound);
}

/** As {@link readAll}, those alone that are there. */
export async function findAll<T>(kind: Entity<T>, keys: readonly Key[]): Promise<T[]> {
  return (await readAll(kind, keys)).filter((item) => item !== undefined);
}

/** As {@link findAll}, without those that cannot be read: for who goes on with the others. */
export async function findReadable<T>(kind: Entity<T>, keys: readonly Key[]): Promise<T[]> {
  return readable(await readEach(keys, { kind })).filter((item) => item !== undefined);
}

type Stored = Record<string, unknown>;

/** The tables that a key can be of. */
const places: readonly Pick<Key, "volatile" | "keys">[] = [{}, { volatile: true }, { keys: true }];

function isIn({ volatile = false, keys = false }: Key, place: (typeof places)[number]): boolean {
  return volatile === (place.volatile ?? false) && keys === (place.keys ?? false);
}

async function readInto(found: Map<string, Stored>, keys: readonly Key[], consistent: boolean): Promise<void> {
  let wanted = keys;
  let inVain = 0;
  while (wanted.length > 0) {
    if (inVain === limits.calls.attempts) throw new Unavailable("The table did not answer all keys.");
    if (inVain > 0) await pause(backoffMs(inVain));
    const sides = places.flatMap((place) => {
      const keys = wanted.filter((key) => isIn(key, place)).map(({ pk, sk }) => ({ pk, sk }));
      return keys.length === 0 ? [] : [{ place, name: tableOf(place), keys }];
    });
    const requests = sides.map(({ name, keys: each }) => [name, { Keys: each, ConsistentRead: consistent }]);
    const answer = await table.send(new BatchGetCommand({ RequestItems: Object.fromEntries(requests) }));
    const left = sides.flatMap(({ name, place }) => {
      for (const item of answer.Responses?.[name] ?? []) {
        found.set(identityOf({ pk: String(item["pk"]), sk: String(item["sk"]), ...place }), item);
      }
      const unprocessed = answer.UnprocessedKeys?.[name]?.Keys ?? [];
      return unprocessed.map(({ pk, sk }) => ({ pk: String(pk), sk: String(sk), ...place }));
    });
    inVain = left.length < wanted.length ? 0 : inVain + 1;
    wanted = left;
  }
}

/** A text that is one and the same for keys of the same item. */
export function identityOf(key: Key): string {
  return `${key.keys === true ? "keys" : (key.volatile ?? false)}\n${key.pk}\n${key.sk}`;
}

/**
 * Runs a command to its end: load, decide, commit. A conflict means "not decided" and a failed condition means "decide
 * again"; both start over from new reads with full jitter, until the tries or the time are used up (ADR 0002). A stored
 * answer of the same key is looked for in the first read of every try, before any decision.
 */
export async function execute<R>(command: Command<R>): Promise<Outcome> {
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

type Attempt = Outcome | { readonly kind: "again"; readonly conflict: boolean };

async function attemptOnce<R>(command: Command<R>): Promise<Attempt> {
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
function readsOf<R>({ tenant_id, idempotency: scope, standing }: Command<R>): Reads {
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
  command: Command<R>,
  decision: Extract<Committable<R>, { ok: true }>,
  reply: Reply,
  { context, held }: { readonly context: Context; readonly held: TransactItem | undefined },
): Promise<Attempt> {
  const tenant = command.tenant_id;
  const stored = command.idempotency && (await storedReplyOf(command.idempotency, tenant, reply));
  const changes = decision.changes.map((change) => (change.op === "prepared" ? change.item : writeOf(change, tenant)));
  const items: TransactItem[] = [
    ...changes,
    // Who changes their own item has its version as a condition already.
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
 * What a cancelled transaction means, most telling reason first: a stored answer, a conflict, a stale decision, a taken
 * value.
 */
async function afterCancellation<R>(
  error: unknown,
  command: Command<R>,
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

async function settleRefusal<R>(command: Command<R>, refusal: Refusal): Promise<Attempt> {
  const { reply, stored } = command.showRefusal(refusal);
  return stored ? settleUnchanged(command, reply) : { kind: "fresh", reply };
}

/**
 * Keeps the answer of a request that changed nothing; who comes second under the same key gets the first one's answer.
 */
async function settleUnchanged<R>(command: Command<R>, reply: Reply): Promise<Attempt> {
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

async function replayOf(stored: StoredReply, scope: IdempotencyScope | undefined): Promise<Outcome> {
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
