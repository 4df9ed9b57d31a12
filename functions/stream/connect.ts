import type { APIGatewayProxyResult } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";
import { openConnection } from "../../shared/stream/connect.ts";
import { isMessage, type SocketEvent } from "../../shared/stream/socket-event.ts";

/**
 * `$connect` of the stream: stores the connection, or refuses it with 429. The handshake has its answer's status. A
 * message that names this route has no effect: it would give the connection a new count of its messages.
 */
export async function handler(event: SocketEvent): Promise<APIGatewayProxyResult> {
  if (isMessage(event)) return { statusCode: 200, body: "" };
  return withinBudget(limits.request.write_budget_ms * env.budgetFactor, () => openConnection(event));
}
