import type { Made } from "../domain/feed/apply.ts";
import type { ItemReading } from "../domain/feed/batch.ts";
import type { DomainEvent } from "../domain/kernel/decision.ts";
import type { TradingDecision } from "../domain/records/trading-change.ts";
import { countMetric, log } from "../runtime/log.ts";
import type { FeedRun } from "./decisions.ts";

/**
 * Logs and counts money that names a transaction and is not its money. This happens at the decision: a process that
 * dies after its commit has logged it, and one that decides again logs it again. The request is admitted by then.
 */
export function unexpected({ source }: FeedRun, { raw }: ItemReading, decision: TradingDecision<Made>): void {
  const made = decision.ok ? decision.result : {};
  log.warn("A platform's operation differs from its transaction.", {
    source: source.id,
    seq: raw.seq,
    ...made,
  });
  countMetric("UnexpectedOperation");
}

/** Logs and counts money that a rule covers and that is booked without approvals, since its platform is what counts. */
export function announced(
  { source }: FeedRun,
  { raw }: ItemReading,
  { events }: { readonly events: readonly DomainEvent[] },
) {
  const unapproved = events.find(({ type }) => type === "transaction.unapproved");
  if (unapproved === undefined) return;
  const about = { source: source.id, seq: raw.seq, transaction_id: unapproved.resource.id };
  log.warn("A platform moved money that an approval rule covers.", about);
  countMetric("MoneyNeedsAttention");
}
