import type { Application } from "../domain/application.ts";
import { endedApplication, endedOperator } from "../domain/people/caller-standing.ts";
import type { Operator } from "../domain/people/operator.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { type CallerStanding, loadItems, ref } from "../table/store.ts";
import type { Caller } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { HttpProblem, refused } from "./problem.ts";

/**
 * What a command reads of its caller, see `standing` of its row; undefined where the authorizer's answer is enough. Who
 * has lost what they were let in with is refused within the time of one command, not within the authorizer's minute.
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
