import { expireVerification } from "../domain/accounts/client.ts";
import { notFound } from "../domain/kernel/decision.ts";
import type { Client } from "../domain/records/client.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { clients } from "../table/entities.ts";
import { ref } from "../table/store.ts";
import { commitDecision } from "../trading/commit.ts";

/**
 * Moves verified clients to `expired` whose verification has ended (domain 2.2), each from a new read.
 * Returns how many moved and how many could not.
 */
export function expireVerifications(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems("CLIENT", hasTime, {
    entity: clients,
    isDue: () => true,
    parallel: limits.events.expired_in_parallel,
    run: async (client) => ((await expireOne(client, remainingMs)) ? 1 : 0),
    report: ({ id }, error) => log.error("A verification could not expire.", { client_id: id, ...causeOf(error) }),
  });
}

async function expireOne({ id, tenant_id }: Client, remainingMs: () => number): Promise<boolean> {
  const newContext = () => systemContext(tenant_id, "expiry");
  const outcome = await commitDecision({ tenant_id, newContext, remainingMs }, async (load, context) => {
    const { client } = await load({ client: ref.client(id) });
    return client === undefined ? notFound() : expireVerification(client, context);
  });
  return outcome.kind === "done" && outcome.events.length > 0;
}
