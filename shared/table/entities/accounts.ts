import type { Account, LinkProposal } from "../../domain/records/account.ts";
import type { Balance } from "../../domain/records/balance.ts";
import type { Client, Findable, FindTexts } from "../../domain/records/client.ts";
import type { Contra, Ledger } from "../../domain/records/ledger.ts";
import type { Review } from "../../domain/records/review.ts";
import { limits } from "../../limits.ts";
import { sha256 } from "../../runtime/digest.ts";
import { env } from "../../runtime/env.ts";
import type { IndexName } from "../table-shape.ts";
import { crockford, dueKeys, type Entity, type IndexKeys, type Key, placeAt, ulidOf } from "./keys.ts";

/**
 * Clients. Lists: all of a tenant, newest first (`list`); by verification and status (`state`); closed ones by their
 * email address (`owner`), which is not theirs alone any more; those who wait for a decision about their identity, and
 * those whose verification ends (`client`, and `due` for the sweep). The claim finds the owner of an address.
 */
export const clients = {
  et: "CLIENT",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "CLIENT" }),
  keyOf: (item: Client): Key => clients.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|CLI`,
  inState: (tenant: string, verification: string, status: string) => `${tenant}|CLI|${verification}|${status}`,
  closedWith: (tenant: string, email: string) => `${tenant}|CLI|${sha256(email.normalize("NFC"))}`,
  queue: (tenant: string, kind: "pending" | "renewal") => `${tenant}|CLI|${kind}`,
  /** Sort key that ends a queue before a moment, exclusive. */
  queueEnd: (moment: string) => placeAt(moment, ""),
  indexesOf: (item: Client): IndexKeys => ({
    list_pk: clients.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: clients.inState(item.tenant_id, item.verification_status, item.status),
    state_sk: ulidOf(item.id),
    ...(item.status === "closed"
      ? { owner_pk: clients.closedWith(item.tenant_id, item.email), owner_sk: ulidOf(item.id) }
      : { ...verificationEnd(item), ...placeInQueue(item) }),
  }),
} satisfies Entity<Client> & Record<string, unknown>;

/** Where the end of a verification is found; that of a closed client changes nothing. */
function verificationEnd({ id, verification_status, verification: { expires_at } }: Client): IndexKeys {
  return verification_status === "verified" && expires_at !== null ? dueKeys("CLIENT", id, expires_at) : {};
}

/** Where people find a client whose identity they decide: nothing moves when a verification ends. */
function placeInQueue({ tenant_id, id, verification_status: status, verification }: Client): IndexKeys {
  const { submitted_at, expires_at } = verification;
  const [kind, at] = status === "pending" ? (["pending", submitted_at] as const) : (["renewal", expires_at] as const);
  const isIn = status === "pending" || status === "verified" || status === "expired";
  if (!isIn || at === null) return {};
  return { client_pk: clients.queue(tenant_id, kind), client_sk: placeAt(at, id) };
}

/**
 * Reviews of a client in a partition of their own, oldest first: decisions and notes, which no role may change or
 * remove but that of an erasure.
 */
export const reviews = {
  et: "REVIEW",
  partition: (tenant: string, clientId: string) => `${tenant}#${clientId}|REV`,
  keyOf: ({ tenant_id, client_id, id }: Review): Key => ({
    pk: reviews.partition(tenant_id, client_id),
    sk: ulidOf(id),
  }),
} satisfies Entity<Review> & Record<string, unknown>;

/** The index and the partition of each text that a client is found by. */
const findOrders = {
  name: ["list", "name"],
  last_first: ["state", "last_first"],
  last_word: ["client", "last_word"],
  email: ["owner", "email"],
  phone: ["list", "phone"],
  number: ["list", "number"],
} as const satisfies Readonly<Record<keyof FindTexts, readonly [index: IndexName, order: string]>>;

/**
 * Items that find clients: next to a client its names and its email address, an order of each, and its phone number;
 * next to an account its number. The texts are in the keys of the indexes alone. A tab, which no text holds, sorts
 * before every letter: a text comes before those that it begins.
 */
export const findables = {
  et: "FIND",
  namesKey: (tenant: string, clientId: string): Key => ({ pk: `${tenant}#${clientId}`, sk: "FIND" }),
  phoneKey: (tenant: string, clientId: string): Key => ({ pk: `${tenant}#${clientId}`, sk: "FIND#phone" }),
  keyOf: ({ tenant_id, client_id, account_id, phone }: Findable): Key =>
    account_id !== undefined
      ? findables.namesKey(tenant_id, account_id)
      : phone === undefined
        ? findables.namesKey(tenant_id, client_id)
        : findables.phoneKey(tenant_id, client_id),
  indexesOf: (item: Findable): IndexKeys => {
    const place = ulidOf(item.account_id ?? item.client_id);
    const keys = findTexts.flatMap((text) => {
      const value = item[text];
      if (value === undefined) return [];
      const { index, partition } = findables.orderOf(item.tenant_id, text);
      return [
        [`${index}_pk`, partition],
        [`${index}_sk`, `${value}\t${place}`],
      ];
    });
    return Object.fromEntries(keys);
  },
  toStored: ({ tenant_id, client_id }: Findable) => ({ tenant_id, client_id }),
  /** The index that has the clients of a brokerage in the order of a text, and its partition there. */
  orderOf: (tenant: string, text: keyof FindTexts) => {
    const [index, order] = findOrders[text];
    return { index, partition: `${tenant}|FND|${order}` } as const;
  },
} satisfies Entity<Findable> & Record<string, unknown>;

