import type { Closing } from "../domain/books/closing.ts";
import type { ClosingScope } from "../domain/books/closing-reports.ts";
import { daysWithin } from "../http/days.ts";
import { limits } from "../limits.ts";
import { closingsWithin } from "../table/closings.ts";

/**
 * The closed days that a query asks for, with what it asks for of them.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order and for too many
 */
export async function closedDays(
  tenant: string,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly [scope: ClosingScope, closed: readonly Closing[]]> {
  const { from = "", to = "" } = query;
  daysWithin({ from, to }, limits.sums.max_days);
  const account_type = query["account_type"] === "demo" ? "demo" : "live";
  const scope = { from, to, account_type, currency: query["currency"] } as const;
  return [scope, await closingsWithin(tenant, from, to)];
}
