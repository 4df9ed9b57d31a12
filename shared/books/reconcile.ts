import { monthsToRead } from "../domain/books/controls.ts";
import { openStatuses } from "../domain/books/holds.ts";
import { afterStep, type BookPhase, type BookRun, type BookStep, cancelled, newRun } from "../domain/books/run.ts";
import { takesMoney } from "../domain/money/legs.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { outboxOf } from "../table/audit/announcement.ts";
import { onEveryBrokerage } from "../table/brokerages.ts";
import { systemContext } from "../table/context.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { timeOfId } from "../table/entities/keys.ts";
import { accounts, balances, bookRuns, closings, resets, transactions } from "../table/entities.ts";
import { putOnce } from "../table/items.ts";
import { readPage } from "../table/partition.ts";
import { readAll } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { transactOnce } from "../table/transact.ts";
import { putNew, updateItem } from "../table/write.ts";
import { hasHolds, lookAtAccount } from "./account.ts";
import { compareSums, dayToClose, withClosing } from "./closing.ts";
import { type Compared, nothingCompared, sumOfComparisons } from "./compared.ts";
import { lookAtPostings, sumControlAccount } from "./controls.ts";
import { lookAtHolds } from "./holds.ts";
import { latestRuns } from "./latest.ts";
import { lookAtAudit, lookAtEvents } from "./numbers.ts";

/**
 * Compares the books of every brokerage, those whose nightly run is due or that are being compared, or all of them now.
 * The next invocation continues the runs that there was no time for. Returns how many runs it completed, and how many
 * brokerages it failed with.
 */
export function reconcileBooks(hasTime: () => boolean, isAskedFor = false): Promise<SweepResult> {
  return onEveryBrokerage(hasTime, (tenants) =>
    forEachOf(tenants, {
      parallel: limits.books.brokerages_parallel,
      run: async (tenant) => (hasTime() ? reconcile(tenant, hasTime, isAskedFor) : 0),
      report: (tenant_id, error) =>
        log.error("The books of a brokerage could not be compared.", { tenant_id, ...causeOf(error) }),
    }),
  );
}

/** How many runs of a brokerage were completed: none or one. */
async function reconcile(tenant: string, hasTime: () => boolean, isAskedFor: boolean): Promise<number> {
  const [last] = await latestRuns(tenant, 1);
  let run = last?.status === "running" ? last : await begin(tenant, last, isAskedFor);
  while (run?.status === "running") {
    if (!hasTime()) return 0;
    run = await step(run);
    if (run !== undefined && run.status !== "running") return 1;
  }
  return 0;
}

/** A new run that closes the next day, or none where it is asked for; undefined when none is due, or has begun. */
async function begin(tenant: string, last: BookRun | undefined, isAskedFor: boolean): Promise<BookRun | undefined> {
  const context = systemContext(tenant, "reconciliation");
  const next = isAskedFor ? { day: undefined, currencies: [] } : await dayToClose(tenant, context.now);
  if (next === undefined) return undefined;
  const number = (last?.number ?? 0) + 1;
  const [first, now] = [timeOfId(tenant), context.now].map((moment) => moment.slice(0, 7)).toSorted();
  const chosen = monthsToRead(first ?? "", now ?? "", number, limits.books.newest_months);
  const ofDay = [next.day?.starts_at, next.day?.ends_at].flatMap((moment) => moment?.slice(0, 7) ?? []);
  const run = newRun(number, [...new Set([...chosen, ...ofDay])].toSorted(), next, context);
  return (await putOnce(bookRuns, run)) === undefined ? run : undefined;
}

const phases: Readonly<Record<BookPhase, (run: BookRun) => Promise<BookStep>>> = {
  accounts: lookAtAccounts,
  holds: lookAtOpenTransactions,
  control_accounts: sumControlAccount,
  postings: lookAtPostings,
  events: lookAtEvents,
  audit_log: lookAtAudit,
};

/**
 * One step: what it found, where the run goes on and, with the first difference, its event are written in one
 * transaction, so a step that dies is done again as a whole. Undefined when another invocation is at it.
 */
