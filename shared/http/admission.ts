import { isOfSource } from "../routes/route.ts";
import { addressInRanges } from "../runtime/address.ts";
import { countRequest } from "../table/counters.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { HttpProblem } from "./problem.ts";
import { reportRefused } from "./refusals.ts";
import { refuseDashboard } from "./sender.ts";

/**
 * Admits the caller: at the dashboard's address it must be an operator, the token must have the scope of the row, and
 * the application must allow the address and the feed source of the path.
 * @throws HttpProblem `unauthenticated`, `operators_only`, `insufficient_scope`, `address_not_allowed`,
 * `source_not_allowed`
 */
export function admitCaller(exchange: Exchange): void {
  const { row, event, sender } = exchange;
  const caller = callerOf(event);
  exchange.caller = caller;
  exchange.reportRefusal = (code) => reportRefused(exchange, caller, code);
  if (caller.actor.type !== "operator") refuseDashboard(exchange);
  if (row.scope !== null && !caller.scopes.includes(row.scope)) {
    throw new HttpProblem("insufficient_scope", `This endpoint requires the scope ${row.scope}.`, {
      extra: { scope: row.scope },
    });
  }
  if (caller.allowed_ips.length > 0 && !addressInRanges(sender.address, caller.allowed_ips)) {
    throw new HttpProblem("address_not_allowed", "The application may not call from this address.");
  }
  admitSource(exchange, caller);
}

/** Refuses an application that is bound to feed sources at the paths of another one, and to register one. */
function admitSource({ row, event }: Exchange, { source_ids }: Caller): void {
  if (source_ids.length === 0 || !isOfSource(row) || source_ids.includes(event.pathParameters?.["id"] ?? "")) return;
  throw new HttpProblem("source_not_allowed", `The application is bound to ${source_ids.join(", ")}.`);
}

/**
 * Starts to count the request against its rate limit. The handler reads meanwhile; its first write waits for the
 * verdict, and so does every answer (see `endpoint`).
 */
export function countRate(exchange: Exchange): void {
  startCount(exchange);
}

/** The same for an endpoint that shows what was counted. */
export function countRateWhole(exchange: Exchange): void {
  startCount(exchange, "ALL_NEW");
}

function startCount(exchange: Exchange, asked?: Parameters<typeof countRequest>[3]): void {
  const { row, event } = exchange;
  const { caller } = exchange;
  if (caller === undefined || row.rate === "none" || row.rate === "token") return;
  const counter = { tenant_id: caller.tenant_id, application_id: caller.actor.id };
  const rate = caller.actor.type === "operator" ? "operator" : row.rate;
  exchange.verdict = countRequest(counter, rate, event.requestContext.requestTimeEpoch, asked);
}
