import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { evaluateAccount } from "./commit.ts";
import { type MarginMessage, marginMessageOf } from "./margin-queue.ts";

/** A message as its queue gave it. */
interface Received {
  readonly id: string;
  readonly body: string;
}

/**
 * Evaluates the accounts that messages name, concurrently and each once, every step of a liquidation included. Returns
 * the ids of the messages that are to come again: those that could not be decided in time, and what is no message.
 */
export async function evaluateMessages(
  messages: readonly Received[],
  remainingMs: () => number,
): Promise<ReadonlySet<string>> {
  const failed = new Set<string>();
  const accounts = new Map<string, { readonly about: MarginMessage; readonly ids: string[] }>();
  for (const { id, body } of messages) {
    const about = marginMessageOf(body);
    if (about === undefined) failed.add(id);
    else {
      const name = `${about.tenant_id}#${about.account_id}`;
      const known = accounts.get(name) ?? { about, ids: [] };
      known.ids.push(id);
      accounts.set(name, known);
    }
  }
  const work = [...accounts.values()].map(async ({ about, ids }) => {
    if (!(await evaluate(about, remainingMs))) for (const id of ids) failed.add(id);
  });
  await Promise.all(work);
  return failed;
}

/** False when it has to be done again; an account that is not there any more has nothing to be done. */
async function evaluate({ tenant_id, account_id }: MarginMessage, remainingMs: () => number): Promise<boolean> {
  if (remainingMs() <= limits.commit.reserve_ms) return false;
  const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "margin"), remainingMs };
  try {
    const outcome = await evaluateAccount(attempted, account_id);
    if (outcome.kind === "contended")
      log.warn("An account was not evaluated: its commits kept conflicting.", { account_id });
    return outcome.kind !== "contended";
  } catch (error) {
    const { stack } = error as Error;
    log.error("An account could not be evaluated.", { account_id, ...causeOf(error), stack });
    return false;
  }
}
