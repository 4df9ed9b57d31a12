import { OpenInterest, type SummedPosition } from "../domain/trading/open-interest.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { onEveryBrokerage } from "../table/brokerages.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { openInterests, positions } from "../table/entities.ts";
import { isNew } from "../table/expression.ts";
import { putItem } from "../table/items.ts";
import { pagesOf } from "../table/partition.ts";
import { facetsAttribute, indexes } from "../table/table-shape.ts";

/**
 * Sums the open positions of every brokerage from what the list index carries. Of one whose positions cannot all be
 * read the last sum stays, and its age grows. Returns how many failed; a sum is no work that was recovered.
 */
export function sumOpenInterest(hasTime: () => boolean): Promise<SweepResult> {
  return onEveryBrokerage(hasTime, (tenants) =>
    forEachOf(tenants, {
      parallel: limits.trading.summed_at_once,
      run: async (tenant) => {
        await sumPositions(tenant, hasTime);
        return 0;
      },
      report: (tenant_id, error) =>
        log.error("The open positions of a brokerage could not be summed.", { tenant_id, ...causeOf(error) }),
    }),
  );
}

async function sumPositions(tenant_id: string, hasTime: () => boolean): Promise<void> {
  const as_of = nowIso();
  const sums = new OpenInterest();
  let count = 0;
  for await (const { items } of pagesOf(positions.all(tenant_id), {
    index: indexes.list,
    attributes: [facetsAttribute],
  })) {
    if (!hasTime()) throw new Unavailable("The time of the sweep is over.");
    for (const { [facetsAttribute]: facets = {} } of items) sums.add(facets as SummedPosition);
    count += items.length;
  }
  // Without positions there is no sum to look up, so that a brokerage which does not trade costs no write.
  if (count === 0) return;
  for (const account_type of ["live", "demo"] as const) {
    const item = { tenant_id, account_type, as_of, rows: sums.rowsOf(account_type) };
    // Two sweeps may run at the same time: the sum that began last stays.
    await putItem(openInterests, item, [{ any: [isNew, { attribute: "as_of", is: "below", value: as_of }] }]);
  }
}
