import { endedApplication, endedOperator } from "../domain/access/caller-standing.ts";
import type { Application } from "../domain/records/application.ts";
import type { Operator } from "../domain/records/operator.ts";
import { isOfSource } from "../routes/route.ts";
import { addressInRanges } from "../runtime/address.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { countRequest } from "../table/counters.ts";
import { type CallerStanding, loadItems, ref } from "../table/store.ts";
import { type Caller, callerOf } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { HttpProblem, refused } from "./problem.ts";
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

/**
 * The caller's item for a command, see `standing` of its row; undefined where the authorizer's answer is enough. A
 * caller who has lost the right is refused within the time of one command, not within the authorizer's minute.
 */
export function standingOf({ row }: Pick<Exchange, "row">, caller: Caller): CallerStanding | undefined {
  const { standing, scope } = row;
  if (standing === undefined) return undefined;
  const { id, type } = caller.actor;
  if (type === "operator") {
    const check = (stored: unknown) =>
      refuseEnded(endedOperator(caller, stored as Operator | undefined, scope, env.stage));
    return { ref: ref.operator(id), check, held: standing !== "read" };
  }
  const check = (stored: unknown) =>
    refuseEnded(endedApplication(caller, stored as Application | undefined, scope, nowMs()));
  return { ref: ref.application(id), check, held: standing === "held" };
}

/** The same for a request without a commit of its own. */
export async function checkStanding(exchange: Exchange, caller: Caller): Promise<void> {
  const standing = standingOf(exchange, caller);
  if (standing === undefined) return;
  const { found } = await loadItems(caller.tenant_id, { found: standing.ref });
  standing.check(found);
}

function refuseEnded(refusal: ReturnType<typeof endedOperator>): void {
  if (refusal === undefined) return;
  if (refusal.code !== "unauthenticated") throw refused(refusal);
  const headers = { "WWW-Authenticate": 'Bearer realm="brokerage", error="invalid_token"' };
  throw new HttpProblem(refusal.code, refusal.detail, { headers });
}
