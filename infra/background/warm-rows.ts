import { Aws } from "aws-cdk-lib";
import { Effect } from "aws-cdk-lib/aws-iam";
import { routes } from "../../shared/routes/index.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { allow } from "../constructs/grants.ts";
import { functionName } from "../stages.ts";
import type { BackgroundRow } from "./row.ts";

/** Whether a caller waits for a function that has no route. */
function isAwaited({ trigger }: BackgroundRow): boolean {
  return trigger.authorizer !== undefined || trigger.socket !== undefined;
}

/**
 * Keeps one environment of each function that a caller would wait for. Every minute it invokes a fifth of them and
 * takes no answer (test/bench/LATENCY.md says what that is worth). Those of queues are left out: at their reserved
 * concurrency an invocation more would be refused, and that would be an alarm.
 */
export function keepWarmRow(stage: Stage, others: readonly BackgroundRow[]): BackgroundRow {
  const behindRoutes = routes.filter(({ stages }) => stages.includes(stage)).map(({ id }) => id.replaceAll("_", "-"));
  const left = others.filter((row) => !isAwaited(row)).map(({ id }) => id);
  const ids = [...others.filter(isAwaited).map(({ id }) => id), ...behindRoutes];
  const arnOf = (id: string) =>
    `arn:${Aws.PARTITION}:lambda:${Aws.REGION}:${Aws.ACCOUNT_ID}:function:${functionName(stage, id)}`;
  return {
    id: "keep-warm",
    file: "upkeep/keep-warm",
    description: "Keeps an environment of each function that a caller waits for",
    trigger: { schedule: { expression: "rate(1 minute)", input: { functions: ids.join(" ") } } },
    timeoutSeconds: 30,
    statements: () => [
      // The name of each would outgrow a policy; what acts on an event of its own is denied.
      allow("Warm", ["lambda:InvokeFunction"], [arnOf("*")]),
      allow("LeaveOthers", ["lambda:InvokeFunction"], left.map(arnOf), { effect: Effect.DENY }),
    ],
  };
}
