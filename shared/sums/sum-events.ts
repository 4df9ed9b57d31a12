import { EventSums } from "../domain/sums/event-sums.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { onEveryBrokerage } from "../table/brokerages.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { type SumCursor, sumAttributes, sumCursors, sums } from "../table/entities.ts";
import { type EventCounter, eventCounter } from "../table/sequences.ts";
import { transactOnce } from "../table/transact.ts";
import { changeMember, type TransactItem, typeTag } from "../table/write.ts";
import { dayLabels, sumCursor } from "./read-sums.ts";
import { type ChangesAfter, changesAfter } from "./transaction-changes.ts";

/**
 * Adds the events of every brokerage that were published since the run before to its sums. Returns how many brokerages
 * had any, and how many failed.
 */
export function sumAllEvents(hasTime: () => boolean): Promise<SweepResult> {
  return onEveryBrokerage(hasTime, (tenants) =>
    forEachOf(tenants, {
      parallel: limits.sums.tenants_at_once,
      run: async (tenant) => (hasTime() ? sumEvents(tenant, hasTime) : 0),
      report: (tenant_id, error) =>
        log.error("The transactions of a brokerage could not be summed.", { tenant_id, ...causeOf(error) }),
    }),
  );
}

/** Adds the events of one brokerage. 1 when it had any that were not in its sums, else 0. */
export async function sumEvents(tenant: string, hasTime: () => boolean): Promise<number> {
  const [stored, counter] = await Promise.all([sumCursor(tenant), eventCounter(tenant)]);
  let cursor = stored;
  if (cursor.summed >= counter.last) return 0;
  while (cursor.summed < counter.last && hasTime()) {
    const next = await sumNext(cursor, counter);
    // Another run was faster, or the rest may not be seen yet: the next one goes on.
    if (next === undefined || next.summed === cursor.summed) return 1;
    cursor = next;
  }
  return 1;
}

/** The cursor after the next events are in the sums; undefined where it was moved by another run or a reset. */
async function sumNext(cursor: SumCursor, counter: EventCounter): Promise<SumCursor | undefined> {
  const { tenant_id, since } = cursor;
  const found = await changesAfter(tenant_id, cursor, counter);
  const moments = found.changes.map(({ change }) => change.created_at);
  const { days, to } = summedOf(found, await dayLabels(tenant_id, moments));
  if (to === cursor.summed) return cursor;
  const wrote = days.map((day) => sums.key(tenant_id, since, day).sk);
  const added = days.map((day): TransactItem => {
    const { list, day: of, currency, cells } = day;
    return changeMember(sums.key(tenant_id, since, day), {
      set: { ...typeTag(sums.et), tenant_id, list, day: of, currency, summed: to },
      add: sumAttributes(cells),
    });
  });
  const moved = changeMember(sumCursors.key(tenant_id), {
    set: { ...typeTag(sumCursors.et), tenant_id, summed: to, wrote },
    when: [
      cursor.summed === 0
        ? {
            any: [
              { attribute: "summed", is: "absent" },
              { attribute: "summed", is: "equal", value: 0 },
            ],
          }
        : { attribute: "summed", is: "equal", value: cursor.summed },
      since === undefined ? { attribute: "since", is: "absent" } : { attribute: "since", is: "equal", value: since },
    ],
  });
  const outcome = await transactOnce([moved, ...added]);
  if (outcome.ok) return { ...cursor, summed: to, wrote };
  if (outcome.codes.includes("ConditionalCheckFailed")) return undefined;
  throw outcome.error;
}

/** The sums of the first of these events, as many as one transaction takes, and the number that they reach. */
function summedOf({ changes, reached }: ChangesAfter, dayAt: (moment: string) => string) {
  const added = new EventSums(dayAt);
  let to = reached;
  for (const { sequence, change } of changes) {
    if (!added.fits(change, { days: limits.sums.items_per_transaction, cells: limits.sums.cells_per_item })) {
      to = sequence - 1;
      break;
    }
    added.addChange(change);
  }
  return { days: added.days, to };
}
