import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { chance, newId } from "../runtime/ids.ts";
import { isThrottle, type Reason, Unavailable } from "../runtime/unavailable.ts";
import { table } from "./table.ts";
import type { TransactItem } from "./write.ts";

/** Why each member of a cancelled transaction was not written; none for any other error. */
export function reasonsOf(error: unknown): readonly Reason[] {
  return (error as { CancellationReasons?: readonly Reason[] }).CancellationReasons ?? [];
}

/** Whether nothing stands in the way of a cancelled transaction but a throttled table. */
export function onlyThrottled(reasons: readonly Reason[]): boolean {
  return onlyDelayed(reasons) && reasons.every(({ Code }) => Code !== "TransactionConflict");
}

/** Whether nothing does but a throttled table and other transactions. */
function onlyDelayed(reasons: readonly Reason[]): boolean {
  const told = reasons.flatMap(({ Code = "None" }) => (Code === "None" ? [] : [Code]));
  return told.length > 0 && told.every((code) => isThrottle(code) || code === "TransactionConflict");
}

/**
 * Sends one transaction. The SDK tries a throttled call again but takes a transaction that was cancelled by throttling
 * for an answer, so that one is sent again here, as often as the SDK would. All of them bear one token: an earlier one
 * may have been carried out although its answer was lost, and is then answered and not done twice. So one that met
 * another transaction is asked about again by its token too, where the SDK has tried more than once.
 * @throws Unavailable when it is not known whether the transaction was carried out
 * @throws Error what DynamoDB says of any other failure
 */
export async function sendTransaction(items: readonly TransactItem[]): Promise<void> {
  const token = newId("try");
  let unknown = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await table.send(new TransactWriteCommand({ TransactItems: [...items], ClientRequestToken: token }));
      return;
    } catch (error) {
      const reasons = reasonsOf(error);
      unknown ||= ((error as { $metadata?: { attempts?: number } }).$metadata?.attempts ?? 1) > 1;
      if (!(onlyThrottled(reasons) || (unknown && onlyDelayed(reasons)))) throw error;
      if (attempt === limits.calls.attempts) {
        throw unknown ? new Unavailable("The commit may have been made.") : error;
      }
      await pause(backoffMs(attempt));
    }
  }
}

/**
 * Sends one transaction whose decision no read can change, again as long as it only met another one: then nothing was
 * written.
 * @throws Error what DynamoDB says of any other failure, or when it met others every time
 */
export async function transact(items: readonly TransactItem[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendTransaction(items);
    } catch (error) {
      const reasons = reasonsOf(error);
      const fails = reasons.some(
        ({ Code = "None" }) => !["None", "TransactionConflict"].includes(Code) && !isThrottle(Code),
      );
      const met = reasons.some(({ Code }) => Code === "TransactionConflict");
      if (attempt === limits.commit.conflict_tries || fails || !met) throw error;
      await pause(backoffMs(attempt));
    }
  }
}

/** Result of a transaction; when it was cancelled, the code of each member, `None` where nothing was wrong. */
export type Transacted =
  | { readonly ok: true }
  | { readonly ok: false; readonly codes: readonly string[]; readonly error: unknown };

/**
 * Sends one transaction once.
 * @throws Error what DynamoDB says, unless it cancelled the transaction
 */
export async function transactOnce(items: readonly TransactItem[]): Promise<Transacted> {
  try {
    await table.send(new TransactWriteCommand({ TransactItems: [...items] }));
    return { ok: true };
  } catch (error) {
    const codes = reasonsOf(error).map(({ Code = "None" }) => Code);
    if (codes.length === 0) throw error;
    return { ok: false, codes, error };
  }
}

/** Full jitter between the smallest and the doubling largest delay. */
export function backoffMs(attempt: number): number {
  const { conflict_delay_min_ms: min, conflict_delay_max_ms: max } = limits.commit;
  return chance() * Math.min(max, min * 2 ** attempt);
}
