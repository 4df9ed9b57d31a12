import type { Approver } from "../domain/access/approval-rules.ts";
import type { HandoverSources } from "../domain/access/handover.ts";
import { demandOf } from "../domain/money/approval.ts";
import { type Queued, queuedFor } from "../domain/money/approval-queue.ts";
import type { Account, LinkProposal } from "../domain/records/account.ts";
import type { Application } from "../domain/records/application.ts";
import type { Drift } from "../domain/records/drift.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Operator } from "../domain/records/operator.ts";
import type { Tenant } from "../domain/records/tenant.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { and, boundsBy, inRange, listParameter, matching, resourcePage } from "../http/filters.ts";
import { type ListPlace, pageRequest } from "../http/page.ts";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { readable } from "../runtime/unreadable.ts";
import { TransactionKind } from "../schema/transaction.ts";
import {
  accounts,
  applications,
  drifts,
  feedSources,
  linkProposals,
  operators,
  transactions,
} from "../table/entities.ts";
import { giversOf } from "../table/givers.ts";
import { type ListIndex, type Page, pageOfIndex, pageWith } from "../table/list.ts";
import { pageOfOwners } from "../table/owners.ts";
import { readEach } from "../table/store.ts";

/** Where transactions are listed by their creation, and `account_id` or `client_id` where the path names it. */
interface TransactionSource {
  readonly index: ListIndex;
  readonly partitions: readonly string[];
  readonly owner?: Readonly<Record<string, string>>;
}

/** A page of transactions. One that is named by its external id is found by the claim of it. */
export function pageOfTransactions(
  tenant: string,
  place: ListPlace,
  { index, partitions, owner = {} }: TransactionSource,
): Promise<Page<Transaction>> {
  const { query } = place;
  const created = resourcePage(place, transactionFilters);
  // Nothing is completed before it is created, so what was created later is not read.
  const [ceiling] = [created, boundsBy(query, "completed")].flatMap((each) => each.ceiling ?? []).toSorted();
  const bounds = ceiling === undefined ? {} : { ceiling };
  const request = { ...created, ...bounds, ...and(created, inRange(query, "completed")) };
  const { external_id } = query;
  if (external_id === undefined) return pageOfIndex<Transaction>(index, partitions, request);
  const own = and(request, matching(owner, Object.keys(owner)));
  const named = { kind: "transaction_external_id", values: [external_id] } as const;
  return pageOfOwners(transactions, tenant, named, { ...request, ...own });
}

/** A page of the transactions of a tenant, an account or a client by creation, without a claim: for who reads all. */
export function pageOfTransactionsBy(tenant: string, place: ListPlace): Promise<Page<Transaction>> {
  const { account_id: account, client_id: client } = place.query;
  const source: TransactionSource =
    account !== undefined
      ? { index: "owner", partitions: [transactions.ofAccount(tenant, account)] }
      : client !== undefined
        ? { index: "client", partitions: [transactions.ofClient(tenant, client)] }
        : { index: "list", partitions: [transactions.all(tenant)] };
  return pageOfTransactions(tenant, place, source);
}

/**
 * A page of the transactions that wait for this caller, oldest first. The index knows neither who made one nor who
 * approved it, so a page is filtered after it is read: it may be short while there is a next one.
 */
export async function pageOfQueue(tenant: Tenant, approver: Approver, place: ListPlace): Promise<Page<Queued>> {
  const kinds = listParameter(place.query, "kind") ?? TransactionKind.options;
  const undecided = (["pending", "approved"] as const).flatMap((status) =>
    kinds.map((kind) => transactions.inState(tenant.id, status, kind)),
  );
  const partitions = [...new Set([...undecided, transactions.leftToPeople(tenant.id)])];
  const request = {
    ...pageRequest(place, "created_at"),
    ...matching(place.query, ["kind", "account_id", "client_id"]),
  };
  const page = await pageOfIndex<Transaction>("state", partitions, request);
  const ruled = page.items.some((transaction) => demandOf(transaction, tenant)?.rule !== undefined);
  const [givers, team] = await Promise.all([giversOf(tenant.id, page.items), ruled ? operatorsOf(tenant.id) : []]);
  return pageWith(
    page,
    page.items.map((transaction) =>
      queuedFor(transaction, { tenant, givers, operators: team, environment: env.stage }, approver),
    ),
  );
}

/** All operators of a brokerage who were not removed, who are bounded. */
async function operatorsOf(tenant: string): Promise<readonly Operator[]> {
  const request = { limit: limits.operators.max_operators, descending: false, cursor: undefined };
  return (await pageOfIndex<Operator>("list", [operators.all(tenant)], request)).items;
}

/** Everything of a brokerage that a person who leaves may stand behind. */
export async function handoverSources(tenant: Tenant): Promise<HandoverSources> {
  const { id } = tenant;
  const undecided = (["pending", "approved"] as const).flatMap((status) =>
    TransactionKind.options.map((kind) => transactions.inState(id, status, kind)),
  );
  const first = { descending: false, cursor: undefined };
  const [active, team, sources, proposed, linked, waiting] = await Promise.all([
    activeApplications(id),
    operatorsOf(id),
    // Ended ones are listed too, and are not bounded.
    pageOfIndex<FeedSource>("list", [feedSources.all(id)], { ...newest, limit: limits.operators.handover_proposals }),
    pageOfIndex<Drift>("state", [drifts.proposed(id)], { ...newest, limit: limits.operators.handover_proposals }),
    proposedLinks(id),
    pageOfIndex<Transaction>("state", undecided, { ...first, limit: limits.operators.handover_transactions }),
  ]);
  return {
    applications: active,
    operators: team,
    tenant,
    accounts: linked,
    sources: sources.items,
    drifts: proposed.items,
    transactions: waiting.items,
    more_transactions: waiting.next !== undefined,
    givers: await giversOf(id, waiting.items),
  };
}

const newest = { descending: true, cursor: undefined } as const;

/** The accounts whose link was proposed last. */
async function proposedLinks(tenant: string): Promise<readonly Account[]> {
  const request = { ...newest, limit: limits.operators.handover_proposals };
  const { items } = await pageOfIndex<LinkProposal>("list", [linkProposals.all(tenant)], request);
  const ids = [...new Set(items.map(({ account_id }) => account_id))];
  const keys = ids.map((id) => accounts.key(tenant, id));
  return readable(await readEach<Account>(keys, { consistent: false })).filter((account) => account !== undefined);
}

async function activeApplications(tenant: string): Promise<readonly Application[]> {
  const found: Application[] = [];
  let cursor: Page<Application>["next"];
  do {
    const request = { limit: limits.applications.max_active, descending: true, cursor };
    const keep = ({ status }: Readonly<Record<string, unknown>>) => status === "active";
    const page: Page<Application> = await pageOfIndex<Application>("list", [applications.all(tenant)], {
      ...request,
      keep,
    });
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

/** Filters of every list of transactions. */
const transactionFilters = [
  "kind",
  "status",
  "account_id",
  "client_id",
  "method",
  "currency",
  "external_id",
  "provider_reference",
];
