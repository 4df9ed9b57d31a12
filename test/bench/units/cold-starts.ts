import { expectedDurationMs, gatewayMs, invokeMs } from "../../../infra/latency.ts";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { traffic } from "../../../infra/tools/cost/traffic.ts";
import { limits } from "../../../shared/limits.ts";

/** Requests of a month that the average is stated for. */
export const monthlyRequests = [50_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000] as const;

/** How long Lambda keeps an environment that has nothing to do, minutes: nothing is promised, this is what is seen. */
const idleMinutes = [15, 5] as const;

/** Reads of the authorizer for a holder, and its processor time, ms (`units.json`, `npm run bench:latency`). */
const authorizerMs = 10;

interface Kept {
  /** Minutes after which an idle environment ends. */
  readonly idle_minutes: number;
  /** Whether a schedule keeps one environment of each function. */
  readonly warm: boolean;
}

/**
 * Share of the invocations of one function that wait for the start of an environment, where they come at random: those
 * that find none, or find the only one busy.
 * @param per_ms invocations per millisecond
 * @param takes_ms how long one takes
 */
function startingShare(per_ms: number, takes_ms: number, { idle_minutes, warm }: Kept): number {
  const idle_ms = idle_minutes * 60_000;
  const none = warm ? 0 : Math.exp(-per_ms * idle_ms);
  const busy = 1 - Math.exp(-per_ms * takes_ms);
  // A second environment is there if one was needed within the time that it is kept.
  const noSecond = Math.exp(-per_ms * busy * idle_ms);
  return none + (1 - none) * busy * noSecond;
}

/** Average time of a request over the stated mix, with the starts of its function and of the authorizer, ms. */
export function averageWithStarts(requests: number, kept: Kept): number {
  const per_ms = requests / (traffic.hours_per_month * 3_600_000);
  const whole = Object.values(mix).reduce((sum, part) => sum + part, 0);
  const { cold_start_ms } = traffic;
  const own = Object.entries(mix).map(([id, part]) => {
    const share = part / whole;
    const takes_ms = expectedDurationMs(id);
    return share * (gatewayMs + invokeMs + takes_ms + cold_start_ms * startingShare(share * per_ms, takes_ms, kept));
  });
  // One caller's token is kept for a minute from the request that asked about it on.
  const asked = 1 / (1 + per_ms * limits.authorizer.cache_seconds * 1000);
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
