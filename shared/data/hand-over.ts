import type { DynamoDBRecord } from "aws-lambda";
import { isDueAtOnce, type StoredRisk } from "../domain/trading/watch.ts";
import { limits } from "../limits.ts";
import { log } from "../runtime/log.ts";
import { risks } from "./entities.ts";
import { sendAccounts } from "./margin-queue.ts";
import { inParallel } from "./parallel.ts";
import { readRawItem } from "./table.ts";

/** An account that a commit left due, and the records of the stream that report it. */
interface DueAccounts {
  readonly accountIds: Set<string>;
  readonly sequences: string[];
}

/**
 * Sends the accounts to the evaluator that a commit left below their stop-out level, or with prices that are not
 * watched yet. The risk of the account is written in that commit and the stream holds it until it is dealt with, so a
 * function that dies after its commit loses nothing; the sweep finds what the stream lost. Records of other items are
 * ignored. Returns the sequence numbers of the records that have to come again.
 */
export async function handOverDue(records: readonly DynamoDBRecord[]): Promise<ReadonlySet<string>> {
  const byTenant = new Map<string, DueAccounts>();
  for (const { dynamodb } of records) {
    const { NewImage: image, SequenceNumber: sequence = "" } = dynamodb ?? {};
    if (image?.["et"]?.S !== risks.et) continue;
    const risk = readRawItem<StoredRisk>(image);
    if (!isDueAtOnce(risk)) continue;
    const due = byTenant.get(risk.tenant_id) ?? { accountIds: new Set(), sequences: [] };
    due.accountIds.add(risk.account_id);
    due.sequences.push(sequence);
    byTenant.set(risk.tenant_id, due);
  }
  const failed = new Set<string>();
  await inParallel(limits.margin.parallel_symbols, [...byTenant], async ([tenant, { accountIds, sequences }]) => {
    await sendAccounts(tenant, [...accountIds]).catch((error: Error) => {
      for (const sequence of sequences) failed.add(sequence);
      log.error("Accounts could not be handed to the evaluator.", { tenant_id: tenant, error: error.name });
    });
  });
  return failed;
}
