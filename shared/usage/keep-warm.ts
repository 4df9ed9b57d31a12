import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { limits } from "../limits.ts";
import { callHandler } from "../runtime/budget.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { causeOf, log } from "../runtime/log.ts";
import { endTrace } from "../runtime/trace.ts";

/** Answered by the entry of every bundle, before any code of the function runs (`infra/bundle.ts`). */
const warmUp = JSON.stringify({ warm_up: true });

const lambda = new LambdaClient({ maxAttempts: limits.calls.attempts, requestHandler: callHandler() });

/**
 * Invokes a part of the functions with the warm-up event and waits for none of them: that of this minute. After as many
 * minutes as there are parts each function was invoked once.
 * @param ids ids of functions, with hyphens
 * @throws Error when Lambda did not take an invocation, after all others were sent
 */
export async function keepWarm(ids: readonly string[]): Promise<void> {
  const parts = limits.functions.keep_warm_minutes;
  const part = Math.floor(nowMs() / 60_000) % parts;
  const due = ids.filter((_, at) => at % parts === part);
  // A million traces a month of nothing would cost 5 USD.
  endTrace();
  const refused = await Promise.all(due.map(invoke));
  const failed = refused.filter(Boolean).length;
  if (failed > 0) throw new Error(`${failed} of ${due.length} functions could not be invoked.`);
}

/** Whether Lambda refused it. */
async function invoke(id: string): Promise<boolean> {
  const FunctionName = `brokerage-${env.stage}-${id}`;
  try {
    await lambda.send(new InvokeCommand({ FunctionName, InvocationType: "Event", Payload: warmUp }));
    return false;
  } catch (error) {
    log.warn("A function could not be kept warm.", { function: id, ...causeOf(error) });
    return true;
  }
}
