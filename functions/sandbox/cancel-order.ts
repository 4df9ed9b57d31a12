import { notFound } from "../../shared/domain/kernel/decision.ts";
import { cancelInSandbox } from "../../shared/domain/sandbox/trading.ts";
import { orderBody } from "../../shared/domain/trading/order.ts";
import { command } from "../../shared/http/operations.ts";
import { cancelSandboxOrder } from "../../shared/routes/sandbox-market.ts";
import { prepared } from "../../shared/trading/commit.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /sandbox/orders/{id}/cancel` */
export const handler = await command(
  cancelSandboxOrder,
  async ({ path, load, context }) => {
    const { order } = await load({ order: tradingRef.order(path.id) });
    if (order === undefined) return notFound();
    return prepared(cancelInSandbox(order, context), context);
  },
  orderBody,
);
