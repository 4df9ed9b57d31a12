import type { Quote } from "../domain/records/quote.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import { type Breach, creditEndsInMs, riskDueAt } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { dueItems, isDue, rescheduled, type SweepResult, sweepItems, sweepKeys } from "../table/due.ts";
import { breaches, type Entity, type Key, risks } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { loadItems } from "../table/store.ts";
import { endBreach, wakeAfter } from "./breaches.ts";
import { exposedTo } from "./exposed-accounts.ts";
import { tradingRef } from "./items.ts";
import { sendAccounts, sendAtCreditEnds } from "./margin-queue.ts";

/**
 * Enqueues the accounts that are due whatever their prices do: an abandoned liquidation, one that could not begin, and
 * what did not fit the last evaluation. Returns how many were enqueued.
 */
export function sweepRisks(hasTime: () => boolean): Promise<SweepResult> {
  return sweepKeys("RISK", hasTime, sendDue, { atOnce: limits.events.due_page });
}

async function sendDue(keys: readonly Key[]): Promise<SweepResult> {
  const now = nowIso();
  const { items, unreadable } = await dueItems(risks, keys);
  const due = items.filter((risk): risk is StoredRisk => isRiskDue(risk, now));
  const mine = new Map<string, StoredRisk[]>();
  let done = 0;
  try {
    await inParallel(limits.webhooks.parallel_writes, due, async (risk) => {
      if (!(await putOffRisk(risk, now))) return;
      mine.set(risk.tenant_id, [...(mine.get(risk.tenant_id) ?? []), risk]);
    });
    for (const [tenant, risks] of mine) {
      const dueNow = risks.filter(({ credit_ends_at: _end, ...others }) => isRiskDue(others, now));
      await sendAccounts(
        tenant,
        dueNow.map(({ account_id }) => account_id),
      );
      await sendAtCreditEnds(tenant, risks, now);
      done += risks.length;
    }
    return { done, failed: unreadable };
  } catch (error) {
    log.error("Accounts could not be queued for evaluation; the sweep retries them.", causeOf(error));
    return { done, failed: unreadable + 1 };
  }
}

function isRiskDue(risk: StoredRisk, now: string): boolean {
  const at = riskDueAt(risk);
  return at !== null && at <= now;
}

/** Postpones what is due of an account: its wake, its next night, or the end of its credit, whose message is sent. */
function putOffRisk(risk: StoredRisk, now: string): Promise<boolean> {
  const { wake_at, swap_at, credit_ends_at: ends } = risk;
  const endsInMs = creditEndsInMs(risk, now);
  const later = wakeAfter(nowMs());
  const set = {
    ...(wake_at !== null && wake_at <= now && { wake_at: later }),
    ...(swap_at !== undefined && swap_at <= now && { swap_at: later }),
    ...(endsInMs !== undefined && { credit_ends_at: wakeAfter(nowMs() + endsInMs) }),
  };
  const when = isStill({
    wake_at,
    ...(swap_at !== undefined && { swap_at }),
    ...(ends !== undefined && { credit_ends_at: ends }),
  });
  return changeItem(risks.keyOf(risk), rescheduled(risks, risk, { set, when }), "refused");
}

/**
 * Checks symbols whose price met triggers again: the accounts that are still past their triggers are enqueued again,
 * and the record of a symbol that has none is deleted. So a price that does not move finds every account to evaluate,
 * whatever messages were lost; accounts that only another price can help are checked less and less often. Returns how
 * many accounts were enqueued.
 */
export function sweepBreaches(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("BREACH", hasTime, {
    entity: breaches,
    isDue,
    parallel: limits.margin.parallel_symbols,
    run: enqueuePastTrigger,
    report: ({ tenant_id, symbol }, error) =>
      log.error("A symbol could not be checked again.", { tenant_id, symbol, ...causeOf(error) }),
  });
}

async function enqueuePastTrigger(breach: Breach): Promise<number> {
  const { tenant_id: tenant, symbol } = breach;
  const { quote } = await loadItems(tenant, { quote: tradingRef.quote(symbol) });
  let sent = 0;
  for await (const accountIds of pastTrigger(tenant, quote)) {
    // Postponed before the first account is enqueued: of two concurrent sweeps one does so.
    if (sent === 0 && !(await putOff(breaches, breach))) return 0;
    const ids = [...new Set(accountIds)];
    await sendAccounts(tenant, ids);
    sent += ids.length;
  }
  if (sent === 0) await endBreach(breach);
  return sent;
}

async function* pastTrigger(tenant: string, quote: Quote | undefined): AsyncGenerator<readonly string[]> {
  if (quote !== undefined) yield* exposedTo({ ...quote, tenant_id: tenant });
}

/** An item that a sweep enqueues, and the number of checks that changed nothing, where that counts. */
interface Due {
  readonly wake_at: string | null;
  readonly checks?: number;
}

/**
 * Postpones the wake of an item; false when another sweep did, or a decision changes it at this moment. The version
 * stays, so a decision under way remains valid.
 */
function putOff<T extends Due>(entity: Entity<T>, item: T): Promise<boolean> {
  const checks = item.checks === undefined ? undefined : item.checks + 1;
  const set = { wake_at: wakeAfter(nowMs(), checks), ...(checks !== undefined && { checks }) };
  const when = isStill({ wake_at: item.wake_at });
  return changeItem(entity.keyOf(item), rescheduled(entity, item, { set, when }), "refused");
}
