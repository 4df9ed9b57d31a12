import type { DynamoDBStreamEvent } from "aws-lambda";
import { provisionApplication } from "../../shared/oauth/provision.ts";
import { reconcileApplications, settleRecords } from "../../shared/oauth/settle.ts";
import { env } from "../../shared/runtime/env.ts";
import { seedMarket } from "../../shared/sandbox/seed.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";

/**
 * Makes and removes API keys: for applications that the stream of the table shows as waiting, on a schedule for those
 * that it did not bring, and for the operator's command, which makes an application. No route leads here.
 */
export async function handler(event: DynamoDBStreamEvent | object): Promise<unknown> {
  if ("Records" in event) return settleRecords(event);
  const request = ProvisionRequest.parse(event);
  return request.action === "create_application" ? provisionApplication(request, seed) : reconcileApplications();
}

/** A new tenant of the sandbox begins with a market of its own. */
function seed(tenantId: string, now: string) {
  return env.stage === "sandbox" ? seedMarket(tenantId, now) : [];
}
