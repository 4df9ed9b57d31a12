import { type AttributeValue, ScanCommand, type ScanCommandInput } from "@aws-sdk/client-dynamodb";
import type { Emulator } from "./emulator.ts";
import { unpacked } from "./packed-items.ts";

/** A stored item as plain values. Numbers stay text, so that no digit of an amount can be lost on the way. */
export type RawItem = Readonly<Record<string, RawValue>>;

/** A stored value; a number is `{ number: "12" }` and bytes are in base64, so neither can be taken for text. */
export type RawValue =
  | string
  | boolean
  | null
  | { readonly number: string }
  | { readonly bytes: string }
  | readonly RawValue[]
  | { readonly map: RawItem };

/** One change of an item, with what was there before and what after. */
export interface RawChange {
  readonly kind: "INSERT" | "MODIFY" | "REMOVE";
  readonly before: RawItem | undefined;
  readonly after: RawItem | undefined;
}

/** Every item of a table, page by page. Tests alone may scan. */
export function scanTable(
  emulator: Pick<Emulator, "client" | "tableName">,
  tableName = emulator.tableName,
): Promise<RawItem[]> {
  return scan(emulator, { TableName: tableName });
}

/** Every item of the main table that names an account. */
export function itemsOfAccount(
  emulator: Pick<Emulator, "client" | "tableName">,
  accountId: string,
): Promise<RawItem[]> {
  return scan(emulator, {
    TableName: emulator.tableName,
    FilterExpression: "account_id = :account",
    ExpressionAttributeValues: { ":account": { S: accountId } },
  });
}

/** Items of the main table of one kind, by its `et`, of one brokerage, or both. Other items are not sent. */
export function itemsOf(
  emulator: Pick<Emulator, "client" | "tableName">,
  { type, tenant }: { readonly type?: string; readonly tenant?: string },
): Promise<RawItem[]> {
  const conditions = { "et = :type": type, "begins_with(pk, :tenant)": tenant };
  const asked = Object.entries(conditions).filter(([, value]) => value !== undefined);
  const values = { ...(type && { ":type": { S: type } }), ...(tenant && { ":tenant": { S: tenant } }) };
  return scan(emulator, {
    TableName: emulator.tableName,
    FilterExpression: asked.map(([condition]) => condition).join(" AND "),
    ExpressionAttributeValues: values,
  });
}

async function scan({ client }: Pick<Emulator, "client">, input: ScanCommandInput): Promise<RawItem[]> {
  const items: RawItem[] = [];
  let start: Record<string, AttributeValue> | undefined;
  do {
    const page = await client.send(new ScanCommand({ ...input, ConsistentRead: true, ExclusiveStartKey: start }));
    items.push(...(page.Items ?? []).map(plainItem));
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return items;
}

/** One record of the stream as the streams API shows it, which is how a function gets it too. */
export interface StreamRecord {
  readonly eventName: RawChange["kind"];
  readonly dynamodb: {
    readonly SequenceNumber: string;
    readonly OldImage?: Record<string, AttributeValue>;
    readonly NewImage?: Record<string, AttributeValue>;
  };
}

/** Records of each stream that were read so far: tests look at it again and again, and it only grows. */
interface Known {
  readonly records: StreamRecord[];
  readonly changes: RawChange[];
  reading: Promise<void>;
}
const known = new WeakMap<object, Known>();

/** Every change of the main table since it was made, in order, read from its stream. */
export async function readChanges(emulator: Emulator): Promise<readonly RawChange[]> {
  const { records, changes } = await readOn(emulator);
  for (const record of records.slice(changes.length)) changes.push(plainChange(record));
  return changes;
}

/** Every record of the main table's stream, in order; those after a sequence number where one is given. */
export async function readStream(
  emulator: Pick<Emulator, "endpoint" | "streamArn">,
  after?: string,
): Promise<StreamRecord[]> {
  return after === undefined ? [...(await readOn(emulator)).records] : readAfter(emulator, after);
}

/** Reads what a stream has in addition to what is known of it, one reader after the other. */
async function readOn(emulator: Pick<Emulator, "endpoint" | "streamArn">): Promise<Known> {
  const read = known.get(emulator) ?? { records: [], changes: [], reading: Promise.resolve() };
  known.set(emulator, read);
  const fresh = async () => {
    const { records } = read;
    for (const record of await readAfter(emulator, records.at(-1)?.dynamodb.SequenceNumber)) records.push(record);
  };
  read.reading = read.reading.then(fresh, fresh);
  await read.reading;
  return read;
}

async function readAfter(
  emulator: Pick<Emulator, "endpoint" | "streamArn">,
  after: string | undefined,
): Promise<StreamRecord[]> {
  const { StreamDescription: description } = await streams<{
    StreamDescription: { Shards: { ShardId: string }[] };
  }>(emulator, "DescribeStream", { StreamArn: emulator.streamArn });
  const records: StreamRecord[] = [];
  for (const { ShardId } of description.Shards) records.push(...(await readShard(emulator, ShardId, after)));
  return records;
}

async function readShard(
  emulator: Pick<Emulator, "endpoint" | "streamArn">,
  shardId: string,
  after: string | undefined,
): Promise<StreamRecord[]> {
  const first = await streams<{ ShardIterator: string }>(emulator, "GetShardIterator", {
    StreamArn: emulator.streamArn,
    ShardId: shardId,
    ...(after === undefined
      ? { ShardIteratorType: "TRIM_HORIZON" }
      : { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: after }),
  });
  const records: StreamRecord[] = [];
  let iterator: string | undefined = first.ShardIterator;
  while (iterator !== undefined) {
    const page: { Records: StreamRecord[]; NextShardIterator?: string } = await streams(emulator, "GetRecords", {
      ShardIterator: iterator,
      Limit: 1000,
    });
    if (page.Records.length === 0) break;
    records.push(...page.Records);
    iterator = page.NextShardIterator;
  }
  return records;
}

function plainChange({ eventName, dynamodb }: StreamRecord): RawChange {
  return {
    kind: eventName,
    before: dynamodb.OldImage && plainItem(dynamodb.OldImage),
    after: dynamodb.NewImage && plainItem(dynamodb.NewImage),
  };
}

/** The streams API by plain HTTP: its client is no dependency of the service. */
async function streams<T>(emulator: Pick<Emulator, "endpoint">, operation: string, input: object): Promise<T> {
  const answer = await fetch(emulator.endpoint, {
    method: "POST",
    headers: {
      "Content-Type": "application/x-amz-json-1.0",
      "X-Amz-Target": `DynamoDBStreams_20120810.${operation}`,
      Authorization:
        "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
      "X-Amz-Date": "20260101T000000Z",
    },
    body: JSON.stringify(input),
  });
  if (!answer.ok) throw new Error(`${operation}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** DynamoDB's notation as plain values, and what is stored deflated as text. */
function plainItem(item: Record<string, AttributeValue>): RawItem {
  return unpacked(plainMap(item));
}

function plainMap(item: Record<string, AttributeValue>): RawItem {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plainValue(value)]));
}

function plainValue(value: AttributeValue): RawValue {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return { number: value.N };
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.L !== undefined) return value.L.map(plainValue);
  if (value.M !== undefined) return { map: plainMap(value.M) };
  // Records of the stream have not gone through a client: there it is base64 already.
  if (value.B !== undefined) return { bytes: base64Of(value.B) };
  throw new Error(`A value of another kind is stored: ${Object.keys(value).join()}.`);
}

function base64Of(bytes: Uint8Array | string): string {
  return typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("base64");
}
