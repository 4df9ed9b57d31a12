import type { Check, Context, SmokeOptions } from "./check.ts";
import { dashboardChecks } from "./dashboard-checks.ts";
import { eventChecks } from "./event-checks.ts";
import { Finding, type Resource, Unseen } from "./finding.ts";
import { gatewayChecks } from "./gateway-checks.ts";
import { limitChecks } from "./limit-checks.ts";
import { moneyChecks } from "./money-checks.ts";
import { functionOf } from "./resources.ts";
import { Session } from "./session.ts";
import { Story } from "./story.ts";
import { streamChecks } from "./stream-checks.ts";
import { tokenChecks } from "./token-checks.ts";

/** All checks, in the order in which they run; those of the limits use the rate up, so they come last. */
export const checks: readonly Check[] = [
  ...tokenChecks,
  ...gatewayChecks,
  ...moneyChecks,
  ...eventChecks,
  ...streamChecks,
  ...dashboardChecks,
  ...limitChecks,
];

/** Result of a check. `unseen` says nothing about the service; `skipped` did not run. */
export interface Result {
  readonly name: string;
  readonly title: string;
  readonly outcome: "passed" | "failed" | "unseen" | "skipped";
  readonly ms: number;
  /** The finding, or a note. */
  readonly detail?: string;
  /** Where to look, when it failed. */
  readonly resources: readonly Resource[];
}

/** Results of all checks, and the resources of theirs that remain. */
export interface SmokeReport {
  readonly results: readonly Result[];
  readonly remaining: readonly string[];
}

const loopback = ["127.0.0.1", "localhost", "[::1]"];

/** Runs a check; nothing that it throws ends the others. */
async function run(check: Check, context: Context): Promise<Result> {
  const { name, title } = check;
  const startMs = performance.now();
  const result = (outcome: Result["outcome"], detail?: string, resources: readonly Resource[] = []): Result => {
    const ms = Math.round(performance.now() - startMs);
    return { name, title, outcome, ms, resources, ...(detail !== undefined && { detail }) };
  };
  try {
    return result("passed", await check.run(context));
  } catch (error) {
    if (error instanceof Unseen) return result("unseen", error.message);
    if (error instanceof Finding) return result("failed", error.message, error.resources);
    // An answer that lacks a member which a check reads is a fault of the service as well.
    return result("failed", `The answers cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function skipped({ name, title }: Check, detail: string): Result {
  return { name, title, outcome: "skipped", ms: 0, detail, resources: [] };
}

/** Why a check does not run; undefined when it does. */
function reasonToSkip(check: Check, { options, dashboard }: Context, environment: string): string | undefined {
  if (options.quick && check.slow) return "left out by --quick";
  if (check.dashboard && dashboard === undefined) return "needs --dashboard-url";
  if (check.sandbox && environment !== "sandbox") return "the sandbox alone has what it needs";
  return undefined;
}

/** Runs the checks of one kind in their order, and reports each as soon as it is done. */
async function runInOrder(some: readonly Check[], context: Context, report: (result: Result) => void) {
  for (const check of some) report(await run(check, context));
}

/**
 * Runs the smoke test against a deployed service. The slow checks run concurrently with the others, except that of the
 * usage plan, which would slow the others down.
 * @param options what to check, and how
 * @param report receives the result of each check when it is known
 * @throws Finding when there is no token, since nothing can be checked then
 */
export async function smoke(options: SmokeOptions, report: (result: Result) => void = () => {}): Promise<SmokeReport> {
  const { baseUrl, clientId: client_id, clientSecret: client_secret, dashboardUrl, only } = options;
  const session = new Session(baseUrl, { client_id, client_secret });
  const isLocal = loopback.includes(new URL(baseUrl).hostname);
  const dashboard = dashboardUrl?.replace(/\/+$/, "");
  const context: Context = { options, session, story: new Story(session), dashboard, isLocal };
  const results: Result[] = [];
  const seen = (result: Result) => {
    results.push(result);
    report(result);
  };
  const health = await session.expect(200, "GET", "/health", [functionOf("get_health")], { token: null });
  await session.tokenReply();
  const wanted = checks.filter(({ name }) => only === undefined || only.includes(name));
  const running: Check[] = [];
  for (const check of wanted) {
    const reason = reasonToSkip(check, context, String(health.body?.environment));
    if (reason === undefined) running.push(check);
    else seen(skipped(check, reason));
  }
  const isPlan = ({ name }: Check) => name === "plan";
  const waiting = running
    .filter((check) => check.slow && !isPlan(check))
    .map((each) => runInOrder([each], context, seen));
  await runInOrder(
    running.filter(({ slow }) => !slow),
    context,
    seen,
  );
  await Promise.all(waiting);
  await runInOrder(running.filter(isPlan), context, seen);
  return { results, remaining: await session.cleanUp() };
}
