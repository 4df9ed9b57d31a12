import { limits } from "../../limits.ts";
import { listEvents } from "../../routes/events.ts";
import { readable, unlessUnreadable } from "../../runtime/unreadable.ts";
import type { PublishedEvent } from "../../table/entities.ts";
import { eventsAfter } from "../../table/event-pages.ts";
import { payloadOf } from "../../table/event-payload.ts";
import { eventCounter } from "../../table/sequences.ts";
import { type ExportType, parameterOf } from "../export-type.ts";
import { itemOrder } from "../lists.ts";
import { ndjsonFormat } from "../rows.ts";

/** Events as `GET /events` shows them. A position has the number behind which it reads on, and the last one. */
export const eventExport: ExportType = {
  format: () => ndjsonFormat(itemOrder(listEvents)),
  read: async (job, position) => {
    const { tenant_id: tenant } = job;
    const counter = await eventCounter(tenant);
    const first = Number(parameterOf(job, "after_sequence") ?? 0);
    const asked = Math.min(counter.last, Number(parameterOf(job, "to_sequence") ?? counter.last));
    const [after = 0, to = 0] = position?.split("|").map(Number) ?? [first, asked];
    const most = Math.min(limits.jobs.rows_per_read, Math.max(0, to - after));
    if (most === 0) return { rows: [], next: null, share: 1, unreadable: 0 };
    const { found, reached } = await eventsAfter<PublishedEvent>(tenant, after, { ...counter, last: to }, { most });
    const shown = await Promise.all(
      readable(found).map((event) => unlessUnreadable(Promise.resolve(event).then((each) => payloadOf(each, tenant)))),
    );
    const rows = readable(shown).map(({ body }) => body);
    return {
      ...{ rows, next: reached < to ? `${reached}|${to}` : null, unreadable: found.length - rows.length },
      share: (reached - first) / Math.max(1, to - first),
    };
  },
};
