import { unchanged } from "../domain/kernel/decision.ts";
import type { Account } from "../domain/records/account.ts";
import type { Order } from "../domain/records/order.ts";
import type { TradingDecision } from "../domain/records/trading-change.ts";
import { expireOrder, voidOrder } from "../domain/trading/order.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { forEachOf, rescheduled, type SweepResult, sweepItems, type Task } from "../table/due.ts";
import { accounts, orders } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { keyIn, pagesOf } from "../table/partition.ts";
import { findReadable } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { commitDecision, prepared } from "./commit.ts";
import { tradingRef } from "./items.ts";

/** How long a sweep goes on, and until when its function is ended. */
export interface SweepTime {
  readonly hasTime: () => boolean;
  readonly remainingMs: () => number;
}

/** Ends the pending orders whose time has come. Returns how many that were. */
export function expireOrders(time: SweepTime): Promise<SweepResult> {
  const task = endingEach(time, expireOrder);
  return sweepItems("ORDER", time.hasTime, { ...task, entity: orders, isDue: () => true });
}

/**
 * Cancels the pending orders of accounts that were disabled since they were placed. An account is done with when none
 * is left and it has been disabled for so long that an index shows them all; until then each sweep looks again. Returns
 * how many orders were cancelled.
 */
export function cancelVoidOrders(time: SweepTime): Promise<SweepResult> {
  return sweepItems("ACCOUNT", time.hasTime, {
    entity: accounts,
    isDue: ({ orders_void_at }) => orders_void_at !== undefined,
    run: (account) => cancelOf(account, time),
    report: ({ id }, error) => log.error("Orders could not be cancelled.", { account_id: id, ...causeOf(error) }),
  });
}

async function cancelOf(account: Account, time: SweepTime): Promise<SweepResult> {
  const total = { done: 0, failed: 0 };
  const task = endingEach(time, (order, context) => voidOrder(order, account, context));
  for await (const waiting of pendingOf(account)) {
    const { done, failed } = await forEachOf(waiting, task);
    total.done += done;
    total.failed += failed;
    if (!time.hasTime()) return { ...total, failed: total.failed + 1 };
  }
  if (total.done === 0 && total.failed === 0) await leaveDueIndex(account);
  return total;
}

/** The pending orders of an account as its index shows them, in pages. */
async function* pendingOf({ tenant_id, id }: Account): AsyncGenerator<readonly Order[]> {
  const query = { index: indexes.owner, page_size: limits.events.due_page };
  for await (const { items } of pagesOf(orders.ofAccount(tenant_id, id, "pending"), query)) {
    yield findReadable(orders, items.map(keyIn));
  }
}

type Ending = (order: Order, context: ReturnType<typeof systemContext>) => TradingDecision<Order> | undefined;

/** Ends each order by a decision that is made from a new read; undefined of the decision: there is nothing to end. */
function endingEach(time: SweepTime, decide: Ending): Task<Order> {
  return {
    parallel: limits.margin.parallel_orders,
    run: (order) => endOrder(order, time, decide),
    report: ({ id }, error) => log.error("An order could not be ended.", { order_id: id, ...causeOf(error) }),
  };
}

async function endOrder({ id, tenant_id }: Order, { remainingMs }: SweepTime, decide: Ending): Promise<SweepResult> {
  let ended = false;
  const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "expiry"), remainingMs };
  const outcome = await commitDecision<Order | undefined>(attempted, async (load, context) => {
    const { order } = await load({ order: tradingRef.order(id) });
    const decision = order === undefined ? undefined : decide(order, context);
    ended = decision !== undefined;
    return decision === undefined ? unchanged(order) : prepared(decision, context);
  });
  if (outcome.kind !== "done") return { done: 0, failed: 1 };
  return { done: ended ? 1 : 0, failed: 0 };
}

/** Takes an account out of the due index, unless it was disabled again or so lately that the index may lag. */
async function leaveDueIndex(account: Account): Promise<void> {
  const { orders_void_at: at = "" } = account;
  if (Date.parse(at) + delayMs(limits.margin.orders_settled_seconds) > nowMs()) return;
  const change = { remove: ["orders_void_at"], when: isStill({ orders_void_at: at }) };
  await changeItem(accounts.keyOf(account), rescheduled(accounts, account, change), "refused");
}
