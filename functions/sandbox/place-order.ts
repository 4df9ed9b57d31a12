import { orderBody } from "../../shared/domain/trading/order.ts";
import { command } from "../../shared/http/operations.ts";
import { placeSandboxOrder } from "../../shared/routes/sandbox-market.ts";
import { decideOrder } from "../../shared/sandbox/trading.ts";

/** `POST /sandbox/orders` */
export const handler = await command(
  placeSandboxOrder,
  ({ body, load, context }) => decideOrder(load, context, body),
  orderBody,
);
