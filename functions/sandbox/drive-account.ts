import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { driveSandboxAccount } from "../../shared/routes/sandbox-market.ts";
import { driveAccount, recordDrive } from "../../shared/sandbox/drive.ts";
import { pricesContended } from "../../shared/sandbox/market.ts";

/** `POST /sandbox/accounts/{id}/drive` */
export const handler = await ingest(driveSandboxAccount, async ({ path, body, caller, ...request }) => {
  const { newContext, newCommandContext, remainingMs, inFullTime } = request;
  const attempted = { tenant_id: caller.tenant_id, newContext, remainingMs };
  const driven = await inFullTime(() => driveAccount(attempted, path.id, body));
  if (driven.kind === "refused") throw refused(driven.refusal);
  if (driven.kind === "contended") throw pricesContended();
  if (driven.kind === "not_found") return undefined;
  await inFullTime(() => recordDrive(driven.body, newCommandContext()));
  return driven.body;
});
