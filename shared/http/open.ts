import type { ShippedRoute } from "../routes/route.ts";
import { endpoint, type Handler } from "./endpoint.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { notModified } from "./reply.ts";
import { refuseDashboard } from "./sender.ts";

/** Paths by which a person signs in and out. */
const ofDashboard: readonly string[] = ["/oauth/token", "/oauth/revoke"];

/**
 * An endpoint without an authorizer: health, published documents and the OAuth endpoints. Of these the dashboard needs
 * only what a person signs in and out by.
 */
export function open(row: ShippedRoute, work: (exchange: Exchange) => Promise<Answer>): Handler {
  const admission = ofDashboard.includes(row.path) ? [] : [refuseDashboard];
  return endpoint(row, admission, async (exchange) => notModified(exchange.event, await work(exchange)));
}
