import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { command } from "../../shared/http/operations.ts";
import { closeSandboxTrade } from "../../shared/routes/sandbox-market.ts";
import { decideClosing } from "../../shared/sandbox/trading.ts";

/** `POST /sandbox/trades/{id}/close` */
export const handler = await command(
  closeSandboxTrade,
  ({ path, body, load, context }) => decideClosing(load, context, path.id, body),
  ({ trade }) => tradeBody(trade),
);
