import type { APIGatewayProxyResult } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";
import { openConnection } from "../../shared/stream/connect.ts";
import type { SocketEvent } from "../../shared/stream/socket-event.ts";

/** `$connect` of the stream: stores the connection, or refuses it with 429. The handshake has its answer's status. */
export async function handler(event: SocketEvent): Promise<APIGatewayProxyResult> {
  return withinBudget(limits.request.write_budget_ms * env.budgetFactor, () => openConnection(event));
}
