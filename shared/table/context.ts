import type { Context } from "../domain/kernel/decision.ts";
import { nextMoveAt } from "../domain/sandbox/provider.ts";
import { delayMs, nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newId, newNumber } from "../runtime/ids.ts";
import { traceId } from "../runtime/trace.ts";

/** For whom a decision is made. */
export type Principal = Pick<Context, "tenant_id" | "actor" | "request_id" | "scopes" | "role" | "origin">;

/** The context of one decision: one moment for all of it, so that an identifier carries the time `created_at` shows. */
export function newContext(principal: Principal): Context {
  const moment = nowMs();
  return {
    ...principal,
    trace_id: traceId(),
    environment: env.stage,
    now: new Date(moment).toISOString(),
    in: (seconds) => new Date(moment + delayMs(seconds)).toISOString(),
    // The one place where the rest of the service learns what the sandbox adds to it.
    ...(env.stage === "sandbox" && { providerMovesAt: nextMoveAt }),
    newId: (prefix) => newId(prefix, moment),
    newNumber,
  };
}

/** The context of what the service decides by itself, in the name of one of its parts: `expiry`. */
export function systemContext(tenant: string, part: string): Context {
  const actor = { type: "system", id: part, name: part } as const;
  return newContext({ tenant_id: tenant, actor, request_id: null, scopes: [] });
}
