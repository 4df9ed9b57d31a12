import { readCounts } from "../../shared/http/operations.ts";
import { limits } from "../../shared/limits.ts";
import { getLimits } from "../../shared/routes/service.ts";
import type { RateLimitsBody } from "../../shared/schema/service.ts";
import { windowsOf } from "../../shared/table/counters.ts";

const iso = (ms: number) => new Date(ms).toISOString();

/** `GET /status/limits` */
export const handler = await readCounts(getLimits, ({ caller, counts, time_ms }): RateLimitsBody => {
  const { actor } = caller;
  const type = actor.type === "operator" ? "operator" : "application";
  return {
    object: "rate_limits",
    caller: { type, id: actor.id },
    as_of: iso(time_ms),
    windows: windowsOf(type, counts, time_ms).map(({ name, limit, used = null, seconds, reset_seconds }) => ({
      ...{ name, limit, used, remaining: used === null ? null : Math.max(0, limit - used) },
      ...{ period_seconds: seconds, resets_at: iso(reset_seconds * 1000) },
    })),
    gateway: { per_second: limits.rate.gateway_per_second, burst: limits.rate.gateway_burst },
    token_endpoint: { failures_per_minute: limits.token.failures_per_minute },
    _links: { self: { href: "/v2/status/limits" } },
  };
});