async function step(run: BookRun): Promise<BookRun | undefined> {
  const found = await phases[run.phase](run);
  const context = systemContext(run.tenant_id, "reconciliation");
  // Asked last: a reset that begins later has removed nothing of what was compared.
  const [reset] = await readAll(resets, [resets.key(run.tenant_id)]);
  const isVoid = reset !== undefined && (reset.status === "running" || reset.updated_at >= run.created_at);
  const { step: added, closing } = await withClosing(run, found, reset, context.now);
  const { run: after, events } = isVoid
    ? { run: cancelled(run, context.now), events: [] }
    : afterStep(run, added, context.now);
  const more = after.difference_count - run.difference_count;
  // Before it is written: a step that dies is done again, and an alarm may ring twice.
  if (more > 0) countMetric("ReconciliationDifference", more);
  const closed = isVoid || closing === undefined ? [] : [putNew(closings, closing)];
  const outcome = await transactOnce([updateItem(bookRuns, run, after), ...closed, ...outboxOf(events, context)]);
  if (outcome.ok && closed.length > 0 && closing !== undefined) await compareSums(closing);
  if (outcome.ok) return after;
  if (outcome.codes.includes("ConditionalCheckFailed")) return undefined;
  throw outcome.error;
}

/** Some accounts, in the order of the list. */
async function lookAtAccounts(run: BookRun): Promise<BookStep> {
  const sort = indexes.list.sort;
  const { items, next } = await readPage(accounts.all(run.tenant_id), {
    ...{ index: indexes.list, from: run.position ?? undefined, attributes: ["pk", sort] },
    page_size: limits.books.accounts_per_step,
  });
  const ids = items.filter((item) => item[sort] !== run.position).map((item) => idIn(item["pk"], run.tenant_id));
  const compared = await inTurn(ids, (id) => lookAtAccount(run, id));
  return { ...compared, position: next === undefined ? null : String(items.at(-1)?.[sort]) };
}

function idIn(partition: unknown, tenant: string): string {
  return String(partition).slice(tenant.length + 1);
}

/** Kinds of transactions whose partitions of the index hold what takes money from an account. */
const kinds = ["withdrawal", "transfer_out"] as const satisfies readonly Transaction["kind"][];

/** Some open transactions that take money: their accounts must hold it. Others with a hold were compared before. */
async function lookAtOpenTransactions(run: BookRun): Promise<BookStep> {
  const { tenant_id: tenant, position } = run;
  const places = openStatuses.flatMap((status) => kinds.map((kind) => transactions.inState(tenant, status, kind)));
  const [at = "0", from] = (position ?? "0").split("|");
  const sort = indexes.state.sort;
  const { items, next } = await readPage(places[Number(at)] ?? "", {
    ...{ index: indexes.state, from, attributes: ["pk", sort, "account_id", "kind"] },
    page_size: limits.books.accounts_per_step,
  });
  const taking = items.filter((item) => item[sort] !== from && takesMoney(item as Pick<Transaction, "kind">));
  const ids = [...new Set(taking.map((item) => String(item["account_id"])))];
  const money = await readAll(
    balances,
    ids.map((id) => balances.key(tenant, id)),
  );
  const without = ids.filter((_, place) => money[place] !== undefined && !hasHolds(money[place]));
  const profiles = await readAll(
    accounts,
    without.map((id) => accounts.key(tenant, id)),
  );
  const compared = await inTurn(
    profiles.filter((account) => account !== undefined),
    lookAtHolds,
  );
  if (next !== undefined) return { ...compared, position: `${at}|${String(items.at(-1)?.[sort])}` };
  const following = Number(at) + 1;
  return { ...compared, position: following < places.length ? String(following) : null };
}

/** Looks at each of these, some at a time, and adds up what was compared. */
async function inTurn<T>(items: readonly T[], look: (item: T) => Promise<Compared>): Promise<Compared> {
  const found: Compared[] = [];
  await inParallel(limits.books.parallel, items, async (item, place) => {
    found[place] = await look(item);
  });
  return found.reduce(sumOfComparisons, nothingCompared);
}
