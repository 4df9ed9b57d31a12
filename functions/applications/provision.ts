import type { Context, DynamoDBStreamEvent } from "aws-lambda";
import { provisionApplication } from "../../shared/oauth/provision.ts";
import { reconcile, settleRecords } from "../../shared/oauth/settle.ts";
import { env } from "../../shared/runtime/env.ts";
import { seedMarket } from "../../shared/sandbox/seed.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";
import { endStreams } from "../../shared/stream/ended-access.ts";
import { eraseClientAudit } from "../../shared/table/audit/erasure.ts";

/**
 * Creates and deletes API keys: for pending applications and operators in the stream of the table, on a schedule for
 * those that the stream missed, and for the command that creates an application. It destroys the keys of persons, of
 * removed operators and for the command that erases a client. No route invokes it.
 */
export async function handler(event: DynamoDBStreamEvent | object, { awsRequestId }: Context): Promise<unknown> {
  if ("Records" in event) return settleRecords(event, endStreams);
  const request = ProvisionRequest.parse(event);
  if (request.action === "create_application") return provisionApplication(request, seed, awsRequestId);
  if (request.action === "erase_client") return eraseClientAudit(request.tenant_id, request.client_id);
  return reconcile(endStreams);
}

/** A new tenant of the sandbox starts with its own market. */
function seed(tenantId: string, now: string) {
  return env.stage === "sandbox" ? seedMarket(tenantId, now) : [];
}
