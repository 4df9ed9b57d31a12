import { randomUUID } from "node:crypto";
import type { SQSEvent } from "aws-lambda";
import type { PolicyRefusal } from "../../../shared/domain/audit/refusals.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { lambdaContext, type TestCaller } from "./request.ts";

const { handler: record } = await import("../../../functions/events/record-refusals.ts");
const { handler: sweep } = await import("../../../functions/events/sweep-due.ts");

/** A refusal of an application, as the function that refused it reports it. */
export function someRefusal(
  { tenant_id, application_id }: Pick<TestCaller, "tenant_id" | "application_id">,
  given: Partial<PolicyRefusal> = {},
): PolicyRefusal {
  return {
    tenant_id,
    request_id: randomUUID(),
    at: "2020-01-06T12:00:30.000Z",
    actor: { type: "application", id: application_id, name: "Test" },
    ip: "198.51.100.7",
    user_agent: "tests",
    action: "create_client",
    code: "insufficient_scope",
    resource: null,
    ...given,
  };
}

/** Hands bodies of messages to the function that records refusals, as one batch. Returns those that come again. */
export async function recordAll<T>(bodies: readonly T[]): Promise<T[]> {
  const ids = bodies.map(() => newId("msg"));
  const records = bodies.map((body, at) => ({ messageId: ids[at], body: JSON.stringify(body) }));
  const { batchItemFailures: failed } = await record({ Records: records } as unknown as SQSEvent);
  const again = new Set(failed.map(({ itemIdentifier }) => itemIdentifier));
  return bodies.filter((_, at) => again.has(ids[at] ?? ""));
}

/** Has the sweep write the entries of what was counted, as if the time for that had come. */
export async function sweepNow(): Promise<Record<string, number>> {
  return sweep({ action: "sweep" }, lambdaContext(60_000));
}
