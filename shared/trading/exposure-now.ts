import { exposureBody, type StoredOpenInterest } from "../domain/trading/open-interest.ts";
import { HttpProblem } from "../http/problem.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import type { ExposureBody } from "../schema/exposure.ts";
import { openInterests, positions } from "../table/entities.ts";
import { countEntries } from "../table/partition.ts";
import { findAll } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { readQuoted } from "./market.ts";

/**
 * The last sum of a brokerage's open positions of an account type, at the newest prices. Without any position there is
 * nothing to sum, now; while that cannot be read, the last sum stands.
 * @throws HttpProblem `not_ready` before the first sum
 */
export async function exposureNow(
  tenant_id: string,
  account_type: StoredOpenInterest["account_type"],
): Promise<ExposureBody> {
  const [[stored], held] = await Promise.all([
    findAll<StoredOpenInterest>(openInterests, [openInterests.key(tenant_id, account_type)]),
    countEntries(indexes.list, positions.all(tenant_id), 1).catch((error: unknown) => {
      if (isUnavailable(error)) return undefined;
      throw error;
    }),
  ]);
  const sums = held === 0 ? { tenant_id, account_type, as_of: nowIso(), rows: [] } : stored;
  if (sums === undefined) {
    const headers = { "Retry-After": String(limits.trading.summed_every_seconds) };
    throw new HttpProblem("not_ready", "The open positions are summed within the next minute.", { headers });
  }
  const market = await readQuoted(
    tenant_id,
    sums.rows.map(([symbol]) => symbol),
  );
  return exposureBody(sums, market, nowIso());
}
