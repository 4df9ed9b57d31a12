import { isIdentifier } from "../runtime/ids.ts";
import { reportRefusal } from "../runtime/refusals.ts";
import { isPolicyRefusal, type PolicyRefusalCode } from "../schema/audit/policy-refusals.ts";
import type { ProblemCode } from "../schema/problem.ts";
import { refusalOf } from "../table/audit/refused.ts";
import { typeIn, userAgentOf } from "./audited.ts";
import type { Caller } from "./caller.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Reports that a caller was refused something by policy or scope; the audit gets its entry by a queue. An answer that
 * is stored and given again is no refusal of its own, as it is no command of its own.
 */
export async function reportRefused(exchange: Exchange, caller: Caller, code: ProblemCode): Promise<void> {
  if (isPolicyRefusal(code)) await report(exchange, caller, code);
}

/**
 * Reports a request that gave something out and changed nothing, for its entry of the audit: a commit has its entry
 * with it. Such entries of one caller and minute are counted like refusals, so a loop fills no audit.
 */
export async function reportGiven(exchange: Exchange, caller: Caller): Promise<void> {
  await report(exchange, caller, null);
}

async function report(exchange: Exchange, caller: Caller, code: PolicyRefusalCode | null): Promise<void> {
  const { event, request_id, row, sender, started_ms } = exchange;
  const id = event.pathParameters?.["id"];
  const type = typeIn(row.path);
  const refusal = refusalOf(caller, {
    request_id,
    code,
    action: row.id,
    ip: sender.address,
    user_agent: userAgentOf(event),
    at: new Date(started_ms).toISOString(),
    resource: id === undefined || type === undefined || !isIdentifier(id) ? null : { type, id },
  });
  await reportRefusal(refusal);
}
