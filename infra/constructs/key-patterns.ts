import type { GlobalPartition } from "../../shared/routes/route.ts";
import {
  accounts,
  applicationRefs,
  applications,
  auditPages,
  auditSeals,
  bookDays,
  bookRuns,
  breaches,
  clients,
  closings,
  commands,
  contras,
  type DueKind,
  deliveries,
  drifts,
  duePartition,
  events,
  exposures,
  failureCounters,
  families,
  feedSources,
  jobCounts,
  jobs,
  ledgers,
  openInterests,
  operatorIdentities,
  operators,
  orders,
  outboxes,
  personKeys,
  positions,
  priceWalks,
  publicKeys,
  pulses,
  quotes,
  rateCounters,
  recordedRefusals,
  resets,
  reviews,
  sampleEvents,
  sequences,
  streamConnections,
  streamDirectory,
  streamTickets,
  sumCursors,
  sums,
  symbols,
  tenants,
  trades,
  transactions,
  uniques,
  usageCursors,
  usageDays,
  usageProgress,
  usedTokens,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "../../shared/table/entities.ts";

/**
 * Patterns of partition keys, for conditions on `dynamodb:LeadingKeys`. Each is made by the key builder of what it
 * reaches, with an asterisk for what may be any, so a partition is named in one place.
 */
const tenant = "brk_*";

/** All partitions of the kind of this one in a tenant, whatever follows: `brk_*|EXP|*`. */
function wholeKind(partition: string): string {
  return `${partition.split("|").slice(0, 2).join("|")}|*`;
}

/** Partitions of the due index that hold these kinds, in all shards. */
function due(...kinds: DueKind[]): string[] {
  return kinds.map((kind) => wholeKind(duePartition(kind, 0)));
}

/** Partitions of the tenants: every partition key starts with the tenant's id. */
export const tenantKeys: readonly string[] = [tenants.key(tenant).pk];
/** The partition of applications by client id. */
export const clientIdKeys: readonly string[] = [applicationRefs.key("").pk];
/** Partitions of operators by their identity. */
export const identityKeys: readonly string[] = [wholeKind(operatorIdentities.key("").pk)];
/** The partition of public keys. */
export const publicKeyKeys: readonly string[] = [publicKeys.partition];
/** Partitions that belong to no tenant, by the names that rows give them. */
export const globalKeys: Readonly<Record<GlobalPartition, readonly string[]>> = {
  client_ids: clientIdKeys,
  public_keys: publicKeyKeys,
  operator_identities: identityKeys,
  used_tokens: [wholeKind(usedTokens.key("", "").pk)],
  stream_tickets: [wholeKind(streamTickets.key("").pk)],
};
/** Partitions of the connections of brokerages to the stream, in the table of volatile items. */
export const streamKeys: readonly string[] = [streamConnections.partition(tenant)];
/** The partition of the brokerages that have connections, in the same table. */
export const streamDirectoryKeys: readonly string[] = [streamDirectory.partition];
/** Partitions of tenants by what they hold, where a function needs no others. */
export const withinTenants = {
  applications: applications.key(tenant, "app_*").pk,
  families: families.key(tenant, "fam_*").pk,
  operators: operators.key(tenant, "opr_*").pk,
  // The item of the brokerage itself: an identifier and nothing behind it.
  brokerages: tenants.key(`brk_${"?".repeat(26)}`).pk,
} as const;
/** Partitions of the keys of persons, in the table of keys. */
export const personKeyKeys: readonly string[] = ["cli_*", "opr_*"].map((person) => personKeys.key(tenant, person).pk);
/** Partitions of counted requests, in the table of volatile items. */
export const rateKeys: readonly string[] = [wholeKind(rateCounters.key(tenant, "", 0).pk)];
/** Partitions of failed authentications, in the table of volatile items: no tenant is known then. */
export const failureKeys: readonly string[] = [wholeKind(failureCounters.key("", 0).pk)];
/** Partitions of the index that wakes things. */
export const dueKeys: readonly string[] = [`${duePartition("APP", 0).split("|")[0]}|*`];
/** Those of them that hold applications whose API key is to be made or removed. */
export const dueApplicationKeys: readonly string[] = due("APP");
/** Those of them that hold transactions which the sandbox's provider is to move. */
export const dueProviderKeys: readonly string[] = due("PROVIDER");
/** Those of them that hold the resets which run in the sandbox. */
export const dueResetKeys: readonly string[] = due("RESET");
/** Those of them that hold the prices of the sandbox that walk. */
export const dueWalkKeys: readonly string[] = due("WALK");
/** Those of them that hold accounts to judge, symbols to look at again, and orders to end. */
export const dueMarginKeys: readonly string[] = due("RISK", "BREACH", "ORDER", "ACCOUNT");
/** Those of them that hold commits whose events wait to be published. */
export const dueOutboxKeys: readonly string[] = due("OUTBOX");
/** Partitions of the exposure index: the accounts that wait for a price. */
export const exposureKeys: readonly string[] = [wholeKind(exposures.partition(tenant, "", "up", 0))];
/** Partitions of the list index that hold the open positions of a tenant. */
export const positionKeys: readonly string[] = [positions.all(tenant)];
/** Partitions of the sums of these, in the table of volatile items. */
export const openInterestKeys: readonly string[] = [openInterests.partition(tenant)];
/** Partitions of symbols whose price met triggers. */
export const breachKeys: readonly string[] = [wholeKind(breaches.key(tenant, "").pk)];
/** Items that subscriptions of the stream name, and the counter that they begin at. */
export const subscribedKeys: readonly string[] = [
  accounts.key(tenant, "acc_*").pk,
  symbols.partition(tenant),
  feedSources.partition(tenant, "src_*"),
  sequences.key(tenant).pk,
];
/** The partition of the symbols of a tenant. */
export const symbolKeys: readonly string[] = [symbols.partition(tenant)];
/** The partition of the prices of a tenant that walk. */
export const walkKeys: readonly string[] = [priceWalks.partition(tenant)];
const sumCursor = sumCursors.key(tenant).pk;
/** Partitions that a reset changes: its own, and the cursor of the sums, which begin again. */
export const resetKeys: readonly string[] = [resets.key(tenant).pk, sumCursor];
/** Partitions of what was recorded of refusals. */
export const refusalKeys: readonly string[] = [
  wholeKind(recordedRefusals.keyOf({ tenant_id: tenant, request_id: "" }).pk),
];
/** Partitions of outbox items that are next to no resource. */
export const loneOutboxKeys: readonly string[] = [outboxes.keyOf({ tenant_id: tenant, root_id: "obx_*", id: "" }).pk];
/** Partitions of quotes and of the pulses of their sources, in the table of volatile items. */
export const quoteKeys: readonly string[] = [quotes.key(tenant, "").pk, pulses.key(tenant, "").pk].map(wholeKind);
/** Partitions that a delivery is about: events and samples, endpoints with their health, deliveries with attempts. */
export const deliveryKeys = {
  events: wholeKind(events.partition(tenant, 0)),
  samples: sampleEvents.key(tenant, "evt_*").pk,
  endpoints: webhooks.partition(tenant),
  endpoint_count: webhookCounts.key(tenant).pk,
  deliveries: deliveries.key(tenant, "dlv_*").pk,
  health: webhookHealths.key(tenant, "whe_*").pk,
} as const;

const ownSeal = auditSeals.key(tenant).pk;
/** Reach of each right of the function that seals the audit: the announcement of a day waits next to its seal. */
export const sealKeys = {
  query: [...clientIdKeys, auditPages.partition(tenant)],
  read: [ownSeal, sequences.key(tenant).pk],
  put: [ownSeal, outboxes.keyOf({ tenant_id: tenant, root_id: "aus_*", id: "" }).pk],
  update: [ownSeal],
} as const;

const usageCursor = usageCursors.key(tenant).pk;
const usageProgressKey = usageProgress.keyOf().pk;
/** Reach of each right of the function that counts usage. */
export const usageKeys = {
  query: [...clientIdKeys, wholeKind(events.partition(tenant, 0))],
  read: [usageProgressKey, usageCursor, sequences.key(tenant).pk],
  put: [usageProgressKey],
  update: [usageProgressKey, usageCursor, usageDays.partition(tenant)],
} as const;

/** Reach of each right of the function that sums transactions. */
export const sumKeys = {
  query: [...clientIdKeys, wholeKind(events.partition(tenant, 0)), bookDays.partition(tenant)],
  read: [sumCursor, sequences.key(tenant).pk, withinTenants.brokerages],
  update: [sumCursor, sums.partition(tenant)],
} as const;

const ownJobs = jobs.partition(tenant);
/** Reach of rights of the function that works on jobs; all of a tenant for the others, which read. */
export const jobKeys: Readonly<Record<string, readonly string[]>> = {
  "query:due": due("JOB"),
  put: [outboxes.keyOf({ tenant_id: tenant, root_id: "job_*", id: "" }).pk],
  update: [ownJobs, jobCounts.key(tenant).pk],
};

const ownRuns = bookRuns.partition(tenant);
/** Reach of rights of the function that compares the books; all of a tenant for the others. */
export const reconcileKeys: Readonly<Record<string, readonly string[]>> = {
  query: [...clientIdKeys, ...tenantKeys],
  put: [
    ownRuns,
    bookDays.partition(tenant),
    closings.partition(tenant),
    outboxes.keyOf({ tenant_id: tenant, root_id: "rcn_*", id: "" }).pk,
  ],
  update: [ownRuns],
};

/** Partitions of the ledger, which is only ever appended to. */
export const ledgerKeys: readonly string[] = [
  `*|${ledgers.partition("", "").split("|")[1]}`,
  wholeKind(contras.partition("*", "clearing", "", "", "")),
];

/** Partitions of reviews of clients: an erasure alone changes them. */
export const reviewKeys: readonly string[] = [reviews.partition(tenant, "cli_*")];

/** Partitions of what clients and platforms leave behind: what a reset of the sandbox removes, and nothing else. */
export const erasableKeys: readonly string[] = [
  clients.key(tenant, "cli_*").pk,
  accounts.key(tenant, "acc_*").pk,
  transactions.key(tenant, "txn_*").pk,
  trades.key(tenant, "trd_*").pk,
  orders.key(tenant, "ord_*").pk,
  commands.key(tenant, "cmd_*").pk,
  drifts.key(tenant, "drf_*").pk,
  wholeKind(contras.partition(tenant, "clearing", "", "", "")),
  ...exposureKeys,
  wholeKind(feedSources.partition(tenant, "")),
  ...symbolKeys,
  wholeKind(uniques.partition(tenant, "client_email")),
  ...walkKeys,
  sums.partition(tenant),
];
