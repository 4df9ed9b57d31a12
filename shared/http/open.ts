import type { ShippedRoute } from "../routes/route.ts";
import { endpoint, type Handler } from "./endpoint.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { notModified } from "./reply.ts";
import { refuseDashboard } from "./sender.ts";

/**
 * An endpoint without an authorizer: health, published documents and the OAuth endpoints. Of these the dashboard needs
 * only the token endpoint.
 */
export function open(row: ShippedRoute, work: (exchange: Exchange) => Promise<Answer>): Handler {
  const admission = row.path === "/oauth/token" ? [] : [refuseDashboard];
  return endpoint(row, admission, async (exchange) => notModified(exchange.event, await work(exchange)));
}
