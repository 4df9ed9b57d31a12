import { limits } from "../limits.ts";
import { withinBudget } from "./budget.ts";
import { env } from "./env.ts";
import { causeOf, countMetric, log } from "./log.ts";
import { sendMessages } from "./queues.ts";

/**
 * Reports a refusal to the function that records refusals, in at most `limits.audit.refusal_send_ms`. Refusals of one
 * tenant are a message group, so that a flood of one delays no other. A report that cannot be sent is logged and
 * counted: whether a request is refused does not depend on it.
 */
export async function reportRefusal(
  refusal: Readonly<Record<"tenant_id" | "request_id" | "action", string> & { code: string | null }>,
): Promise<void> {
  const { tenant_id: group, request_id, action, code } = refusal;
  try {
    await withinBudget(limits.audit.refusal_send_ms * env.budgetFactor, () =>
      sendMessages(env.refusalQueueUrl, [{ body: refusal, group }]),
    );
  } catch (error) {
    countMetric("RefusalNotReported");
    log.error("A refusal could not be queued; the audit log has no entry of it.", {
      ...{ tenant_id: group, request_id, action, code },
      ...causeOf(error),
    });
  }
}
