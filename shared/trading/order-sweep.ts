import type { Account } from "../domain/account.ts";
import { unchanged } from "../domain/decision.ts";
import type { TradingDecision } from "../domain/trading/changes.ts";
import { expireOrder, type Order, voidOrder } from "../domain/trading/order.ts";
import { limits } from "../limits.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { systemContext } from "../table/context.ts";
import { overdue, rescheduled, type Swept } from "../table/due.ts";
import { accounts, orders } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { keyIn, pagesOf } from "../table/partition.ts";
import { readKeys } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { commitDecision, prepared } from "./commit.ts";
import { tradingRef } from "./items.ts";

/** How long a sweep goes on, and until when its function is ended. */
export interface SweepTime {
  readonly goOn: () => boolean;
  readonly remainingMs: () => number;
}

/** Ends the pending orders whose time has come. Returns how many that were. */
export async function expireOrders(time: SweepTime): Promise<Swept> {
  let [done, failed] = [0, 0];
  for await (const keys of overdue("ORDER", time.goOn)) {
    const found = ((await readKeys(keys)) as (Order | undefined)[]).filter((order) => order !== undefined);
    await inParallel(limits.margin.parallel_orders, found, async (order) => {
      const outcome = await endOrder(order, time, (now, context) => expireOrder(now, context));
      if (outcome === "ended") done += 1;
      if (outcome === "failed") failed += 1;
    });
  }
  return { done, failed };
}

/**
 * Cancels the pending orders of accounts that were disabled since they were placed. An account is done with when none
 * is left and it has been disabled for so long that an index shows them all; until then each sweep looks again. Returns
 * how many orders were cancelled.
 */
export async function cancelVoidOrders(time: SweepTime): Promise<Swept> {
  let [done, failed] = [0, 0];
  for await (const keys of overdue("ACCOUNT", time.goOn)) {
    for (const account of (await readKeys(keys)) as (Account | undefined)[]) {
      if (account?.orders_void_at === undefined || !time.goOn()) continue;
      const swept = await cancelOf(account, time);
      done += swept.done;
      failed += swept.failed;
    }
  }
  return { done, failed };
}

async function cancelOf(account: Account, time: SweepTime): Promise<Swept> {
  let [done, failed] = [0, 0];
  try {
    for await (const waiting of pendingOf(account)) {
      await inParallel(limits.margin.parallel_orders, waiting, async (order) => {
        const outcome = await endOrder(order, time, (now, context) => voidOrder(now, account, context));
        if (outcome === "ended") done += 1;
        if (outcome === "failed") failed += 1;
      });
      if (!time.goOn()) return { done, failed: failed + 1 };
    }
    if (done === 0 && failed === 0) await settle(account);
  } catch (error) {
    failed += 1;
    log.error("Orders could not be cancelled.", { account_id: account.id, error: (error as Error).name });
  }
  return { done, failed };
}

/** The pending orders of an account as its index shows them, in pages. */
async function* pendingOf({ tenant_id, id }: Account): AsyncGenerator<readonly Order[]> {
  const query = { index: indexes.owner, page_size: limits.events.due_page };
  for await (const { items } of pagesOf(orders.ofAccount(tenant_id, id, "pending"), query)) {
    yield ((await readKeys(items.map(keyIn))) as (Order | undefined)[]).filter((order) => order !== undefined);
  }
}

/** Ends an order by a decision that is made from a new read; undefined of the decision: there is nothing to end. */
async function endOrder(
  { id, tenant_id }: Order,
  { remainingMs }: SweepTime,
  decide: (order: Order, context: ReturnType<typeof systemContext>) => TradingDecision<Order> | undefined,
): Promise<"ended" | "nothing" | "failed"> {
  let ended = false;
  const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "expiry"), remainingMs };
  try {
    const outcome = await commitDecision<Order | undefined>(attempted, async (load, context) => {
      const { order } = await load({ order: tradingRef.order(id) });
      const decision = order === undefined ? undefined : decide(order, context);
      ended = decision !== undefined;
      return decision === undefined ? unchanged(order) : prepared(decision, context);
    });
    if (outcome.kind !== "done") return "failed";
    return ended ? "ended" : "nothing";
  } catch (error) {
    log.error("An order could not be ended.", { order_id: id, error: (error as Error).name });
    return "failed";
  }
}

/** Takes an account out of the due index, unless it was disabled again or so lately that the index may lag. */
async function settle(account: Account): Promise<void> {
  const { orders_void_at: at = "" } = account;
  if (Date.parse(at) + delayMs(limits.margin.orders_settled_seconds) > nowMs()) return;
  const change = { remove: ["orders_void_at"], when: isStill({ orders_void_at: at }) };
  await changeItem(accounts.keyOf(account), rescheduled(accounts, account, change), "refused");
}
