import type { PolicyRefusal, RefusedParty } from "../../domain/audit/refusals.ts";
import { originFor } from "./sealing.ts";

/** Request, origin and reason of a refusal. */
type RefusedCall = Pick<PolicyRefusal, "action" | "ip" | "user_agent" | "request_id" | "at" | "code" | "resource">;

/** A refusal as it is reported: what names an operator is sealed before it reaches the queue. */
export function refusalOf({ tenant_id, actor, audit_key }: RefusedParty, call: RefusedCall): PolicyRefusal {
  return { tenant_id, actor, ...call, ...originFor(tenant_id, { actor, ...call }, audit_key) };
}
