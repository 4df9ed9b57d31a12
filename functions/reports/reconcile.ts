import type { Context } from "aws-lambda";
import { reconcileBooks } from "../../shared/books/reconcile.ts";
import { limits } from "../../shared/limits.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/**
 * Runs on a schedule: compares the books of each brokerage when a day of it is to be closed, and closes that day.
 * `{"action": "start"}` compares them now and closes none.
 * @throws Error when it failed with a brokerage, after all the others: an alarm counts it
 */
export async function handler(event: { readonly action?: string }, context: Context): Promise<SweepResult> {
  const hasTime = () => context.getRemainingTimeInMillis() > limits.books.step_reserve_ms;
  const result = await reconcileBooks(hasTime, event.action === "start");
  if (result.failed > 0) throw new Error(`The books of ${result.failed} brokerages could not be compared.`);
  return result;
}
