import { executedTrade } from "../../shared/domain/sandbox/trading.ts";
import { tradeBody } from "../../shared/domain/trading/trade.ts";
import { command } from "../../shared/http/operations.ts";
import { openSandboxTrade } from "../../shared/routes/sandbox-market.ts";
import { decideOpening } from "../../shared/sandbox/trading.ts";

/** `POST /sandbox/trades` */
export const handler = await command(
  openSandboxTrade,
  ({ body, load, context }) => decideOpening(load, context, body),
  (executed) => tradeBody(executedTrade(executed)),
);
