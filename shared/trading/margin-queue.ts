import type { StoredRisk } from "../domain/records/risk.ts";
import { creditEndsInMs } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { sendMessages } from "../runtime/queues.ts";

/** Message of the margin queue: an account to evaluate at the newest prices, which its consumer reads. */
export interface MarginMessage {
  readonly tenant_id: string;
  readonly account_id: string;
}

/**
 * Asks for an evaluation of each of these accounts, which no worker sees before so many whole seconds, not yet
 * shortened by a time scale. A tenant is a message group, so that the accounts of one keep no other waiting.
 * @throws Error when SQS did not take some of them in the end
 */
export function sendAccounts(tenant: string, accountIds: readonly string[], delaySeconds = 0): Promise<void> {
  const message = (account_id: string): MarginMessage => ({ tenant_id: tenant, account_id });
  return sendMessages(
    env.marginQueueUrl,
    accountIds.map((id) => ({ body: message(id), group: tenant, delay_seconds: delaySeconds })),
  );
}

/**
 * Asks for an evaluation of those of these accounts whose credit ends so soon that a message may wait for it, a moment
 * after that end.
 * @throws Error as {@link sendAccounts}
 */
export async function sendAtCreditEnds(tenant: string, risks: readonly StoredRisk[], now: string): Promise<void> {
  const byDelay = new Map<number, string[]>();
  for (const risk of risks) {
    const ms = creditEndsInMs(risk, now);
    if (ms === undefined) continue;
    // The end is a time of the clock, which no time scale shortens. The clock of the evaluator may be a little behind.
    const seconds = Math.ceil(((ms + limits.margin.credit_end_margin_ms) * env.timeScale) / 1000);
    const delay = Math.min(seconds, limits.queues.max_delay_seconds);
    byDelay.set(delay, [...(byDelay.get(delay) ?? []), risk.account_id]);
  }
  for (const [delay, ids] of byDelay) await sendAccounts(tenant, ids, delay);
}

/** Reads a message of the queue; undefined for one that this service did not send. */
export function marginMessageOf(body: string): MarginMessage | undefined {
  try {
    const { tenant_id, account_id } = JSON.parse(body) as Partial<MarginMessage>;
    if (typeof tenant_id !== "string" || typeof account_id !== "string") return undefined;
    return { tenant_id, account_id };
  } catch {
    return undefined;
  }
}
