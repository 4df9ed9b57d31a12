import type { APIGatewayProxyResult } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";
import { leaveStream } from "../../shared/stream/membership.ts";
import { connectionOf, isMessage, type SocketEvent } from "../../shared/stream/socket-event.ts";

/**
 * `$disconnect` of the stream. API Gateway may lose it: then the next message to it, or the sweep, has its effect. A
 * message that names this route has none: it would free the place of a connection that stays open.
 */
export async function handler(event: SocketEvent): Promise<APIGatewayProxyResult> {
  if (!isMessage(event)) {
    await withinBudget(limits.request.write_budget_ms * env.budgetFactor, () => leaveStream(connectionOf(event)));
  }
  return { statusCode: 200, body: "" };
}
