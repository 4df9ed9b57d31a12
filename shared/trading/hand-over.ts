import type { DynamoDBRecord } from "aws-lambda";
import type { Quote } from "../domain/records/quote.ts";
import type { StoredRisk } from "../domain/records/risk.ts";
import { isDueAtOnce, isMetBy } from "../domain/trading/stored-risk.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { quotes, risks } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { readRawItem, readRecords } from "../table/table.ts";
import { sendAccounts, sendAtCreditEnds } from "./margin-queue.ts";

/** The risk of an account after a commit, and the number of the record that reports it. */
interface Left {
  readonly risk: StoredRisk;
  readonly sequence: string;
}

/**
 * Sends the accounts to the evaluator that a commit left below their stop-out level or not watched completely, and
 * those that a price has reached while the commit was made; those that a platform is closing positions of some seconds
 * later, when its stop-out may be over, and those whose credit ends soon at that end. The risk of an account is written
 * in the commit and the stream holds it until it is dealt with, so a function that dies after its commit loses nothing;
 * the sweep finds what the stream lost. Records of other items are ignored. Returns the sequence numbers of the records
 * that have to come again.
 */
export async function handOverDue(records: readonly DynamoDBRecord[]): Promise<ReadonlySet<string>> {
  const byTenant = new Map<string, Left[]>();
  for (const left of readRecords(records, leftBy)) {
    const { tenant_id } = left.risk;
    byTenant.set(tenant_id, [...(byTenant.get(tenant_id) ?? []), left]);
  }
  const failed = new Set<string>();
  await inParallel(limits.margin.parallel_symbols, [...byTenant], async ([tenant, all]) => {
    try {
      const due = await dueOf(tenant, all);
      await sendAccounts(tenant, idsOf(due));
      const running = all.filter((left) => left.risk.platform_run !== undefined && !due.includes(left));
      await sendAccounts(tenant, idsOf(running), limits.trading.platform_run_quiet_seconds + 1);
      await sendAtCreditEnds(
        tenant,
        all.map(({ risk }) => risk),
        nowIso(),
      );
    } catch (error) {
      for (const { sequence } of all) failed.add(sequence);
      log.error("Accounts could not be handed to the evaluator.", { tenant_id: tenant, ...causeOf(error) });
    }
  });
  return failed;
}

function idsOf(all: readonly Left[]): readonly string[] {
  return [...new Set(all.map(({ risk }) => risk.account_id))];
}

/** The risk that a commit wrote; undefined for what an evaluation wrote, a sweep put off, or another item. */
function leftBy({ dynamodb }: DynamoDBRecord): Left | undefined {
  const { NewImage: image, OldImage: old, SequenceNumber: sequence = "" } = dynamodb ?? {};
  if (image?.["et"]?.S !== risks.et || old?.["version"]?.N === image["version"]?.N) return undefined;
  const risk = readRawItem<StoredRisk>(image);
  return risk.left_by === "commit" ? { risk, sequence } : undefined;
}

/** Those that are due at once, and those that the newest quotes reach; each quote is read once, strongly consistent. */
async function dueOf(tenant: string, all: readonly Left[]): Promise<readonly Left[]> {
  const others = all.filter(({ risk }) => !isDueAtOnce(risk));
  const names = [...new Set(others.flatMap(({ risk }) => risk.triggers.map(({ symbol }) => symbol)))];
  const found = await readKeys(names.map((name) => quotes.key(tenant, name)));
  const newest = new Map((found as (Quote | undefined)[]).map((quote, place) => [names[place], quote]));
  const isReached = ({ risk }: Left) =>
    risk.triggers.some((trigger) => {
      const quote = newest.get(trigger.symbol);
      return quote !== undefined && isMetBy(trigger, quote, risk);
    });
  return all.filter((left) => isDueAtOnce(left.risk) || isReached(left));
}
