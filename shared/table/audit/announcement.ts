import type { Context, DomainEvent } from "../../domain/kernel/decision.ts";
import { delayMs } from "../../runtime/clock.ts";
import { putAudit, putOutbox } from "../outbox.ts";
import type { ApiCommand, Committable } from "../store.ts";
import type { TransactItem } from "../write.ts";

type Accepted<R> = Extract<Committable<R>, { ok: true }>;

/** The members of a transaction that announce its events, see {@link putOutbox}; none where there is no event. */
export function outboxOf([first, ...more]: readonly DomainEvent[], context: Context, place = 0): TransactItem[] {
  return first === undefined ? [] : putOutbox([first, ...more], context, delayMs, place);
}

/**
 * The members of a transaction that announce a decision: its events, and its entry of the audit where a caller asked
 * for it. A change of a person is taken from its answer, which comes sealed, and not from the events.
 */
export function announcementOf<R>(
  { audited }: Pick<ApiCommand<R>, "audited">,
  { result, changes, events }: Accepted<R>,
  context: Context,
): TransactItem[] {
  const { origin } = context;
  const persons = personsIn(changes);
  const isTold = events.length > 0 && persons.size === 0;
  if (audited === undefined || origin === undefined || isTold) return outboxOf(events, context);
  const { resource, changes: shown, sealed = [] } = audited(result, changes);
  const all = { ...origin, changes: shown, sealed: [...(origin.sealed ?? []), ...sealed] };
  if (events.length === 0) return [putAudit({ resource, changes: shown }, all, context, delayMs)];
  return outboxOf(events, persons.has(resource.id) ? { ...context, origin: all } : context);
}

/** The persons that a decision makes or changes, with the public key of each; undefined for one without a key. */
export function personsIn(changes: Accepted<unknown>["changes"]): ReadonlyMap<string, string | undefined> {
  return new Map(
    changes.flatMap((change) => {
      if (change.op !== "create" && change.op !== "update") return [];
      if (change.entity !== "client" && change.entity !== "operator") return [];
      const { id, audit_key } = (change.op === "create" ? change.item : change.after) as PersonItem;
      return [[id, audit_key] as const];
    }),
  );
}

interface PersonItem {
  readonly id: string;
  readonly audit_key?: string;
}
