import { expectedDurationMs, gatewayMs, invokeMs } from "../../../infra/latency.ts";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { askedShare, type Kept, perMs, startingShare } from "../../../infra/tools/cost/starts.ts";
import { traffic } from "../../../infra/tools/cost/traffic.ts";
import { limits } from "../../../shared/limits.ts";

/** Requests of a month that the average is stated for. */
export const monthlyRequests = [50_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000] as const;

/** How long Lambda keeps an environment that has nothing to do, minutes: nothing is promised, this is what is seen. */
const idleMinutes = [15, 5] as const;

/** Reads of the authorizer for a holder, and its processor time, ms (`units.json`, `npm run bench:latency`). */
const authorizerMs = 10;

/** Average time of a request over the stated mix, with the starts of its function and of the authorizer, ms. */
export function averageWithStarts(requests: number, kept: Kept): number {
  const per_ms = perMs(requests);
  const whole = Object.values(mix).reduce((sum, part) => sum + part, 0);
  const { cold_start_ms } = traffic;
  const own = Object.entries(mix).map(([id, part]) => {
    const share = part / whole;
    const takes_ms = expectedDurationMs(id);
    return share * (gatewayMs + invokeMs + takes_ms + cold_start_ms * startingShare(share * per_ms, takes_ms, kept));
  });
  const asked = askedShare(per_ms);
  const starting = startingShare(asked * per_ms, authorizerMs, kept);
  return own.reduce((sum, each) => sum + each, 0) + asked * (invokeMs + authorizerMs + cold_start_ms * starting);
}

/** The part of LATENCY.md about the starts of environments. */
export function startsText(): string {
  const heads = ["requests a month", ...idleMinutes.map((n) => `none kept warm, idle for ${n} minutes`), "kept warm"];
  const rows = monthlyRequests.map((requests) => {
    const cold = idleMinutes.map((idle_minutes) => averageWithStarts(requests, { idle_minutes, warm: false }));
    const warm = averageWithStarts(requests, { idle_minutes: Math.min(...idleMinutes), warm: true });
    return [requests.toLocaleString("en"), ...[...cold, warm].map((ms) => ms.toFixed(1))];
  });
  const table = [heads, heads.map(() => "---:"), ...rows];
  const { cache_seconds } = limits.authorizer;
  const { keep_warm_minutes } = limits.functions;
  return `## With the starts of environments, by traffic

Milliseconds on average over the mix, where requests come at random, a start takes ${traffic.cold_start_ms} ms, a token
of one caller is kept for ${cache_seconds} s, and an idle environment ends after so many minutes. \`keep_warm\` (on in
production, off in the sandbox; \`.stages.json\`) invokes each function every ${keep_warm_minutes} minutes,
for about 0.30 USD a month. What is left is the authorizer, which few requests ask often, and requests that meet another
one of the same function.

${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}
`;
}
