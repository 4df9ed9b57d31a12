import type { Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import type { Database } from "./database.ts";

type Body = Readonly<Record<string, unknown>>;

/** A change of an item, and when the indexes learn of it. */
interface Change {
  readonly atMs: number;
  /** The item by its key, in a text that is equal for the same item. */
  readonly id: string;
  readonly request: Body;
}

const pollMs = 50;
const mostPerCall = 25;

/**
 * Indexes that lag behind their table, as those of AWS do: a second table has the same indexes and learns of each
 * change so long after it. Queries of an index go there.
 */
export class LateIndexes {
  private readonly database: Pick<Database, "call">;
  private readonly table: Resource;
  private readonly lagMs: number;
  private waiting: Change[] = [];
  private iterator = "";
  private stopped = false;
  private finished: Promise<void> = Promise.resolve();

  constructor(database: Pick<Database, "call">, table: Resource, lagMs: number) {
    this.database = database;
    this.table = table;
    this.lagMs = lagMs;
  }

  /** Name of the table that stands for the indexes. */
  get name(): string {
    return `${this.table.physical_id}-late`;
  }

  /** Makes the table, and begins to follow the real one from its first change. */
  async start(): Promise<void> {
    const { physical_id, properties } = this.table;
    const { TableNames: names } = await this.database.call("ListTables", {});
    if (!(Array.isArray(names) && names.includes(this.name))) {
      const { KeySchema, AttributeDefinitions, GlobalSecondaryIndexes } = properties;
      const shape = { KeySchema, AttributeDefinitions, GlobalSecondaryIndexes };
      await this.database.call("CreateTable", { TableName: this.name, ...shape, BillingMode: "PAY_PER_REQUEST" });
    }
    const { Streams: streams } = await this.database.call("ListStreams", { TableName: physical_id }, "DynamoDBStreams");
    const StreamArn = Array.isArray(streams) ? streams[0]?.["StreamArn"] : undefined;
    const { StreamDescription: stream } = await this.database.call("DescribeStream", { StreamArn }, "DynamoDBStreams");
    const [shard] = isRecord(stream) && Array.isArray(stream["Shards"]) ? stream["Shards"] : [];
    const body = { StreamArn, ShardId: shard?.["ShardId"], ShardIteratorType: "TRIM_HORIZON" };
    const { ShardIterator: iterator } = await this.database.call("GetShardIterator", body, "DynamoDBStreams");
    this.iterator = String(iterator);
    this.finished = this.run();
  }

  /** Ends after the changes that are being applied. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.finished;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.read();
      await this.apply();
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  private async read(): Promise<void> {
    const page = await this.database.call("GetRecords", { ShardIterator: this.iterator }, "DynamoDBStreams");
    if (typeof page["NextShardIterator"] === "string") this.iterator = page["NextShardIterator"];
    for (const record of Array.isArray(page["Records"]) ? page["Records"] : []) {
      const { Keys: key, NewImage: item } = record["dynamodb"];
      const request = item === undefined ? { DeleteRequest: { Key: key } } : { PutRequest: { Item: item } };
      // The server names the members of a key in any order.
      const id = JSON.stringify(Object.entries(key).sort());
      this.waiting.push({ atMs: Date.now() + this.lagMs, id, request });
    }
  }

  /** Applies what is due, of each item the last change alone. */
  private async apply(): Promise<void> {
    const now = Date.now();
    const due = new Map<string, Body>();
    const left = this.waiting.findIndex(({ atMs }) => atMs > now);
    const taken = this.waiting.splice(0, left === -1 ? this.waiting.length : left);
    for (const { id, request } of taken) due.set(id, request);
    const requests = [...due.values()];
    for (let start = 0; start < requests.length; start += mostPerCall) {
      const some = requests.slice(start, start + mostPerCall);
      await this.database.call("BatchWriteItem", { RequestItems: { [this.name]: some } });
    }
  }
}
