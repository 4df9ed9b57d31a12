import type { ShippedRoute } from "../routes/route.ts";
import { endpoint, type Handler } from "./endpoint.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { notModified } from "./reply.ts";

/** An endpoint without an authorizer: health, published documents and the OAuth endpoints. */
export function open(row: ShippedRoute, work: (exchange: Exchange) => Promise<Answer>): Handler {
  return endpoint(row, [], async (exchange) => notModified(exchange.event, await work(exchange)));
}