const findTexts = Object.keys(findOrders) as (keyof FindTexts)[];

/**
 * Accounts: the profile only. Lists: all of a tenant (`list`); by status and type (`state`); of a client (`owner`); of
 * the source that they are linked to, by login (`client`); those with orders to cancel (`due`).
 */
export const accounts = {
  et: "ACCOUNT",
  key: (tenant: string, id: string): Key => ({ pk: `${tenant}#${id}`, sk: "ACCOUNT" }),
  keyOf: (item: Account): Key => accounts.key(item.tenant_id, item.id),
  all: (tenant: string) => `${tenant}|ACC`,
  inState: (tenant: string, status: string, type: string) => `${tenant}|ACC|${status}|${type}`,
  ofClient: (tenant: string, clientId: string) => `${tenant}|${clientId}|ACC`,
  ofSource: (tenant: string, sourceId: string) => `${tenant}|${sourceId}|ACC`,
  indexesOf: (item: Account): IndexKeys => ({
    list_pk: accounts.all(item.tenant_id),
    list_sk: ulidOf(item.id),
    state_pk: accounts.inState(item.tenant_id, item.status, item.type),
    state_sk: ulidOf(item.id),
    owner_pk: accounts.ofClient(item.tenant_id, item.client_id),
    owner_sk: ulidOf(item.id),
    ...(item.source_id === undefined || item.source_id === null
      ? {}
      : { client_pk: accounts.ofSource(item.tenant_id, item.source_id), client_sk: item.platform_login ?? "" }),
    ...(item.orders_void_at === undefined ? {} : dueKeys("ACCOUNT", item.id, item.orders_void_at)),
  }),
} satisfies Entity<Account> & Record<string, unknown>;

/**
 * Notes of proposed links, next to their accounts, of which a brokerage has too many to look at each (`list`). The
 * account holds the proposal, and whether it still is one; a note expires with its proposal.
 */
export const linkProposals = {
  et: "LINKPROPOSAL",
  all: (tenant: string) => `${tenant}|LNK`,
  keyOf: ({ tenant_id, account_id, account_version }: LinkProposal): Key => ({
    pk: `${tenant_id}#${account_id}`,
    sk: `LINK#${String(account_version).padStart(12, "0")}`,
  }),
  indexesOf: ({ tenant_id, account_id, at }: LinkProposal): IndexKeys => ({
    list_pk: linkProposals.all(tenant_id),
    list_sk: placeAt(at, account_id),
  }),
} satisfies Entity<LinkProposal> & Record<string, unknown>;

/** The money of an account, beside its profile: a PATCH and a posting never meet (ADR 0002). */
export const balances = {
  et: "BALANCE",
  key: (tenant: string, accountId: string): Key => ({ pk: `${tenant}#${accountId}`, sk: "BALANCE" }),
  keyOf: (item: Balance): Key => balances.key(item.tenant_id, item.account_id),
} satisfies Entity<Balance> & Record<string, unknown>;

/**
 * Postings of an account in a partition of their own, because IAM sees leading keys only: no role may update or delete
 * items there.
 */
export const ledgers = {
  et: "LEDGER",
  partition: (tenant: string, accountId: string) => `${tenant}#${accountId}|LED`,
  sortOf: (seq: number) => String(seq).padStart(12, "0"),
  keyOf: (item: Ledger): Key => ({
    pk: ledgers.partition(item.tenant_id, item.account_id),
    sk: ledgers.sortOf(item.balance_version),
  }),
} satisfies Entity<Ledger> & Record<string, unknown>;

/**
 * Legs on control accounts: append-only and spread over the partitions of a month by the last digit of their ids, so no
 * posting meets another one here.
 */
export const contras = {
  et: "CONTRA",
  /** One partition of a control account in one currency and one month: `2026-11`. */
  partition: (tenant: string, control: string, currency: string, month: string, shard: string) =>
    `${tenant}|CTL|${control}:${currency}|${month.replace("-", "")}|${shard}`,
  /** All of them. */
  partitions: (tenant: string, control: Contra["control_account"], currency: string, month: string) =>
    [...crockford.slice(0, controlShards())].map((shard) => contras.partition(tenant, control, currency, month, shard)),
  keyOf: (item: Contra): Key => {
    const { tenant_id, control_account, currency, id } = item;
    const month = item.created_at.slice(0, 7);
    const shard = crockford.charAt(crockford.indexOf(id.slice(-1)) % controlShards());
    return { pk: contras.partition(tenant_id, control_account, currency, month, shard), sk: ulidOf(id) };
  },
} satisfies Entity<Contra> & Record<string, unknown>;

function controlShards(): number {
  return limits.books.control_shards[env.stage];
}
