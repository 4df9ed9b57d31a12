import { BatchGetCommand } from "@aws-sdk/lib-dynamodb";
import type { Context, DomainEvent, Refusal } from "../domain/kernel/decision.ts";
import type { Account } from "../domain/records/account.ts";
import type { Application } from "../domain/records/application.ts";
import type { Balance } from "../domain/records/balance.ts";
import type { Change, Decision } from "../domain/records/change.ts";
import type { Client } from "../domain/records/client.ts";
import type { Delivery } from "../domain/records/delivery.ts";
import type { Job, JobCount } from "../domain/records/job.ts";
import type { Operator, OperatorKey } from "../domain/records/operator.ts";
import type { Tenant } from "../domain/records/tenant.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import type { TransferQuote } from "../domain/records/transfer-quote.ts";
import type { WebhookCount, WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { readable, sound, type UnreadableItem } from "../runtime/unreadable.ts";
import {
  accounts,
  applications,
  balances,
  clients,
  deliveries,
  type Entity,
  jobCounts,
  jobs,
  type Key,
  operatorKeys,
  operators,
  tenants,
  transactions,
  transferQuotes,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "./entities.ts";
import type { UntoldAudit } from "./outbox.ts";
import { table, tableOf, tryRead } from "./table.ts";
import { backoffMs } from "./transact.ts";
import type { TransactItem } from "./write.ts";

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
  job: (id: string): Ref<Job> => ({ keyIn: (tenant) => jobs.key(tenant, id) }),
  jobCount: (): Ref<JobCount> => ({ keyIn: (tenant) => jobCounts.key(tenant) }),
  delivery: (id: string): Ref<Delivery> => ({ keyIn: (tenant) => deliveries.key(tenant, id) }),
};

type Loaded<R extends Readonly<Record<string, Ref<unknown>>>> = {
  -readonly [K in keyof R]: NonNullable<R[K]> extends Ref<infer T> ? T | undefined : never;
};

/** Reads several items at once, strongly consistent. A missing item is undefined. */
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
 * Result of a command: a fresh answer, a stored one given again, a key used for another request, or no decision in
 * time.
 */
export type CommitOutcome =
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

/** The caller of a command, as the command reads it: an application or an operator. */
export interface CallerStanding {
  readonly ref: Ref<{ readonly version: number }>;
  /** @throws an error that is the answer, where they may not command any more */
  readonly check: (stored: unknown) => void;
  /** Whether the commit holds only while they are as they were read. */
  readonly held: boolean;
}

/** A command to run: `decide` may run several times, each time from new reads. */
export interface ApiCommand<R> {
  readonly tenant_id: string;
  readonly idempotency?: IdempotencyScope | undefined;
  readonly standing?: CallerStanding | undefined;
  readonly newContext: () => Context;
  readonly decide: (load: Load, context: Context) => Promise<Committable<R>>;
  readonly show: (result: R) => Reply;
  /** Audit record of a commit without an event, or about a person, sealed; absent where there is none. */
  readonly audited?: (result: R, changes: readonly (Change | PreparedChange)[]) => UntoldAudit;
  readonly showRefusal: (refusal: Refusal) => { readonly reply: Reply; readonly stored: boolean };
  /** Milliseconds left until the function is ended. */
  readonly remainingMs: () => number;
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
