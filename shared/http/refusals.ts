import type { PolicyRefusal } from "../domain/audit/refusals.ts";
import { isIdentifier } from "../runtime/ids.ts";
import { reportRefusal } from "../runtime/refusals.ts";
import { isPolicyRefusal } from "../schema/audit/policy-refusals.ts";
import { typeIn, userAgentOf } from "./audited.ts";
import type { Answer, Exchange } from "./exchange.ts";

/**
 * Reports an answer that refuses by policy or scope what a known caller asked for; the audit gets its entry by a queue.
 * An answer that is stored and given again is no refusal of its own, as it is no command of its own.
 */
export async function reportIfRefused(exchange: Exchange, { refused: code }: Answer): Promise<void> {
  const { caller, event, request_id, row, sender, started_ms } = exchange;
  if (code === undefined || caller === undefined || !isPolicyRefusal(code)) return;
  const id = event.pathParameters?.["id"];
  const type = typeIn(row.path);
  const refusal: PolicyRefusal = {
    tenant_id: caller.tenant_id,
    request_id,
    at: new Date(started_ms).toISOString(),
    actor: caller.actor,
    ip: sender.address,
    user_agent: userAgentOf(event),
    action: row.id,
    code,
    resource: id === undefined || type === undefined || !isIdentifier(id) ? null : { type, id },
  };
  await reportRefusal({ ...refusal });
}
