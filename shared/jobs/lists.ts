import type { Job } from "../domain/records/job.ts";
import { type ListPlace, shownOrNot } from "../http/page.ts";
import { limits } from "../limits.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { readable } from "../runtime/unreadable.ts";
import { type MemberOrder, replyOrder } from "../schema/member-order.ts";
import { encodeCursor, listFingerprint } from "../table/cursor.ts";
import { timeOfId } from "../table/entities/keys.ts";
import type { Page } from "../table/list.ts";
import type { ExportPage, ExportType } from "./export-type.ts";
import { withNames } from "./names.ts";
import { csvFormat, ndjsonFormat, rowOrder } from "./rows.ts";

/** A list that is exported: the row of its endpoint, its times, and its page with what GET shows of each item. */
interface ListExport<T> {
  readonly row: ShippedRoute;
  /** Timestamp by which it is sorted, and the parameters that bound it. */
  readonly by: "created" | "open";
  readonly limit?: number;
  readonly page: (
    tenant: string,
    place: ListPlace,
  ) => Promise<{ readonly page: Page<T>; readonly show: (item: T) => object }>;
}

/** The order of the members of the items of a list. */
export function itemOrder({ reply }: Pick<ShippedRoute, "reply">): MemberOrder {
  const order = replyOrder(reply);
  const data = order !== null && "members" in order ? order.members["data"] : undefined;
  return data && "each" in data ? data.each : null;
}

/** The export of a list: what was made before the job, in the order of identifiers. */
export function listExport<T extends object>(list: ListExport<T>): ExportType {
  return {
    format: ({ parameters }) => {
      const names = parameters.include_names === true ? ["account_number", "client_name"] : [];
      const order = rowOrder(itemOrder(list.row), names);
      return parameters.format === "ndjson" ? ndjsonFormat(order) : csvFormat(order);
    },
    read: (job, position) => readList(list, job, position),
  };
}

async function readList<T extends object>(
  { row, by, limit = limits.jobs.rows_per_read, page: pageOf }: ListExport<T>,
  job: Job,
  position: string | null,
): Promise<ExportPage> {
  const { format: _format, include_names: named, ...given } = job.parameters;
  const filters: Readonly<Record<string, string | undefined>> = given;
  const to = filters[`${by}_to`];
  const until = to !== undefined && Date.parse(to) < Date.parse(job.as_of) ? to : job.as_of;
  const list = { ...filters, [`${by}_to`]: until, sort: by === "open" ? "open_at" : "created_at" };
  const query = { ...list, limit: String(limit), ...(position === null ? {} : { cursor: position }) };
  const { page, show } = await pageOf(job.tenant_id, { path: row.path, query, order: null });
  const shown = page.items.map((item) => shownOrNot(item, show));
  const rows = readable(shown) as object[];
  const [first = "", from = first] = [timeOfId(job.tenant_id), filters[`${by}_from`]];
  const begin = Math.max(Date.parse(first), Date.parse(from));
  const at = Date.parse(timeOfId(`_${page.next?.position ?? ""}`));
  return {
    rows: named !== true ? rows : await withNames(job.tenant_id, rows),
    next: page.next === undefined ? null : encodeCursor(page.next, listFingerprint(row.path, query)),
    share: page.next === undefined ? 1 : (at - begin) / Math.max(1, Date.parse(until) - begin),
    unreadable: (page.unreadable ?? 0) + shown.length - rows.length,
  };
}
