import type { PolicyRefusal } from "../domain/audit/refusals.ts";
import { isIdentifier } from "../runtime/ids.ts";
import { reportRefusal } from "../runtime/refusals.ts";
import { isPolicyRefusal } from "../schema/audit/policy-refusals.ts";
import type { ProblemCode } from "../schema/problem.ts";
import { originFor } from "../table/audit/sealing.ts";
import { typeIn, userAgentOf } from "./audited.ts";
import type { Caller } from "./caller.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Reports that a caller was refused something by policy or scope; the audit gets its entry by a queue. An answer that
 * is stored and given again is no refusal of its own, as it is no command of its own.
 */
export async function reportRefused(exchange: Exchange, caller: Caller, code: ProblemCode): Promise<void> {
  if (!isPolicyRefusal(code)) return;
  const { event, request_id, row, sender, started_ms } = exchange;
  const id = event.pathParameters?.["id"];
  const type = typeIn(row.path);
  const { tenant_id, actor, audit_key } = caller;
  const call = { actor, action: row.id, ip: sender.address, user_agent: userAgentOf(event) };
  const refusal: PolicyRefusal = {
    tenant_id,
    request_id,
    at: new Date(started_ms).toISOString(),
    actor,
    // What names an operator is sealed before it reaches the queue.
    ...originFor(tenant_id, call, audit_key),
    code,
    resource: id === undefined || type === undefined || !isIdentifier(id) ? null : { type, id },
  };
  await reportRefusal({ ...refusal });
}
