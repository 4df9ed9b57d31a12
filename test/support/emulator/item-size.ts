import { type AttributeValue, GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { TestApi } from "./api.ts";
import type { TableCall } from "./watched-endpoint.ts";

/** An item as the wire has it. */
export type WireItem = Readonly<Record<string, AttributeValue>>;

/** Bounds of DynamoDB, SQS, Lambda and API Gateway, from their public quota pages. */
export const quotas = {
  item_bytes: 400 * 1024,
  transaction_bytes: 4 * 1024 * 1024,
  transaction_items: 100,
  /** The smaller of the two that SQS has had. */
  message_bytes: 256 * 1024,
  /** A synchronous answer of a function. */
  answer_bytes: 6 * 1024 * 1024,
} as const;

/**
 * Bytes of an item as DynamoDB counts them (developer guide, "DynamoDB item sizes and formats"): names and texts in
 * UTF-8, a number one byte for two digits and one more, null and boolean 1, lists and maps 3 and one for each entry.
 */
export function itemBytes(item: WireItem): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.B !== undefined) return bytesIn(value.B);
  if (value.N !== undefined) return Math.ceil(value.N.replace(/[-.]|e.*/gi, "").length / 2) + 2;
  if (value.L !== undefined) return value.L.reduce((sum, each) => sum + 1 + valueBytes(each), 3);
  if (value.M !== undefined) return itemBytes(value.M) + 3 + Object.keys(value.M).length;
  if (value.SS !== undefined) return value.SS.reduce((sum, each) => sum + Buffer.byteLength(each), 3);
  return 1;
}

/** On its way to the table it is base64. */
function bytesIn(bytes: Uint8Array | string): number {
  return typeof bytes === "string" ? Buffer.from(bytes, "base64").length : bytes.length;
}

/** The largest of what was written since the watch began, and every bound that was broken. */
export interface SizeWatch {
  readonly largest: { item: number; transaction: number; members: number };
  readonly faults: string[];
  /** Outbox items that a transaction was to write, since they were last taken. */
  readonly takeOutboxes: () => WireItem[];
}

interface Write {
  readonly TableName: string;
  readonly Item?: WireItem;
  readonly Key?: WireItem;
  readonly ExpressionAttributeValues?: WireItem;
}

/**
 * Measures every item and transaction on its way to the table, before DynamoDB does. An update counts what is stored
 * and what it sets, a removal and a check what is stored: the most that can be counted.
 */
export function watchSizes(api: TestApi): SizeWatch {
  const outboxes: WireItem[] = [];
  const takeOutboxes = () => outboxes.splice(0);
  const watch: SizeWatch = { largest: { item: 0, transaction: 0, members: 0 }, faults: [], takeOutboxes };
  const { largest, faults } = watch;
  const stored = async ({ TableName, Key }: Write) => {
    if (Key === undefined) return {};
    const { Item } = await api.emulator.client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
    return Item ?? {};
  };
  const measured = async (write: Write) => {
    const before = await stored(write);
    const bytes = itemBytes(write.Item ?? { ...before, ...write.ExpressionAttributeValues });
    if (bytes > quotas.item_bytes) faults.push(`an item ${write.Item?.["et"]?.S ?? ""} of ${bytes} bytes`);
    largest.item = Math.max(largest.item, bytes);
    return bytes;
  };
  api.watched.interfere = async ({ operation, input }: TableCall) => {
    if (operation === "PutItem" || operation === "UpdateItem") await measured(input as unknown as Write);
    if (operation !== "TransactWriteItems") return undefined;
    const members = (input["TransactItems"] as Record<string, Write>[]).flatMap((member) => Object.values(member));
    let bytes = 0;
    for (const write of members) bytes += await measured(write);
    outboxes.push(...members.flatMap(({ Item: item }) => (item?.["et"]?.S === "OUTBOX" ? [item] : [])));
    if (bytes > quotas.transaction_bytes) faults.push(`a transaction of ${bytes} bytes`);
    if (members.length > quotas.transaction_items) faults.push(`a transaction of ${members.length} items`);
    largest.transaction = Math.max(largest.transaction, bytes);
    largest.members = Math.max(largest.members, members.length);
    return undefined;
  };
  return watch;
}

/** Bytes of a function's answer as Lambda counts it: the body is a text inside JSON, so it is escaped once more. */
export function answerBytes(result: object): number {
  return Buffer.byteLength(JSON.stringify(result));
}
