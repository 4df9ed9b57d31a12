import { type AttributeValue, ScanCommand } from "@aws-sdk/client-dynamodb";
import { indexes, keyAttributes, slimAttributes, ttlAttribute } from "../../../shared/table/table-shape.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import type { TestApi } from "../../support/emulator/api.ts";
import { itemBytes } from "../../support/emulator/item-size.ts";
import { publishDirectly } from "../../support/emulator/publishing.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";

type Item = Record<string, AttributeValue>;

/** Bytes that DynamoDB charges for an item, and for its entry of an index, in addition to their attributes. */
const overhead = 100;
const rounds = 20;
/** Events of a round: a client, an account, and a deposit that is completed at once. */
const eventsOfRound = 3;

/** Bytes of storage of an item and of its entries of the indexes. */
function storedBytes(item: Item): number {
  const entries = Object.values(indexes).filter(({ partition, sort }) => item[partition] && item[sort]);
  const entry = ({ partition, sort, name }: (typeof entries)[number]) => {
    const carried = name === indexes.due.name ? [] : slimAttributes;
    const names = new Set<string>([keyAttributes.partition, keyAttributes.sort, partition, sort, ...carried]);
    return overhead + itemBytes(Object.fromEntries(Object.entries(item).filter(([key]) => names.has(key))));
  };
  return overhead + itemBytes(item) + entries.reduce((sum, each) => sum + entry(each), 0);
}

/**
 * Bytes that a command with one event leaves in the table for longer than a day: the resource with its entries of the
 * ledger, the event, and the page of the audit. Commands come one by one, so a page has one entry, as on a quiet stage.
 */
export async function storedOfCommand(api: TestApi): Promise<number> {
  const caller = newCaller();
  const { account } = brokerage(api, caller);
  const { client, tableName } = api.emulator;
  for (let round = 0; round < rounds; round += 1) {
    const from = (await readStream(api.emulator)).at(-1)?.dynamodb.SequenceNumber;
    await account("100.00");
    const records = await readStream(api.emulator, from);
    const outbox = records.filter(({ eventName, dynamodb: { NewImage } }) => {
      return eventName === "INSERT" && NewImage?.["et"]?.S === "OUTBOX";
    });
    for (const record of outbox) await publishDirectly([record]);
  }
  let bytes = 0;
  let start: Item | undefined;
  const tomorrow = Date.now() / 1000 + 25 * 3600;
  do {
    const page = await client.send(
      new ScanCommand({
        ...{ TableName: tableName, ExclusiveStartKey: start, FilterExpression: "begins_with(pk, :own)" },
        ExpressionAttributeValues: { ":own": { S: caller.tenant_id } },
      }),
    );
    const kept = (page.Items ?? []).filter((item) => Number(item[ttlAttribute]?.N ?? tomorrow) >= tomorrow);
    bytes += kept.reduce((sum, item) => sum + storedBytes(item), 0);
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return Math.round(bytes / (rounds * eventsOfRound));
}
